"""Loss maps: the columns and rows that records say are lost, read back from the sentence that says it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.model import Record

PERIODS = 2
"""Of a residue so many periods are drawn."""
MOST_PLACES = 8192
"""Longest map drawn, in columns or rows."""

_RULE = re.compile(r"(winners placed in columns|rows) ([cr]) with (.{1,200}?) are (?:lost|never written)")
_CONDITION = re.compile(r"(?:(\d{1,7}) <= )?[cr](?: mod (\d{1,7}))? (=|!=|<=|<|>=) (\d{1,7})")
_APART = re.compile(r"of (\d{1,7}) (?:winners (\d{1,7}) columns apart|(neighbouring) winners) only (\d{1,7}) are found")
_OTHERS = re.compile(r"(\d{1,7}) of those (\d{1,7}) apart")


@dataclass(frozen=True)
class Loss:
    """What one submission loses.

    Attributes:
        name: `MODEL/CHALLENGE`.
        said: the sentence of the record.
        unit: "columns" or "rows"; empty for winners that are lost together.
        size: places drawn, from 0 on.
        runs: begin and length of every run of lost places.
        found: distance of winners and the share of them that is found, for winners that are lost together.
    """

    name: str
    said: str
    unit: str = ""
    size: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    found: tuple[tuple[int, float], ...] = ()


def losses(records: Iterable[Record]) -> tuple[Loss, ...]:
    """The losses that records tell of, each once, in their order."""
    return tuple(
        loss
        for record in records
        for sentence in dict.fromkeys(e.diagnosis for e in record.evidence if e.diagnosis)
        if (loss := read(record.name, sentence)) is not None
    )


def read(name: str, sentence: str) -> Loss | None:
    """The loss a sentence tells of; None where it tells of none, or of none that can be drawn."""
    if rule := _RULE.search(sentence):
        conditions = [_CONDITION.fullmatch(part) for part in rule[3].split(" or ")]
        if all(conditions):
            return _map(name, sentence, "rows" if rule[1] == "rows" else "columns", [c for c in conditions if c])
    if apart := _APART.search(sentence):
        of = max(int(apart[1]), 1)
        shares = {1 if apart[3] else int(apart[2]): int(apart[4]) / of}
        shares |= {int(distance): int(found) / of for found, distance in _OTHERS.findall(sentence)}
        return Loss(name, sentence, found=tuple(sorted(shares.items())))
    return None


def _map(name: str, sentence: str, unit: str, conditions: list[re.Match[str]]) -> Loss:
    size = max(_extent(condition) for condition in conditions)
    lost = [any(_holds(condition, place) for condition in conditions) for place in range(size)]
    begins = [n for n in range(size) if lost[n] and not (n and lost[n - 1])]
    ends = [n + 1 for n in range(size) if lost[n] and not (n + 1 < size and lost[n + 1])]
    runs = tuple((begin, end - begin) for begin, end in zip(begins, ends, strict=True))
    return Loss(name, sentence, unit, size, runs)


def _extent(condition: re.Match[str]) -> int:
    """How many places show the condition: whole periods, or a quarter more than its bound."""
    _, modulus, _, bound = condition.groups()
    return min(MOST_PLACES, max(2, PERIODS * int(modulus) if modulus else int(bound) * 5 // 4 + 1))


def _holds(condition: re.Match[str], place: int) -> bool:
    least, modulus, relation, bound = condition.groups()
    at, end = place % max(int(modulus), 1) if modulus else place, int(bound)
    holds = {"=": at == end, "!=": at != end, "<": at < end, "<=": at <= end, ">=": at >= end}[relation]
    return holds and at >= int(least or 0)
