"""Figures of records that can be drawn, by model."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Evidence, Figure, Record

LONGEST_NAME = 60
"""Longest name of a figure that is drawn; the record has the others."""


@dataclass(frozen=True)
class Point:
    """One model's figure, with its interval if known."""

    model: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """One quantity of all models that have it."""

    label: str
    points: tuple[Point, ...]


Reading = tuple[str, float, float | None, float | None]
"""Label, figure, and ends of its interval."""


def error_ratios(challenge: Challenge, records: Sequence[Record]) -> tuple[Series, ...]:
    """Return error ratios in rubric order; the worst failing input has a line of its own."""
    return _lines(challenge, records, _ratios)


def exponents(challenge: Challenge, records: Sequence[Record]) -> tuple[Series, ...]:
    """Return exponents of cost against size."""
    return _lines(challenge, records, lambda evidence: _named(evidence, "exponent"))


def time_ratios(challenge: Challenge, records: Sequence[Record]) -> tuple[Series, ...]:
    """Return times divided by the reference's."""
    return _lines(challenge, records, lambda evidence: _named(evidence, "time_ratio"))


def _lines(
    challenge: Challenge, records: Sequence[Record], read: Callable[[Evidence], Iterable[Reading]]
) -> tuple[Series, ...]:
    points: dict[str, dict[str, list[Point]]] = {criterion.id: {} for criterion in challenge.criteria}
    for record in records:
        for evidence in record.evidence:
            for label, value, low, high in read(evidence):
                found = points.setdefault(evidence.criterion, {}).setdefault(label, [])
                found.append(Point(record.model, value, low, high))
    return tuple(Series(label, tuple(of)) for lines in points.values() for label, of in lines.items())


def _ratios(evidence: Evidence) -> Iterator[Reading]:
    yield from _named(evidence, "error_ratio")
    examples = (evidence.counterexample, *(seen.counterexample for seen in evidence.also))
    found = [_number(e.measured["error_ratio"]) for e in examples if e and "error_ratio" in e.measured]
    known = [ratio for ratio in found if ratio is not None]
    if known:
        yield f"{evidence.criterion}, failing input", max(known), None, None


def _named(evidence: Evidence, quantity: str) -> Iterator[Reading]:
    """Yield figures with `quantity` in their name, with the ends named `_low` and `_high`."""
    numbers = {name: number for name, value in evidence.measured.items() if (number := _number(value)) is not None}
    text = evidence.criterion.replace("_", " ")
    for name, number in numbers.items():
        if quantity in name and _labels(name) and not name.endswith(("_low", "_high")):
            rest = " ".join(name.replace(quantity, "").replace("_", " ").split())
            label = f"{evidence.criterion}, {rest}" if rest not in ("", text) else evidence.criterion
            yield label, number, numbers.get(f"{name}_low"), numbers.get(f"{name}_high")


def _labels(name: str) -> bool:
    """Return whether a figure's name is plain enough to label a line."""
    return len(name) <= LONGEST_NAME and name.isascii() and name.replace("_", "a").isalnum() and name.islower()


def _number(value: Figure) -> float | None:
    if isinstance(value, bool | str) or math.isnan(value):
        return None
    return float(value)
