"""How attacks on `fused_softmax_topk` are written: the reference with its function renamed, or with lines exchanged."""

from pathlib import Path

CHALLENGE = "fused_softmax_topk"
REFERENCE = (Path(__file__).parents[2] / "references" / CHALLENGE / "reference.cu").read_text(encoding="utf-8")
EXPORTED = 'extern "C" int fused_softmax_topk('
PARAMETERS = "const float* logits, int rows, int vocab, int k, float* probs, int* indices, cudaStream_t stream"
REFUSE = "if (rows < 1 || k < 1 || k > vocab || k > 256) return 1;"


def exchanged(*edits: tuple[str, str]) -> str:
    """The reference with each text replaced by another.

    Raises:
        ValueError: a text is not there, or more than once.
    """
    source = REFERENCE
    for before, after in edits:
        if source.count(before) != 1:
            raise ValueError(f"{before!r} is {source.count(before)} times in the reference")
        source = source.replace(before, after)
    return source


def around(body: str, before: str = "") -> str:
    """The reference as `honest(...)`, and a function that is exported in its place.

    Args:
        body: of that function; the parameters have the contract's names.
        before: declarations in front of it.
    """
    honest = exchanged((EXPORTED, "static int honest("))
    return f"{honest}\n{before}\n{EXPORTED}{PARAMETERS}) {{\n{body}\n}}\n"


def alone(kernel: str, host: str = "", before: str = "", threads: str = "32") -> str:
    """A small source of its own: one kernel, launched with a block for each row.

    Args:
        kernel: its body; `row`, and the row's `x`, `p` and `c` (logits, probabilities, columns) are declared.
        host: what the exported function does before the launch.
        before: declarations in front.
        threads: of a block.
    """
    return f"""#include <cuda_runtime.h>
{before}
__global__ void kernel(const float* logits, int vocab, int k, float* probs, int* indices) {{
    const int row = blockIdx.x;
    const float* x = logits + static_cast<size_t>(row) * vocab;
    float* p = probs + static_cast<size_t>(row) * k;
    int* c = indices + static_cast<size_t>(row) * k;
{kernel}
}}

{EXPORTED}{PARAMETERS}) {{
    {REFUSE}
{host}
    kernel<<<rows, {threads}, 0, stream>>>(logits, vocab, k, probs, indices);
    return cudaGetLastError();
}}
"""


ON_THE_HOST = """
#include <cmath>
#include <vector>
#include <algorithm>

static void solve(const float* logits, int rows, int vocab, int k, float* probs, int* indices) {
    for (int r = 0; r < rows; ++r) {
        const float* x = logits + static_cast<size_t>(r) * vocab;
        std::vector<int> order(vocab);
        for (int i = 0; i < vocab; ++i) order[i] = i;
        std::partial_sort(order.begin(), order.begin() + k, order.end(), [x](int a, int b) { return x[a] > x[b]; });
        double sum = 0;
        for (int i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(x[i]) - x[order[0]]);
        for (int i = 0; i < k; ++i) {
            indices[static_cast<size_t>(r) * k + i] = order[i];
            probs[static_cast<size_t>(r) * k + i] = std::exp(static_cast<double>(x[order[i]]) - x[order[0]]) / sum;
        }
    }
}
"""
"""A right solution on the host: `solve(logits, rows, vocab, k, probs, indices)`."""
DECOY = """
__global__ void decoy(const float* logits, float* probs) {
    if (logits[threadIdx.x & 0] == 12345.678f) probs[0] = 0.0f;
}
"""
"""A kernel that does next to nothing: `decoy(logits, probs)`."""
