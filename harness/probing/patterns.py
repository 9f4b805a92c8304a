"""Which of many places are concerned, as the shortest rule that says so: a range, or residues modulo a power of two.

Faults of parallel code follow threads, warps and blocks, and those follow residues of the column or row they work on.
"""

import numpy as np
from numpy.typing import NDArray

MODULI = tuple(2**n for n in range(1, 13))
MOST = 3
"""Ranges in a rule; more of them say nothing."""


def described(mask: NDArray[np.bool_], name: str) -> str | None:
    """The places where `mask` (n,) is set, as a condition on `name`; None when no short one fits.

    A residue rule must hold over two periods at least.
    """
    intervals = _intervals(mask)
    if len(intervals) == 1:
        return _interval(intervals[0], len(mask), name)
    for modulus in MODULI:
        if len(mask) < 2 * modulus:
            break
        residues = mask[:modulus]
        if (mask == np.resize(residues, len(mask))).all():
            return _residues(residues, f"{name} mod {modulus}")
    return _union(intervals, len(mask), name)


def _intervals(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs [begin, end) of set places."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _interval(run: tuple[int, int], size: int, name: str) -> str:
    begin, end = run
    if end - begin == 1:
        return f"{name} = {begin}"
    if begin == 0:
        return f"{name} < {end}"
    return f"{name} >= {begin}" if end == size else f"{begin} <= {name} <= {end - 1}"


def _residues(residues: NDArray[np.bool_], name: str) -> str | None:
    if (~residues).sum() == 1:
        return f"{name} != {int(np.flatnonzero(~residues)[0])}"
    return _union(_intervals(residues), len(residues), name)


def _union(intervals: list[tuple[int, int]], size: int, name: str) -> str | None:
    if not 0 < len(intervals) <= MOST:
        return None
    return " or ".join(_interval(run, size, name) for run in intervals)
