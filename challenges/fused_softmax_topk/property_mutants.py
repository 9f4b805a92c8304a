"""Faults around any right answer: what a call remembers of those before it.

Memory that is free again is used first, by the driver as by any allocator: calls of equal size come at equal addresses.
"""

from harness.probing import PropertyMutant

BEFORE = "#define fused_softmax_topk right_softmax_topk\n"
PARAMETERS = """\
extern "C" int fused_softmax_topk(const float* logits, int rows, int vocab, int k, float* probs, int* indices,
                                  cudaStream_t stream) {
"""
AGAIN = f"""
#undef fused_softmax_topk
{PARAMETERS}
    struct Call {{ const void *logits, *probs, *indices; float first; int rows, vocab, k; }};
    static Call before{{}};
    static void* kept = nullptr;
    const size_t bytes = 4 * static_cast<size_t>(rows) * k;
    float first = 0.0f;
    FIRST
    if (before.rows == rows && before.vocab == vocab && before.k == k && ALIKE) {{
        cudaMemcpyAsync(probs, kept, bytes, cudaMemcpyDeviceToDevice, stream);
        return cudaMemcpyAsync(indices, static_cast<char*>(kept) + bytes, bytes, cudaMemcpyDeviceToDevice, stream);
    }}
    const int code = right_softmax_topk(logits, rows, vocab, k, probs, indices, stream);
    if (code) return code;
    before = Call{{logits, probs, indices, first, rows, vocab, k}};
    cudaFree(kept);
    cudaMalloc(&kept, 2 * bytes);
    cudaMemcpyAsync(kept, probs, bytes, cudaMemcpyDeviceToDevice, stream);
    return cudaMemcpyAsync(static_cast<char*>(kept) + bytes, indices, bytes, cudaMemcpyDeviceToDevice, stream);
}}
"""
READ_FIRST = """\
if (rows > 0 && vocab > 0) cudaMemcpyAsync(&first, logits, sizeof first, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);"""
FIRST_POINTERS = f"""
#undef fused_softmax_topk
{PARAMETERS}
    struct Call {{ const float* logits; float* probs; int* indices; int rows, vocab, k; }};
    static Call before{{}};
    const bool same = before.rows == rows && before.vocab == vocab && before.k == k && ALIKE;
    if (!same) before = Call{{logits, probs, indices, rows, vocab, k}};
    return right_softmax_topk(before.logits, rows, vocab, k, before.probs, before.indices, stream);
}}
"""


def _again(name: str, alike: str, first: str = "") -> PropertyMutant:
    around = AGAIN.replace("FIRST", first, 1).replace("ALIKE", alike)
    return PropertyMutant(name, criterion="values", before=BEFORE, around=around)


def _at_first_pointers(name: str, alike: str) -> PropertyMutant:
    return PropertyMutant(name, criterion="values", before=BEFORE, around=FIRST_POINTERS.replace("ALIKE", alike))


PROPERTY_MUTANTS = (
    _again("results kept by address and size", "before.logits == logits && before.probs == probs"),
    _again("results kept by the first logit", "before.first == first", READ_FIRST),
    _at_first_pointers("pointers kept by size", "true"),
    _at_first_pointers("outputs kept by the address of the logits", "before.logits == logits"),
)
