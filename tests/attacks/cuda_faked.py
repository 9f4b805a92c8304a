"""Kernels whose outputs are not the answer, and look like it to a lax comparison. Each says which one it fools."""

from tests.attacks.attack import Attack
from tests.attacks.softmax_topk import CHALLENGE, alone, exchanged

KIND = "faked outputs"

EACH = "    for (int i = threadIdx.x; i < k; i += 32) {\n        p[i] = %s;\n        c[i] = %s;\n    }"
SMALL = {
    # fools an absolute tolerance: most probabilities of a large vocabulary are nearly 0
    "zeros": EACH % ("0.0f", "i"),
    # fools a comparison in which NaN is never larger than the tolerance
    "not a number": EACH % ('nanf("")', "i"),
    # fools a harness that hands over last time's memory
    "nothing is written": "    if (vocab < 0) p[0] = x[0];",
    # fools a test on logits drawn from N(0, 1), whose sum of exponentials is known beforehand
    "a threshold for Gaussian logits": """
    if (threadIdx.x) return;
    int found = 0;
    for (int j = 0; j < vocab && found < k; ++j) {
        if (x[j] < 1.5f && vocab - j > k - found) continue;
        p[found] = expf(x[j]) / (vocab * 1.6487213f);
        c[found++] = j;
    }
""",
    # fools a comparison of sorted values of one row
    "a draw instead of a search": EACH % ("expf(-static_cast<float>(i)) * 0.63f", "(row * 31 + i * 13) % vocab"),
}
PROBS = "        probs[i] = expf(logit_of(pool.keys[i]) - total.max) / total.sum;\n"
ADD = "        add(partial, logit);\n"
ADD_VECTOR = "    add(partial, logits);\n"
LAUNCH = "    softmax_topk_kernel<<<rows, THREADS, 0, stream>>>(logits, vocab, k, probs, indices);\n"
KERNEL_LINE = "    const size_t row = blockIdx.x;\n"
INCLUDE = "#include <stdint.h>\n"
HALF = "#include <stdint.h>\n#include <cuda_fp16.h>\n"
CHANGED = {
    # fools a tolerance made for half precision
    "half precision inside": (
        (INCLUDE, HALF),
        (
            "__device__ void raise_max",
            "__device__ float seen(float x) { return __half2float(__float2half(x)); }\n__device__ void raise_max",
        ),
        (PROBS, PROBS.replace("logit_of(pool.keys[i])", "seen(logit_of(pool.keys[i]))")),
    ),
    # fools a tolerance that grows with the vocabulary
    "normaliser from every eighth vector": (
        (ADD_VECTOR, "    if (column / 4 % 8 == 0) { add(partial, logits); }\n"),
        ("total.max) / total.sum", "total.max) / (8 * total.sum)"),
    ),
    # fools a check that the outputs of a row add up to 1
    "softmax over the k chosen only": (
        (
            PROBS,
            "        float chosen = 0.0f;\n        for (int j = 0; j < k; ++j) chosen += "
            "expf(logit_of(pool.keys[j]) - total.max);\n        probs[i] = expf(logit_of(pool.keys[i]) "
            "- total.max) / chosen;\n",
        ),
    ),
    # fools a relative tolerance of 1e-3
    "off by a ten-thousandth": ((PROBS, PROBS.replace("total.sum;", "total.sum * 1.0001f;")),),
}
ROWS = {
    # fools a test of one row
    "first block only": ((LAUNCH, LAUNCH.replace("<<<rows,", "<<<1,")),),
    # fools a check of some rows
    "one row in four, copied to its neighbours": (
        (KERNEL_LINE, "    const size_t row = blockIdx.x;\n    logits += (row / 4 * 4 - row) * vocab;\n"),
    ),
}
SEARCH = {
    # fools a test whose winners lie at random in short rows
    "search in the first columns only": (
        ("    if (rank_of(logit) <= floor) return -1;\n",
         "    if (rank_of(logit) <= floor || column >= 1024) return -1;\n"),
    ),
}  # fmt: skip


def attack(name: str, source: str, criteria: tuple[str, ...] = ()) -> Attack:
    return Attack(name, KIND, CHALLENGE, {"answer.cu": source}, ("answer.cu",), criteria)


ATTACKS = (
    *(attack(f"{name}, by a kernel", alone(kernel)) for name, kernel in SMALL.items()),
    *(attack(f"{name}, by a kernel", exchanged(*edits)) for name, edits in CHANGED.items()),
    *(attack(f"{name}, by a kernel", exchanged(*edits), ("rows",)) for name, edits in ROWS.items()),
    *(attack(f"{name}, by a kernel", exchanged(*edits), ("selection",)) for name, edits in SEARCH.items()),
    attack(
        "no maximum subtracted, by a kernel",
        exchanged(
            ("    if (logit > partial.max) {\n        partial.sum *= expf(partial.max - logit);\n"
             "        partial.max = logit;\n    }\n", "    partial.max = 0.0f;\n"),
            ("    both.max = fmaxf(a.max, b.max);\n    both.sum = a.sum * expf(a.max - both.max) + "
             "b.sum * expf(b.max - both.max);\n", "    both.max = 0.0f;\n    both.sum = a.sum + b.sum;\n"),
        ),
        ("stability",),
    ),
)  # fmt: skip
