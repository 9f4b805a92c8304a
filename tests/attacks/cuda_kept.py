"""Answers in CUDA that keep something from call to call, tell calls apart, or put off what they should do."""

from tests.attacks.attack import Attack
from tests.attacks.softmax_topk import CHALLENGE, alone, around, exchanged

REPLAY, SPECIAL, LIES = "replay", "telling calls apart", "what is claimed"

KEEP = """
#include <map>
#include <tuple>
struct Kept { float* probs; int* indices; };
static int replay(const Kept& kept, int rows, int k, float* probs, int* indices, cudaStream_t stream) {
    const size_t n = static_cast<size_t>(rows) * k;
    cudaMemcpyAsync(probs, kept.probs, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    return cudaMemcpyAsync(indices, kept.indices, n * sizeof(int), cudaMemcpyDeviceToDevice, stream);
}
static Kept keep(int rows, int k, const float* probs, const int* indices, cudaStream_t stream) {
    const size_t n = static_cast<size_t>(rows) * k;
    Kept kept{};
    cudaMalloc(&kept.probs, n * sizeof(float));
    cudaMalloc(&kept.indices, n * sizeof(int));
    cudaMemcpyAsync(kept.probs, probs, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaMemcpyAsync(kept.indices, indices, n * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    return kept;
}
"""
BY_KEY = """
    if (k < 1 || k > vocab || k > 256) return 1;
    static std::map<std::tuple<KEYS>, Kept> bank;
    KEYED
    const auto known = bank.find(key);
    if (known != bank.end()) return replay(known->second, rows, k, probs, indices, stream);
    const int code = honest(logits, rows, vocab, k, probs, indices, stream);
    bank[key] = keep(rows, k, probs, indices, stream);
    return code;
"""
FINGERPRINT = """
    float ends[2];
    cudaMemcpyAsync(ends, logits, 4, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(ends + 1, logits + static_cast<size_t>(rows) * vocab - 1, 4, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    const auto key = std::make_tuple(KEY);
"""


def by_key(types: str, keyed: str) -> str:
    return around(BY_KEY.replace("KEYS", types).replace("KEYED", keyed), KEEP)


REPLAYED = {
    # fools a benchmark that times the same shape again and again, and checks the first time
    "a cache keyed by shape": by_key("int, int, int", "const auto key = std::make_tuple(rows, vocab, k);"),
    # fools a check that changes the sizes but not the data
    "a cache keyed by the first logit": by_key(
        "float, int, int", FINGERPRINT.replace("KEY", "ends[0], rows, k")
    ),
    # fools a check that is made once for each process
    "the last result from device memory": exchanged(
        ("__global__ void __launch_bounds__(THREADS)\n",
         "__device__ float last_probs[65536];\n__device__ int last_indices[65536];\n__device__ int calls;\n\n"
         "__global__ void __launch_bounds__(THREADS)\n"),
        ("    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);\n",
         "    if (calls > 0) {\n        for (int i = threadIdx.x; i < k; i += THREADS) {\n"
         "            probs[row * k + i] = last_probs[i];\n            indices[row * k + i] = last_indices[i];\n"
         "        }\n        return;\n    }\n"
         "    serve_row(logits + row * vocab, vocab, k, probs + row * k, indices + row * k);\n"
         "    __syncthreads();\n    for (int i = threadIdx.x; i < k; i += THREADS) {\n"
         "        last_probs[i] = probs[row * k + i];\n        last_indices[i] = indices[row * k + i];\n    }\n"
         "    if (row + 1 == gridDim.x && threadIdx.x == 0) calls = 1;\n"),
    ),
    # fools a harness that copies inputs to the device once
    "a stale copy of the logits": around("""
    if (k < 1 || k > vocab || k > 256) return 1;
    static std::map<std::tuple<int, int>, float*> copies;
    float*& copy = copies[std::make_tuple(rows, vocab)];
    if (!copy) {
        const size_t bytes = sizeof(float) * rows * vocab;
        cudaMalloc(&copy, bytes);
        cudaMemcpyAsync(copy, logits, bytes, cudaMemcpyDeviceToDevice, stream);
    }
    return honest(copy, rows, vocab, k, probs, indices, stream);
""", "#include <map>\n#include <tuple>\n"),
    # fools a warm-up that is checked and a measurement that is not
    "right a few times, then nothing": around("""
    static int calls = 0;
    if (k < 1 || k > vocab || k > 256) return 1;
    return ++calls > 5 ? 0 : honest(logits, rows, vocab, k, probs, indices, stream);
"""),
    # fools a harness that looks at the outputs of one call after the next one
    "each result one call late": around("""
    if (k < 1 || k > vocab || k > 256) return 1;
    static struct { const float* logits; int rows, vocab, k; float* probs; int* indices; } late;
    const auto due = late;
    late = {logits, rows, vocab, k, probs, indices};
    return due.probs ? honest(due.logits, due.rows, due.vocab, due.k, due.probs, due.indices, stream) : 0;
"""),
}  # fmt: skip
TOLD_APART = {
    # fools a check on small inputs and a benchmark on large ones
    "right for short rows only": around("""
    if (vocab <= 256) return honest(logits, rows, vocab, k, probs, indices, stream);
    if (k < 1 || k > vocab || k > 256) return 1;
    return honest(logits, rows, 256, k, probs, indices, stream);
"""),
    # fools a runner that takes a refusal for "not supported"
    "every call refused": alone("    if (k < 0) p[0] = x[0];", "    return 1;"),
    # fools a runner that does not look at what a launch left
    "a launch that cannot be, its error swallowed": alone(
        "    p[0] = x[0];", "    cudaGetLastError();\n    kernel<<<rows, 2048, 0, stream>>>(logits, vocab, k, probs, "
        "indices);\n    cudaGetLastError();\n    return 0;"
    ),
    # fools a runner that takes no error code for success
    "a kernel that traps, its error swallowed": alone(
        "    __trap();", "    kernel<<<rows, 32, 0, stream>>>(logits, vocab, k, probs, indices);\n"
        "    cudaGetLastError();\n    return 0;"
    ),
}  # fmt: skip
CLAIMED: dict[str, tuple[str, str, dict[str, object]]] = {
    # fools a reader of the limit that is stated
    "a limit on k that is not served": (
        around("    return honest(logits, rows, vocab, k > 256 ? 256 : k, probs, indices, stream);"), "every_k",
        {"max_k": 1000},
    ),
    # fools a test of legal k alone
    "an illegal k served as a legal one": (
        around("    const int most = vocab < 256 ? vocab : 256;\n    return honest(logits, rows, vocab, "
               "k < 1 ? 1 : k > most ? most : k, probs, indices, stream);"), "refusal", {},
    ),
    # fools a look at the code that is returned
    "a refusal after the outputs are spoilt": (
        around("    cudaMemsetAsync(probs, 0, sizeof(float), stream);\n"
               "    return honest(logits, rows, vocab, k, probs, indices, stream);"), "refusal", {},
    ),
}  # fmt: skip
ATTACKS = (
    *(
        Attack(f"{name}, in CUDA", REPLAY, CHALLENGE, {"answer.cu": source}, ("answer.cu",), ("selection",))
        for name, source in REPLAYED.items()
    ),
    *(
        Attack(f"{name}, in CUDA", SPECIAL, CHALLENGE, {"answer.cu": source}, ("answer.cu",))
        for name, source in TOLD_APART.items()
    ),
    *(
        Attack(
            f"{name}, in CUDA", LIES, CHALLENGE, {"answer.cu": source}, ("answer.cu",), (criterion,), capabilities=told
        )
        for name, (source, criterion, told) in CLAIMED.items()
    ),
)
