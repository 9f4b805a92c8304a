"""Loss maps: lost columns and rows in records, as runs to draw."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model import Evidence, LossMap, Record

PERIODS = 2
"""Periods drawn of a periodic loss."""
MOST_PLACES = 8192
"""Longest map drawn, in columns or rows."""


@dataclass(frozen=True)
class DrawnLoss:
    """Losses of one submission.

    Attributes:
        said: diagnosis, or else title of the fault.
        unit: "columns" or "rows"; empty for winners lost together.
        size: number of places drawn, from 0.
        runs: begin and length of each run of lost places.
        found: distance of two winners and the share found, for winners lost together.
    """

    name: str
    said: str
    unit: str = ""
    size: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    found: tuple[tuple[int, float], ...] = ()


def losses(records: Iterable[Record]) -> tuple[DrawnLoss, ...]:
    """Return the losses in the records, each once per record."""
    return tuple(
        loss
        for record in records
        for loss in dict.fromkeys(_draw_loss(record.name, e) for e in record.evidence)
        if loss is not None
    )


def _draw_loss(name: str, evidence: Evidence) -> DrawnLoss | None:
    said = evidence.diagnosis.words if evidence.diagnosis else evidence.title
    if evidence.loss is None:
        return None
    if isinstance(evidence.loss, LossMap):
        size, runs = _window(evidence.loss)
        return DrawnLoss(name, said, evidence.loss.unit, size, runs)
    return DrawnLoss(name, said, found=evidence.loss.found)


def _window(loss: LossMap) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the informative part of a map: whole periods, or a quarter beyond its last bound."""
    if loss.period:
        size = min(MOST_PLACES, loss.size, PERIODS * loss.period)
        starts: Iterable[int] = range(0, size, loss.period)
    else:
        bounds = [b for begin, length in loss.runs for b in (begin, begin + length) if 0 < b < loss.size]
        size = min(MOST_PLACES, loss.size, max(bounds, default=loss.size) * 5 // 4 + 1)
        starts = (0,)
    placed = ((start + begin, min(start + begin + length, size)) for start in starts for begin, length in loss.runs)
    runs: list[tuple[int, int]] = []
    for begin, end in placed:
        if runs and sum(runs[-1]) == begin < end:
            begin = runs.pop()[0]  # a run that goes over the end of a period is one
        if begin < end:
            runs.append((begin, end - begin))
    return size, tuple(runs)
