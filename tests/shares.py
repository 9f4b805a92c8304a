"""Choose which of the long tests a run judges: by their names and measured times, so that every run judges the same.

`HARNESS_TEST_SEED` chooses other cases, `HARNESS_TEST_ALL=1` takes everything (`make test-all`).
"""

import csv
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SEED, ALL = "HARNESS_TEST_SEED", "HARNESS_TEST_ALL"
FIXED = "the share of every run"
CHECKOUT = Path(__file__).parents[1]
SECONDS_OF_A_FUNCTION = 4.0
"""Seconds that a test function may take, as measured, to run whole in every run."""
SECONDS_OF_A_SHARE = 0.5
"""Seconds for the cases that run of a longer one; a case that takes no more than a whole function may runs anyway."""
MEASURED = CHECKOUT / "tests" / "seconds.csv"


@cache
def seed() -> str:
    """Return the seed of every draw: the value of HARNESS_TEST_SEED, else one that never changes."""
    return os.environ.get(SEED) or FIXED


def number() -> int:
    """Return a seed for probes and the like."""
    return int.from_bytes(hashlib.sha256(seed().encode()).digest()[:4])


def everything() -> bool:
    """Whether this run takes all of every corpus."""
    return bool(os.environ.get(ALL))


def share(
    items: Iterable[T], one_in: int, kind: Callable[[T], Hashable] = lambda item: None, drawn_by: str | None = None
) -> list[T]:
    """One in so many of `items`, and at least one of every kind, in their order.

    Args:
        items: with distinct `str`.
        one_in: of how many of a kind one is drawn.
        kind: what must not be missing.
        drawn_by: the seed; that of this run by default.
    """
    found = list(items)
    if drawn_by is None and everything():
        return found
    by_kind: dict[Hashable, list[str]] = defaultdict(list)
    for item in found:
        by_kind[kind(item)].append(str(item))
    drawn = drawn_by or seed()
    chosen = set()
    for names in by_kind.values():
        names.sort(key=lambda name: hashlib.sha256(f"{drawn} {name}".encode()).digest())
        chosen |= set(names[: max(1, round(len(names) / one_in))])
    return [item for item in found if str(item) in chosen]


def one_of_each(names: Iterable[str], kind: Callable[[str], Hashable]) -> set[str]:
    """Return a name of every kind that is not None, to be marked `every_run`."""
    chosen: dict[Hashable, str] = {}
    for name in sorted(names, key=fraction):
        if kind(name) is not None:
            chosen.setdefault(kind(name), name)
    return {*chosen.values()}


def fraction(name: str) -> float:
    """Return a number from 0 to below 1 that `name` and the seed of this run decide."""
    return int.from_bytes(hashlib.sha256(f"{seed()} {name}".encode()).digest()[:6]) / 2**48


def has_turn(name: str, one_in: float) -> bool:
    """Return whether this run is the one in so many that does what takes too long for every run."""
    return everything() or fraction(name) * one_in < 1


@cache
def seconds_of_functions() -> dict[str, float]:
    """Read how long the cases of each long test function take together, in seconds, from `tests/seconds.csv`."""
    with MEASURED.open(encoding="utf-8") as file:
        return {row["function"]: float(row["seconds"]) for row in csv.DictReader(file)}


def cases_of_turn(function: str, cases: Sequence[str]) -> set[str]:
    """Return which `cases` of a test function run: all, or as many as fit into the share; long ones take turns."""
    each = seconds_of_functions().get(function, 0.0) / len(cases)
    if everything() or each * len(cases) <= SECONDS_OF_A_FUNCTION:
        return {*cases}
    if each > SECONDS_OF_A_FUNCTION and not has_turn(function, each / SECONDS_OF_A_SHARE):
        return set()
    return {*sorted(cases, key=fraction)[: max(1, int(SECONDS_OF_A_SHARE / each))]}


def drawn_cases() -> float:
    """Of a probe's drawn cases, the share that a right answer meets in one run."""
    return 1.0 if everything() else 0.1


def examples(number: int) -> int:
    """How many examples of a property one run draws: a third, but not fewer than 25."""
    return number if everything() else min(number, max(25, number // 3))


def told() -> str:
    """What a run says about its draws."""
    if everything():
        return f"every corpus whole ({ALL})"
    chosen = FIXED if seed() == FIXED else f"chosen by {SEED}={seed()}"
    return f"part of the long corpora: {chosen}; all of it with {ALL}=1"
