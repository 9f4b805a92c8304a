"""Short rules for affected places: ranges, or residues modulo a power of two.

Faults of parallel code follow threads, warps and blocks, and so the residues of a column or row.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.model import LossMap

MODULI = tuple(2**n for n in range(1, 13))
MOST = 3
"""Most ranges in a useful rule."""


@dataclass(frozen=True)
class Pattern:
    """A short rule for affected places.

    Attributes:
        runs: begin and end of each run of affected places, within one period if any.
        period: distance after which the runs repeat, or None.
    """

    size: int
    runs: tuple[tuple[int, int], ...]
    period: int | None = None

    def condition(self, name: str) -> str:
        """Return the rule as a condition on `name`."""
        if self.period is None:
            return " or ".join(_format_interval(run, self.size, name) for run in self.runs)
        residue, spared = f"{name} mod {self.period}", _find_gap(self.runs, self.period)
        if spared is not None:
            return f"{residue} != {spared}"
        return " or ".join(_format_interval(run, self.period, residue) for run in self.runs)

    def loss(self, unit: Literal["columns", "rows"]) -> LossMap:
        """Return the rule as a map of losses."""
        runs = tuple((begin, end - begin) for begin, end in self.runs)
        return LossMap(unit=unit, size=self.size, period=self.period, runs=runs)


def pattern_of(mask: NDArray[np.bool_]) -> Pattern | None:
    """Return a short rule for the places set in `mask` (n,), or None.

    A rule of residues must hold over two periods or more.
    """
    runs = _find_runs(mask)
    if len(runs) == 1:
        return Pattern(len(mask), runs)
    for modulus in MODULI:
        if len(mask) < 2 * modulus:
            break
        residues = mask[:modulus]
        if (mask == np.resize(residues, len(mask))).all():
            within = _find_runs(residues)
            short = 0 < len(within) <= MOST or _find_gap(within, modulus) is not None
            return Pattern(len(mask), within, modulus) if short else None
    return Pattern(len(mask), runs) if 0 < len(runs) <= MOST else None


def _find_runs(mask: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return tuple((int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


def _find_gap(runs: tuple[tuple[int, int], ...], size: int) -> int | None:
    if sum(end - begin for begin, end in runs) != size - 1:
        return None
    reached = 0
    for begin, end in runs:
        if begin > reached:
            break
        reached = end
    return reached


def _format_interval(run: tuple[int, int], size: int, name: str) -> str:
    begin, end = run
    if end - begin == 1:
        return f"{name} = {begin}"
    if begin == 0:
        return f"{name} < {end}"
    return f"{name} >= {begin}" if end == size else f"{begin} <= {name} <= {end - 1}"
