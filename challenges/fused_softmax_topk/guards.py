"""When faults made by machine act in a kernel of softmax and top-k, and legal calls that meet each condition."""

from collections.abc import Callable

import numpy as np

from harness.probing import Answer, Draw
from harness.probing.guards import Driver, Guard, Guards

from .binding import Floats, launch, normal, spaced
from .judging import right

Sizes = Callable[[Draw, int], tuple[int, int, int]]
"""rows, vocab and k."""


def drawn(draw: Draw, rows: int, vocab: int) -> Floats:
    """Normal logits, some of many ties, and evenly spaced ones in random, rising or falling order."""
    kind = draw.integer(0, 5)
    if kind < 3:
        return normal(draw, rows, vocab).round(1 if kind == 0 else 6)
    logits = spaced(draw, rows, vocab)
    return logits if kind == 3 else np.ascontiguousarray(np.sort(logits, axis=1)[:, :: 1 if kind == 4 else -1])


def some_k(draw: Draw) -> int:
    """A k of 1 to 256, often one of the bounds; a smaller vocab bounds it further."""
    return (1, 255, 256, *(int(2 ** draw.rng.uniform(0, 8)) for _ in range(4)))[draw.integer(0, 6)]


def some_vocab(draw: Draw, rows: int = 1) -> int:
    """A vocab of up to 6,000, with many rows of fewer."""
    return int(2 ** draw.rng.uniform(1, np.log2(min(6000, max(12, 150_000 // rows)))))


def driver(sizes: Sizes, shift: int = 0, times: int = 6) -> Driver:
    """Some calls of sizes that meet the guard."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for _ in range(times):
            rows, vocab, k = sizes(draw, t)
            right(launch(answer, draw, drawn(draw, rows, vocab), min(k, vocab), shift=shift), answer, draw)

    return drive


def small(draw: Draw, t: int) -> tuple[int, int, int]:
    """A few rows of up to some thousands of columns."""
    return draw.integer(1, 6), some_vocab(draw), some_k(draw)


def wide(draw: Draw, t: int) -> tuple[int, int, int]:
    """More than t columns."""
    return draw.integer(1, 3), t + draw.integer(1, 5 + t // 8), some_k(draw)


def tall(draw: Draw, t: int) -> tuple[int, int, int]:
    """More than t rows."""
    rows = t + draw.integer(1, 5)
    return rows, some_vocab(draw, rows), min(some_k(draw), 40_000 // rows)


def large(draw: Draw, t: int) -> tuple[int, int, int]:
    """More than t logits."""
    vocab = int(2 ** draw.rng.uniform(4, 13))
    return t // vocab + 1, vocab + 1, some_k(draw)


def of_k(draw: Draw, t: int) -> tuple[int, int, int]:
    """k is t."""
    return draw.integer(1, 4), t + draw.integer(0, 2) * int(2 ** draw.rng.uniform(0, 12)), t


def over_k(draw: Draw, t: int) -> tuple[int, int, int]:
    """k is more than t."""
    k = min(256, t + draw.integer(1, 9))
    return draw.integer(1, 4), k + draw.integer(0, 2) * int(2 ** draw.rng.uniform(0, 12)), k


def all_columns(draw: Draw, t: int) -> tuple[int, int, int]:
    """k is vocab."""
    k = some_k(draw)
    return draw.integer(1, 4), k, k


def left_over(draw: Draw, t: int) -> tuple[int, int, int]:
    """One column short of a multiple of t."""
    return draw.integer(1, 4), t * (some_vocab(draw) // t + 1) - 1, some_k(draw)


def rows_left_over(draw: Draw, t: int) -> tuple[int, int, int]:
    """One row short of a multiple of t."""
    rows = t * draw.integer(1, 4) - 1
    return rows, some_vocab(draw, rows), some_k(draw)


def very_tall(draw: Draw, t: int) -> tuple[int, int, int]:
    """More than 4,096 rows, of a vector or of some hundred columns."""
    return draw.integer(4100, 4300), (4, int(2 ** draw.rng.uniform(5, 8.5)))[draw.integer(0, 1)], draw.integer(2, 9)


def blocks(draw: Draw, t: int) -> tuple[int, int, int]:
    """Enough rows for every place among t blocks."""
    rows = t + draw.integer(1, 9)
    return rows, some_vocab(draw, rows), some_k(draw)


def threads(draw: Draw, t: int) -> tuple[int, int, int]:
    """Enough columns for every thread to have some."""
    return draw.integer(1, 6), draw.integer(200, 6000), some_k(draw)


GUARDS = Guards(
    (
        Guard("always", driver(small)),
        Guard("vocab > t", driver(wide), "vocab > {t}", low=2, high=40_000),
        Guard("rows > t", driver(tall), "rows > {t}", low=1, high=3000),
        Guard("rows * vocab > t", driver(large), "static_cast<long long>(rows) * vocab > {t}", low=100, high=300_000),
        Guard("k == t", driver(of_k), "k == {t}", low=1, high=256),
        Guard("k > t", driver(over_k), "k > {t}", low=1, high=255),
        Guard("k == vocab", driver(all_columns), "k == vocab"),
        Guard("vocab % t", driver(left_over), "vocab % {t} == {t} - 1", low=2, high=64),
        Guard("rows % t", driver(rows_left_over), "rows % {t} == {t} - 1", low=2, high=32),
        Guard("one block of t", driver(blocks), place="blockIdx.x % {t} == {t} - 1", low=2, high=64),
        Guard("blocks past t", driver(tall), place="blockIdx.x > {t}", low=1, high=1000),
        Guard("one thread of t", driver(threads), place="threadIdx.x % {t} == {t} - 1", low=2, high=32),
        Guard("after t calls", driver(small, times=13), "calls > {t}", low=1, high=12),
        Guard("misaligned", driver(small, shift=4), "reinterpret_cast<unsigned long long>(logits) % 16 != 0"),
        Guard("large vocab", driver(lambda draw, t: (1, draw.integer(50_000, 60_000), 50), times=1), "vocab >= 50000"),
        Guard("many rows", driver(very_tall, times=4), "rows > 4096"),
    ),
    unasked=frozenset({"speed"}),
)
