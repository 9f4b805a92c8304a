"""Search for the smallest failing case, and for the size at which it begins to fail."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.model import Figure, Threshold
from harness.probing.failures import CallTimedOut, NotTried, ProbeFailure, WorkerLost
from harness.probing.patterns import pattern_of
from harness.probing.sizes import DRAW, Axis, Case, Drawn

MAX_SHRINKS = 40
"""Most cases tried to shrink one of fixed sizes."""
MAX_BISECTIONS = 120
"""Most cases tried to shrink a drawn one, including its thresholds."""
WINDOW = 16
"""Neighbouring sizes examined for a rule of residues, which must hold over two periods."""
OTHER_DRAWS = range(1_000_000, 1_000_006)
"""Draws outside every sweep; a size is right only if it passes with their inputs too."""
SHOWN = 4
"""Fewest of these draws that must fail at a size called wrong; else smaller sizes may pass by chance."""
FAR = (4, 16)
"""Times a window's sizes at which a rule of residues must hold as well."""
LITTLE = 1 / 8
"""Fraction of the cost limit of a drawn case that may be tried however small the failing case is."""

Attempt = Callable[[Case], ProbeFailure | None]
"""Function that runs a case and returns its failure, or None if it passes."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest case found that fails in the same way.

    Attributes:
        after_others: true if it passes as the first case of a process.
    """

    case: Case
    failure: ProbeFailure
    thresholds: tuple[Threshold, ...] = ()
    after_others: bool = False


def shrink_by_steps(
    attempt: Attempt, case: Case, failure: ProbeFailure, floors: Mapping[str, int], fixed: frozenset[str]
) -> Shrunk:
    """Return the smallest case found by single steps down; unchanged if the case passes by itself."""
    if not isinstance(failure, WorkerLost | CallTimedOut) and attempt(case) is None:
        return Shrunk(case, failure, after_others=True)
    best, why, tries, moved = dict(case), failure, 0, True
    while moved and not isinstance(why, WorkerLost):
        moved = False
        for size, step in _iter_smaller(best, floors, fixed):
            tries += 1
            if tries > MAX_SHRINKS:
                return Shrunk(best, why)
            again = attempt({**best, size: step})
            if again is not None and _is_alike(again, why):
                best, why, moved = {**best, size: step}, again, True
                break
    return Shrunk(best, why)


def _is_alike(one: ProbeFailure, other: ProbeFailure) -> bool:
    return (one.title, one.obstacle, one.fault_of) == (other.title, other.obstacle, other.fault_of)


def _iter_smaller(case: Case, floors: Mapping[str, int], fixed: Collection[str]) -> Iterator[tuple[str, int]]:
    for size, value in case.items():
        floor = floors.get(size, 1)
        if isinstance(value, bool) or not isinstance(value, int) or size in fixed or value <= floor:
            continue
        yield from ((size, step) for step in dict.fromkeys((floor, max(floor, value // 2), value - 1)))


def shrink_by_bisection(
    attempt: Attempt, case: Case, failure: ProbeFailure, drawn: Drawn, fit: Callable[[Case], Case] = dict
) -> Shrunk:
    """Return the plainest settings and smallest sizes; unchanged without thresholds if the case passes by itself.

    Only a size that changes alone under `fit` sets a threshold.
    """
    search = _Search(attempt, case, failure, drawn, fit)
    with contextlib.suppress(_Exhausted):
        search.run()
    return Shrunk(search.case, search.failure, tuple(search.thresholds), search.after_others)


class _Exhausted(Exception):
    """The tries are used up."""


class _Search:
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
        if isinstance(self.failure, WorkerLost) or self._fails() is None:
            self.after_others = not isinstance(self.failure, WorkerLost) and self._passes()
            return
        for name, values in self._drawn.choices.items():
            if self.case[name] != values[0]:
                self._step(name, values[0])
        bounds = {name: self._find_smallest(name, axis) for name, axis in self._drawn.axes.items()}
        for name, passing in bounds.items():
            found = None if passing is None else self._find_threshold(name, passing)
            self.thresholds += [found] if found else []

    def _fails(self, **changes: Figure) -> ProbeFailure | None:
        again = self._find_failure(**changes)
        return again if again is not None and _is_alike(again, self.failure) else None

    def _passes(self, **changes: Figure) -> bool:
        return self._find_failure(**changes) is None

    def _is_wrong(self, **changes: Figure) -> bool:
        again = self._find_failure(**changes)
        return again is not None and not isinstance(again, NotTried)

    def _find_failure(self, **changes: Figure) -> ProbeFailure | None:
        case = {**self.case, **changes}
        key = tuple(sorted(case.items()))
        if key not in self._known:
            if self._tries >= MAX_BISECTIONS:
                raise _Exhausted
            self._tries += 1
            self._known[key] = self._attempt(case)
        return self._known[key]

    def _step(self, name: str, value: Figure) -> bool:
        again = self._fails(**{name: value})
        if again is not None:
            self.case[name], self.failure = value, again
        return again is not None

    def _find_smallest(self, name: str, axis: Axis) -> int | None:
        """Bisect one size to where it begins to fail; return the passing size below, or None at the low end."""
        if self.case[name] == axis.low or self._step(name, axis.low):
            return None
        while True:
            passing, failing = axis.low, self.case[name]
            assert isinstance(failing, int)
            while failing - passing > 1:
                middle = (passing + failing) // 2
                passing, failing = (passing, middle) if self._step(name, middle) else (middle, failing)
            # halves of a size share its divisors, so a few odd sizes are tried as well
            below = {passing - 1, 3 * passing // 4 | 1, passing // 2 | 1}
            if not any(axis.low < n < passing and self._step(name, n) for n in sorted(below)):
                return passing

    def _find_threshold(self, name: str, passing: int) -> Threshold | None:
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
        beyond |= {2 * passing, 3 * passing}  # multiples of the passing size may pass as whole blocks
        tried = [n for n in beyond if isinstance(n, int) and start < n <= axis.high and self._is_bearable(name, n)]
        onward = all(self._fails(**{name: n}) is not None for n in tried)
        rule = None if onward else self._find_rule(name, start)
        return rule or Threshold(axis=name, right_at=passing, wrong_from=start, onward=onward)

    def _find_rule(self, name: str, start: int) -> Threshold | None:
        axis, base = self._drawn.axes[name], -(-start // WINDOW) * WINDOW
        window = range(base, base + WINDOW)
        if base < axis.low or window[-1] > axis.high or not self._is_bearable(name, window[-1]):
            return None
        if any(isinstance(self._find_failure(**{name: n}), NotTried) for n in window):
            return None
        mask = np.array([self._is_wrong(**{name: n}) for n in window])
        pattern = pattern_of(mask)
        if pattern is None or pattern.period is None or not mask[start % WINDOW]:
            return None
        wrong = tuple(n for n in range(pattern.period) if mask[n])
        if not all(self._keeps_rule(name, base * times, pattern.period, wrong) for times in FAR):
            return None
        return Threshold(
            axis=name, right_at=start - 1, wrong_from=start, onward=False, period=pattern.period, wrong_residues=wrong
        )

    def _keeps_rule(self, name: str, base: int, period: int, wrong: Sequence[int]) -> bool:
        """Return whether a rule of residues holds from a far size on as well, where there is one, with other inputs."""
        near = [n for n in range(base, base + period) if self._drawn.axes[name].low <= n <= self._drawn.axes[name].high]
        near = [n for n in near if self._is_bearable(name, n)]
        right = next((n for n in near if n % period not in wrong), None)
        fails = next((n for n in near if n % period in wrong), None)
        held = right is None or all(self._passes(**{name: right, DRAW: draw}) for draw in OTHER_DRAWS)
        return held and (fails is None or any(self._is_wrong(**{name: fails, DRAW: draw}) for draw in OTHER_DRAWS))

    def _is_bearable(self, name: str, size: int) -> bool:
        return self._drawn.cost_of({**self.case, name: size}) <= max(self._most, LITTLE * self._drawn.most)
