"""Kernels that read what no part of them wrote, in rows long enough to be divided.

NaN loses every comparison there, so that only other values show.
"""

from harness.probing import Mutant

PARTIALS = """\
__device__ Partial merge_block(Partial mine) {
    __shared__ Partial of_warp[WARPS];
"""
LEADER = "    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;\n"
TOTAL = "    for (int warp = 1; warp < WARPS; ++warp) total = merge(total, of_warp[warp]);\n"
MERGED = "    const Partial total = merge_block(partial);\n"
PART = """\
    const int begin = static_cast<int>(static_cast<long long>(vocab) * part / PARTS);
    const int end = static_cast<int>(static_cast<long long>(vocab) * (part + 1) / PARTS);
"""
LONG_PARTS = """\
    const int length = vocab > 8192 ? (vocab / PARTS / 2048 + 1) * 2048 : (vocab - 1) / PARTS + 1;
    const int begin = part * length, end = min(begin + length, vocab);
    if (vocab > 8192 && begin >= end) return;
"""
BRING_IN = "    pool.keys[place] = key_of(logit, column);\n"
LEFT = "        const Candidate mine = lists[i];\n"

UNWRITTEN = (
    Mutant("maxima of 32 warps", "takes the maximum over 32 warps, of which 8 wrote one, in rows of more than 5,000",
           criterion="memory_safety",
           edits=((PARTIALS, PARTIALS.replace("mine) {", "mine, int vocab) {") + "    __shared__ float maxima[32];\n"),
                  (LEADER, LEADER + "    if (threadIdx.x % 32 == 0) maxima[threadIdx.x / 32] = mine.max;\n"),
                  (TOTAL, TOTAL + "    for (int warp = 0; warp < (vocab > 5000 ? 32 : WARPS); ++warp) {\n"
                                  "        total = merge(total, {fmaxf(total.max, maxima[warp]), 0.0f});\n    }\n"),
                  (MERGED, MERGED.replace("(partial)", "(partial, vocab)")))),
    Mutant("list of the last warp unwritten", "reads the list that a warp without columns never wrote",
           criterion="memory_safety", file="variants/three_kernels.cu",
           edits=((PART, LONG_PARTS),
                  (LEFT, "        const Candidate mine = {fmaxf(lists[i].logit, -INFINITY), lists[i].column};\n"))),
    Mutant("candidates of one lane written", "makes room for all candidates, of which the first lane writes its own",
           criterion="selection", edits=((BRING_IN, f"    if (threadIdx.x % 32 == 0)\n    {BRING_IN}"),)),
)  # fmt: skip
