"""From a case that fails to the smallest one found, and to the size where it begins to fail."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from harness.model import Figure, Threshold
from harness.probing.failures import CallTimedOut, NotTried, ProbeFailure, WorkerLost
from harness.probing.patterns import pattern_of
from harness.probing.sizes import DRAW, Axis, Case, Drawn

MAX_SHRINKS = 40
"""Cases tried for a smaller one of fixed sizes."""
MAX_BISECTIONS = 120
"""Cases tried for a smaller drawn one, and for its thresholds."""
WINDOW = 16
"""Neighbouring sizes looked at for a rule by residues; it must hold over two periods."""
OTHER_DRAWS = range(1_000_000, 1_000_006)
"""Draws of a case that no sweep makes: a size is right only if it is right with their inputs, too."""
SHOWN = 4
"""Of these draws, so many must fail at the size called wrong: if few do, those below may pass by chance."""
LITTLE = 1 / 8
"""Of the most that a drawn case may cost: so much is tried however small the failing case is."""

Attempt = Callable[[Case], ProbeFailure | None]
"""Runs a case; its failure, or None when it passes."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case found that fails in the same way.

    Attributes:
        case: its sizes and settings.
        failure: how it fails.
        thresholds: where along its sizes it begins to.
        after_others: whether it passes where it is the first case of a process.
    """

    case: Case
    failure: ProbeFailure
    thresholds: tuple[Threshold, ...] = ()
    after_others: bool = False


def shrink_fixed(
    attempt: Attempt, case: Case, failure: ProbeFailure, floors: Mapping[str, int], fixed: frozenset[str]
) -> Shrunk:
    """The smallest case found by single steps down that fails in the same way.

    A case that passes by itself failed for what came before it, and is left as it was.
    """
    if not isinstance(failure, WorkerLost | CallTimedOut) and attempt(case) is None:
        return Shrunk(case, failure, after_others=True)
    best, why, tries, moved = dict(case), failure, 0, True
    while moved and not isinstance(why, WorkerLost):
        moved = False
        for size, step in _smaller(best, floors, fixed):
            tries += 1
            if tries > MAX_SHRINKS:
                return Shrunk(best, why)
            again = attempt({**best, size: step})
            if again is not None and _alike(again, why):
                best, why, moved = {**best, size: step}, again, True
                break
    return Shrunk(best, why)


def _alike(one: ProbeFailure, other: ProbeFailure) -> bool:
    """Say whether two failures have the same title, and are a fault of the same criterion."""
    return (one.title, one.obstacle, one.fault_of) == (other.title, other.obstacle, other.fault_of)


def _smaller(case: Case, floors: Mapping[str, int], fixed: Collection[str]) -> Iterator[tuple[str, int]]:
    """Single steps down from a case: each size to its floor, to half, and by one."""
    for size, value in case.items():
        floor = floors.get(size, 1)
        if isinstance(value, bool) or not isinstance(value, int) or size in fixed or value <= floor:
            continue
        yield from ((size, step) for step in dict.fromkeys((floor, max(floor, value // 2), value - 1)))


def shrink_drawn(
    attempt: Attempt, case: Case, failure: ProbeFailure, drawn: Drawn, fit: Callable[[Case], Case] = dict
) -> Shrunk:
    """Return the plainest settings and the smallest sizes that fail in the same way, with the thresholds found.

    A case that passes by itself failed for what came before it: it is left as it was, and no size is blamed.

    Args:
        attempt: runs a case.
        case: the drawn one.
        failure: how it fails.
        drawn: how it was drawn.
        fit: makes each case one that the answer serves. A size is blamed only where it changes alone.
    """
    search = _Search(attempt, case, failure, drawn, fit)
    with contextlib.suppress(_Exhausted):
        search.run()
    return Shrunk(search.case, search.failure, tuple(search.thresholds), search.after_others)


class _Exhausted(Exception):
    """No case may be tried any more."""


class _Search:
    """One search for a smaller drawn case, bounded by the number of cases it may try."""

    def __init__(
        self, attempt: Attempt, case: Case, failure: ProbeFailure, drawn: Drawn, fit: Callable[[Case], Case]
    ) -> None:
        self._attempt, self._fit = attempt, fit
        self._drawn = drawn
        self._most = drawn.cost_of(case)
        self._tries = 0
        self._known: dict[tuple[tuple[str, Figure], ...], ProbeFailure | None] = {}
        self.case = dict(case)
        self.failure = failure
        self.thresholds: list[Threshold] = []
        self.after_others = False
        self._first = dict(case)

    def run(self) -> None:
        """Search."""
        if isinstance(self.failure, WorkerLost) or self._fails() is None:
            self.after_others = not isinstance(self.failure, WorkerLost) and self._passes()
            return
        for name, values in self._drawn.choices.items():
            if self.case[name] != values[0]:
                self._step(name, values[0])
        bounds = {name: self._smallest(name, axis) for name, axis in self._drawn.axes.items()}
        for name, passing in bounds.items():
            found = None if passing is None else self._threshold(name, passing)
            self.thresholds += [found] if found else []

    def _fails(self, **changes: Figure) -> ProbeFailure | None:
        """Return the same failure with some settings changed; None where the case passes or fails otherwise."""
        again = self._failure_of(**changes)
        return again if again is not None and _alike(again, self.failure) else None

    def _passes(self, **changes: Figure) -> bool:
        """Return whether the case passes with some settings changed: one that fails otherwise is not right either."""
        return self._failure_of(**changes) is None

    def _is_wrong(self, **changes: Figure) -> bool:
        """Return whether the case fails, in any way, with some settings changed."""
        again = self._failure_of(**changes)
        return again is not None and not isinstance(again, NotTried)

    def _failure_of(self, **changes: Figure) -> ProbeFailure | None:
        """Return how the case fails with some settings changed; None where it passes. Each case is tried once."""
        case = {**self.case, **changes}
        key = tuple(sorted(case.items()))
        if key not in self._known:
            if self._tries >= MAX_BISECTIONS:
                raise _Exhausted
            self._tries += 1
            self._known[key] = self._attempt(case)
        return self._known[key]

    def _step(self, name: str, value: Figure) -> bool:
        """Whether it fails with this value too, which it then keeps."""
        again = self._fails(**{name: value})
        if again is not None:
            self.case[name], self.failure = value, again
        return again is not None

    def _smallest(self, name: str, axis: Axis) -> int | None:
        """Bisect one size down to where it begins to fail; the size below, which passes, or None at the low end.

        Halves of a size share its divisors, so odd sizes below are tried before all are taken to pass.
        """
        if self.case[name] == axis.low or self._step(name, axis.low):
            return None
        while True:
            passing, failing = axis.low, self.case[name]
            assert isinstance(failing, int)
            while failing - passing > 1:
                middle = (passing + failing) // 2
                passing, failing = (passing, middle) if self._step(name, middle) else (middle, failing)
            below = {passing - 1, 3 * passing // 4 | 1, passing // 2 | 1}
            if not any(axis.low < n < passing and self._step(name, n) for n in sorted(below)):
                return passing

    def _threshold(self, name: str, passing: int) -> Threshold | None:
        """What is known of a size that matters; None where a later size has moved it."""
        start = self.case[name]
        assert isinstance(start, int)
        if start - passing != 1 or not self._passes(**{name: passing}):
            return None
        one, other = self._fit({**self.case, name: passing}), self._fit(self.case)
        if any(one[size] != other[size] for size in self._drawn.axes if size != name):
            return None
        if not all(self._passes(**{name: passing, DRAW: draw}) for draw in OTHER_DRAWS):
            return None  # the size below fails as well, with other inputs
        if sum(self._is_wrong(**{name: start, DRAW: draw}) for draw in OTHER_DRAWS) < SHOWN:
            return None
        axis = self._drawn.axes[name]
        beyond = {start + 1, start + 2, start + 3, start + start // 2, 2 * start, self._first[name], axis.high}
        beyond |= {2 * passing, 3 * passing}  # what is right of blocks of one size is right of whole blocks
        tried = [n for n in beyond if isinstance(n, int) and start < n <= axis.high and self._bearable(name, n)]
        onward = all(self._fails(**{name: n}) is not None for n in tried)
        rule = None if onward else self._rule(name, start)
        return rule or Threshold(axis=name, right_at=passing, wrong_from=start, onward=onward)

    def _rule(self, name: str, start: int) -> Threshold | None:
        """The residues of a size that fail, where neighbouring sizes show a rule."""
        axis, base = self._drawn.axes[name], -(-start // WINDOW) * WINDOW
        window = range(base, base + WINDOW)
        if base < axis.low or window[-1] > axis.high or not self._bearable(name, window[-1]):
            return None
        if any(isinstance(self._failure_of(**{name: n}), NotTried) for n in window):
            return None
        mask = np.array([self._is_wrong(**{name: n}) for n in window])
        pattern = pattern_of(mask)
        if pattern is None or pattern.period is None or not mask[start % WINDOW]:
            return None
        wrong = tuple(n for n in range(pattern.period) if mask[n])
        return Threshold(
            axis=name, right_at=start - 1, wrong_from=start, onward=False, period=pattern.period, wrong_residues=wrong
        )

    def _bearable(self, name: str, size: int) -> bool:
        """Whether a case with this size costs no more than the one that was drawn, or little."""
        return self._drawn.cost_of({**self.case, name: size}) <= max(self._most, LITTLE * self._drawn.most)
