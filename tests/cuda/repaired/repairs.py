"""The rebuilt answers of three models with some of their faults repaired, so that those behind them come to light."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox import Snapshot, snapshot
from tests.reconstructed import folder_of

CHALLENGE = "fused_softmax_topk"


@dataclass(frozen=True)
class Edit:
    """A replacement in a file of an answer; the old text occurs there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Repair:
    """What is changed of a model's answer.

    Attributes:
        model: whose.
        edits: made in this order.
        document: a Markdown document of which only the fenced code is kept.
    """

    model: str
    edits: tuple[Edit, ...] = ()
    document: str | None = None

    def then(self, *edits: Edit) -> "Repair":
        """This repair and further edits."""
        return Repair(self.model, (*self.edits, *edits), self.document)


@contextmanager
def repaired(repair: Repair, into: Path) -> Iterator[Snapshot]:
    """The answer's files as the grader takes them, from a repaired copy in the empty folder `into`."""
    folder = into / repair.model
    shutil.copytree(folder_of(repair.model, CHALLENGE), folder)
    if repair.document:
        place = folder / repair.document
        place.write_text(_code_in(place.read_text()))
    _make(folder, repair.edits)
    with snapshot(folder) as files:
        yield files


def _code_in(document: str) -> str:
    _, fenced = document.split("```cuda\n")
    return fenced.split("```\n")[0]


def _make(folder: Path, edits: Iterable[Edit]) -> None:
    for edit in edits:
        place = folder / edit.file
        source = place.read_text()
        assert source.count(edit.old) == 1, f"{edit.file} holds {edit.old!r} {source.count(edit.old)} times"
        place.write_text(source.replace(edit.old, edit.new))


# ---- MiniMax-M2.7 ----

KERNEL = "fused_softmax_topk.cu"

MINIMAX_COMPILES = Repair(
    "minimax-m2.7", (Edit(KERNEL, "(logits, topp_prob, topk_idx", "(logits, topk_prob, topk_idx"),), document=KERNEL
)
"""The code out of the document, the misspelt argument put right."""

MINIMAX_IN_BOUNDS = MINIMAX_COMPILES.then(
    Edit(KERNEL, "warp_reduce_max(s_max[lane])", "warp_reduce_max(lane < NUM_WARPS ? s_max[lane] : -FLT_MAX)"),
    Edit(KERNEL, "warp_reduce_sum(s_sum[lane])", "warp_reduce_sum(lane < NUM_WARPS ? s_sum[lane] : 0.0f)"),
    Edit(KERNEL, "cand_vals[i] = s_vals[i];", "cand_vals[i] = i < TOP_K ? s_vals[i] : -FLT_MAX;"),
    Edit(KERNEL, "cand_idxs[i] = s_idxs[i];", "cand_idxs[i] = i < TOP_K ? s_idxs[i] : -1;"),
)
"""And no shared memory read that was not written."""

MINIMAX_SERVES_EVERY_K = MINIMAX_IN_BOUNDS.then(
    Edit(KERNEL, "int* __restrict__ topk_idx, int V) {", "int* __restrict__ topk_idx, int V, int k) {"),
    Edit(KERNEL, "i < TOP_K; i++) {\n            topk_prob", "i < k; i++) {\n            topk_prob"),
    Edit(KERNEL, "topk_prob[row * TOP_K + i]", "topk_prob[row * k + i]"),
    Edit(KERNEL, "topk_idx[row * TOP_K + i]", "topk_idx[row * k + i]"),
    *(
        Edit(KERNEL, f"_kernel<{k}, BLOCK_SIZE><<<grid, block, smem, stream>>>(logits, topk_prob, topk_idx, V)",
             f"_kernel<{k}, BLOCK_SIZE><<<grid, block, smem, stream>>>(logits, topk_prob, topk_idx, V, K)")
        for k in (10, 50, 100)
    ),
)  # fmt: skip
"""And rows of k entries instead of 10, 50 or 100: what is left is the merge."""

# ---- GLM-5 ----

GLM_COMPILES = Repair(
    "glm-5", (Edit(KERNEL, "#include <cuda_runtime.h>", "#include <cuda_runtime.h>\n#include <cfloat>"),)
)

GLM_ONE_WARP = GLM_COMPILES.then(Edit(KERNEL, "#define WARPS_PER_BLOCK 8", "#define WARPS_PER_BLOCK 1"))
"""And one row to a block, which was said to be right."""

# ---- Qwen3.6-27B ----

QWEN_COMPILES = Repair(
    "qwen3.6-27b",
    (
        Edit(KERNEL, "\n   Warp-level primitives", "\n// Warp-level primitives"),
        Edit(KERNEL, "\n   Shared-memory min-heap", "\n// Shared-memory min-heap"),
        Edit(KERNEL, "\n   The kernel: K is", "\n// The kernel: K is"),
    ),
)
SWAP = (
    Edit(KERNEL, "        heap.vals[pos] = heap.vals[smallest];", "        float val = heap.vals[pos];\n"
         "        int idx = heap.idxs[pos];\n        heap.vals[pos] = heap.vals[smallest];"),
    Edit(KERNEL, "heap.vals[smallest] = heap.vals[pos];", "heap.vals[smallest] = val;"),
    Edit(KERNEL, "heap.idxs[smallest] = heap.idxs[pos];", "heap.idxs[smallest] = idx;"),
)  # fmt: skip
DENOMINATOR = Edit(KERNEL, "    row_sum = warp_reduce_sum(row_sum);\n", "")

QWEN_SWAPS = QWEN_COMPILES.then(*SWAP)
"""And a heap that swaps: what is left are the denominator and the short lists."""

QWEN_DIVIDES = QWEN_COMPILES.then(DENOMINATOR)
"""The denominator put right instead."""

QWEN_SHORT_LISTS = QWEN_SWAPS.then(DENOMINATOR)
"""Both: what is left are 16 candidates a thread."""

COMPILING = {
    "minimax": MINIMAX_COMPILES,
    "minimax in bounds": MINIMAX_IN_BOUNDS,
    "minimax, every k": MINIMAX_SERVES_EVERY_K,
    "glm": GLM_COMPILES,
    "glm, one warp": GLM_ONE_WARP,
    "qwen": QWEN_COMPILES,
    "qwen, swap": QWEN_SWAPS,
    "qwen, denominator": QWEN_DIVIDES,
    "qwen, both": QWEN_SHORT_LISTS,
}
