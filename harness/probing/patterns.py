"""Which of many places are affected, as the shortest rule that fits: a range, or residues modulo a power of two.

Faults of parallel code follow threads, warps and blocks, and those follow residues of the column or row they work on.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.model import LossMap

MODULI = tuple(2**n for n in range(1, 13))
MOST = 3
"""Ranges in a rule; more of them say nothing."""


@dataclass(frozen=True)
class Pattern:
    """A short rule for places that are concerned.

    Attributes:
        size: places looked at.
        runs: begin and end of each run of concerned places, within one period where there is one.
        period: the runs repeat after so many places; None when they do not.
    """

    size: int
    runs: tuple[tuple[int, int], ...]
    period: int | None = None

    def condition(self, name: str) -> str:
        """The rule as a condition on `name`."""
        if self.period is None:
            return " or ".join(_interval(run, self.size, name) for run in self.runs)
        residue, spared = f"{name} mod {self.period}", _spared(self.runs, self.period)
        if spared is not None:
            return f"{residue} != {spared}"
        return " or ".join(_interval(run, self.period, residue) for run in self.runs)

    def loss(self, unit: Literal["columns", "rows"]) -> LossMap:
        """The rule as a map of what is lost."""
        runs = tuple((begin, end - begin) for begin, end in self.runs)
        return LossMap(unit=unit, size=self.size, period=self.period, runs=runs)


def pattern_of(mask: NDArray[np.bool_]) -> Pattern | None:
    """The places where `mask` (n,) is set, as a rule; None when no short one fits.

    A residue rule must hold over two periods at least.
    """
    runs = _runs(mask)
    if len(runs) == 1:
        return Pattern(len(mask), runs)
    for modulus in MODULI:
        if len(mask) < 2 * modulus:
            break
        residues = mask[:modulus]
        if (mask == np.resize(residues, len(mask))).all():
            within = _runs(residues)
            short = 0 < len(within) <= MOST or _spared(within, modulus) is not None
            return Pattern(len(mask), within, modulus) if short else None
    return Pattern(len(mask), runs) if 0 < len(runs) <= MOST else None


def _runs(mask: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """Runs [begin, end) of set places."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return tuple((int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


def _spared(runs: tuple[tuple[int, int], ...], size: int) -> int | None:
    """The only place that no run covers; None when there are none or several."""
    if sum(end - begin for begin, end in runs) != size - 1:
        return None
    reached = 0
    for begin, end in runs:
        if begin > reached:
            break
        reached = end
    return reached


def _interval(run: tuple[int, int], size: int, name: str) -> str:
    begin, end = run
    if end - begin == 1:
        return f"{name} = {begin}"
    if begin == 0:
        return f"{name} < {end}"
    return f"{name} >= {begin}" if end == size else f"{begin} <= {name} <= {end - 1}"
