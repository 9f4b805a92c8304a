"""The kernel's algorithm in NumPy, step for step, so that it can be tested where there is no GPU.

A warp's lanes are axes of arrays; what a warp does in one instruction is one NumPy expression. Sizes are read from the
kernel's source. What this cannot show is what belongs to a device: memory faults, races, the code nvcc makes.
"""

import re
from pathlib import Path

import numpy as np

LANES = 32
NO_KEY = np.uint64(0)


def constant(file: str, name: str) -> int:
    """A `constexpr int` that the kernel's source states as a number."""
    source = Path(__file__).with_name(file).read_text(encoding="utf-8")
    return int(re.findall(rf"constexpr int {name} = (\d+);", source)[0])


MAX_K = constant("fused_softmax_topk.h", "MAX_K")
WARPS = constant("fused_softmax_topk.cu", "WARPS")
SPAN = constant("fused_softmax_topk.cu", "LOADS") * LANES
LIST = constant("warp_list.cuh", "PER_LANE") * LANES


def keys_of(logits: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Candidates as integers (keys.cuh): rank of the logit above, column from the right below.

    Args:
        logits: float32.
        columns: of the same shape.
    """
    bits = logits.view(np.uint32)
    rank = np.where(bits >> 31, ~bits, bits | np.uint32(0x80000000))
    return rank.astype(np.uint64) << np.uint64(32) | ~columns.astype(np.uint32)


def logits_of(keys: np.ndarray) -> np.ndarray:
    """The logits that keys were made of, float32."""
    rank = (keys >> np.uint64(32)).astype(np.uint32)
    return np.where(rank >> 31, rank & np.uint32(0x7FFFFFFF), ~rank).view(np.float32)


def columns_of(keys: np.ndarray) -> np.ndarray:
    """The columns that keys were made of, int32."""
    return (~keys.astype(np.uint32)).view(np.int32)


def compare_exchange(entries: np.ndarray, run: int, stride: int) -> np.ndarray:
    """One step of the sorting network over a list (LIST,) of keys (warp_list.cuh)."""
    i = np.arange(len(entries))
    other = entries[i ^ stride]
    larger = ((i & stride) == 0) == ((i & run) == 0)
    return np.where((entries > other) == larger, entries, other)


def sort_bitonic_runs(entries: np.ndarray, run: int) -> np.ndarray:
    """Sort every bitonic run of `run` entries."""
    stride = run // 2
    while stride:
        entries = compare_exchange(entries, run, stride)
        stride //= 2
    return entries


def sort(entries: np.ndarray) -> np.ndarray:
    """The list in descending order."""
    run = 2
    while run <= len(entries):
        entries = sort_bitonic_runs(entries, run)
        run *= 2
    return entries


def keep_largest(entries: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The largest of two descending lists, in descending order."""
    return sort_bitonic_runs(np.maximum(entries, other[::-1]), len(entries))


class Selection:
    """A warp's largest keys: a sorted list, and a buffer of newer keys above the k-th of them."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.entries = np.full(LIST, NO_KEY)
        self.buffer = np.full(LIST, NO_KEY)
        self.buffered = 0
        self.floor = NO_KEY
        self.flushes = 0

    def add(self, keys: np.ndarray, last: bool = False) -> None:
        """Take a span (SPAN,) of keys; `last` if no other follows."""
        above = keys[keys > self.floor]
        self.buffer[self.buffered : self.buffered + len(above)] = above
        self.buffered += len(above)
        if self.buffered > (0 if last else LIST - SPAN):
            self.flush()

    def flush(self) -> None:
        """Merge the buffer into the list and raise the floor."""
        fresh = np.where(np.arange(LIST) < self.buffered, self.buffer, NO_KEY)
        self.entries = keep_largest(self.entries, sort(fresh))
        self.floor = self.entries[self.k - 1]
        self.buffered = 0
        self.flushes += 1


class Softmax:
    """Many threads' online softmax at once: float32 arrays of one shape (online_softmax.cuh)."""

    def __init__(self, threads: int) -> None:
        self.max = np.full(threads, -np.finfo(np.float32).max, np.float32)
        self.sum = np.zeros(threads, np.float32)

    def add(self, logits: np.ndarray) -> None:
        """Take (loads, threads) logits."""
        top = np.fmax(self.max, np.fmax.reduce(logits))
        with np.errstate(over="ignore"):  # of an exponent, to -inf
            self.sum = self.sum * np.exp(self.max - top)
        self.max = top
        for load in logits:
            self.sum = self.sum + np.exp(load - self.max)

    def halves_merged(self) -> "Softmax":
        """The first half of the threads after each took one of the second half."""
        half = len(self.max) // 2
        merged = Softmax(half)
        merged.max = np.fmax(self.max[:half], self.max[half:])
        with np.errstate(over="ignore"):
            for part in (slice(half), slice(half, None)):
                merged.sum = merged.sum + self.sum[part] * np.exp(self.max[part] - merged.max)
        return merged


def read_row(row: np.ndarray, past: int, warp: int, selection: Selection) -> Softmax:
    """Read one warp's spans of a row that begins `past` columns behind a 128-byte boundary."""
    softmax = Softmax(LANES)
    end = past + len(row)
    for begin in range(warp * SPAN, end, WARPS * SPAN):
        columns = np.arange(begin, begin + SPAN) - past
        inside = (columns >= 0) & (columns < len(row))
        logits = np.where(inside, row[np.where(inside, columns, 0)], np.float32(-np.inf))
        softmax.add(logits.reshape(-1, LANES))
        selection.add(np.where(inside, keys_of(logits, columns), NO_KEY), begin + WARPS * SPAN >= end)
    return softmax


def fused_softmax_topk(logits: np.ndarray, k: int, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel writes for logits that begin `shift` columns behind a 128-byte boundary.

    Args:
        logits: (rows, vocab) float32.
        k: 1 to min(vocab, MAX_K).
        shift: any number.

    Returns:
        probs (rows, k) float32 and indices (rows, k) int32.

    Raises:
        ValueError: a k that is not served.
    """
    rows, vocab = logits.shape
    if not 1 <= k <= min(vocab, MAX_K):
        raise ValueError(f"k must be 1 to {min(vocab, MAX_K)}: {k}")
    answers = [_one_row(row, k, (shift + r * vocab) % LANES) for r, row in enumerate(logits)]
    return np.stack([probs for probs, _ in answers]), np.stack([indices for _, indices in answers])


def _one_row(row: np.ndarray, k: int, past: int) -> tuple[np.ndarray, np.ndarray]:
    selections = [Selection(k) for _ in range(WARPS)]
    softmaxes = [read_row(row, past, warp, selection) for warp, selection in enumerate(selections)]
    lists = [selection.entries for selection in selections]
    while len(lists) > 1:
        left = len(lists) // 2
        lists = [keep_largest(lists[w], lists[w + left]) for w in range(left)]
    total = Softmax(WARPS * LANES)
    total.max = np.concatenate([softmax.max for softmax in softmaxes])
    total.sum = np.concatenate([softmax.sum for softmax in softmaxes])
    while len(total.max) > 1:
        total = total.halves_merged()
    best = lists[0][:k]
    return np.exp(logits_of(best) - total.max) / total.sum, columns_of(best)
