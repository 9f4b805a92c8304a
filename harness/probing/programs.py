"""Programs of calls for contracts with state, and the search for the shortest one that fails.

A program stays valid if it loses steps: each step holds all that its call needs, and expectations follow from earlier
steps. The search draws nothing, so it is reproducible.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from harness.model import Threshold
from harness.probing.failures import ProbeFailure, Spared, WorkerLost

MAX_TRIES = 200
"""Most programs tried in a search, including those for thresholds."""
DRAWN, OTHER_DRAWS = 0, (1, 2, 3)
"""Draw of inputs that failed, and further ones; a size matters only if it matters with all of them."""


@dataclass(frozen=True)
class Size:
    """A size of a call, at least `least`.

    Attributes:
        plain: largest ordinary value; thresholds lie beyond.
    """

    now: int
    least: int
    plain: int


class Step(Protocol):
    """One call of a program."""

    def sizes(self) -> Mapping[str, Size]:
        """Return the sizes by name."""

    def resized(self, name: str, size: int) -> Self:
        """Return the call with another size."""

    def plainer(self) -> Iterable[Self]:
        """Return simpler forms of the call, boldest first."""


Program = tuple[Step, ...]
Rewrite = Callable[[Program], Iterable[Program]]
"""Function that returns simpler forms of a whole program, such as one that numbers its objects from the first on."""


class StepFailed(Exception):
    """The failure of a program at the step of index `at`."""

    def __init__(self, failure: ProbeFailure, at: int) -> None:
        super().__init__(failure.title)
        self.failure = failure
        self.at = at


Run = Callable[[Program, int], None]
"""Function that makes the calls of a program in a fresh process, with inputs of one draw; raises `StepFailed`."""
Fits = Callable[[Program], bool]
"""Test that the contract allows every call of a program, except those meant to be refused."""


@dataclass(frozen=True)
class ShortestProgram:
    """The shortest program found; see `Shrunk`."""

    steps: Program
    failure: ProbeFailure
    thresholds: tuple[Threshold, ...]
    after_others: bool = False


def shortest(
    run: Run, program: Program, failed: StepFailed, rewrites: Iterable[Rewrite] = (), fits: Fits = lambda _: True
) -> ShortestProgram:
    """Remove whatever the failure does not need: steps, then size, then details of steps.

    Args:
        fits: tests whether the contract allows a smaller program; others set no threshold.
    """
    search = _Search(run, program, failed, tuple(rewrites), fits)
    if not isinstance(failed.failure, WorkerLost):
        search.run()
    return ShortestProgram(search.steps, search.failure, tuple(search.thresholds), search.after_others)


class _Search:
    def __init__(
        self, run: Run, program: Program, failed: StepFailed, rewrites: tuple[Rewrite, ...], fits: Fits
    ) -> None:
        self._run = run
        self._fits = fits
        self._rewrites = rewrites
        self._left = MAX_TRIES
        self.steps, self.failure = program, failed.failure
        self.thresholds: list[Threshold] = []
        self.after_others = False

    def run(self) -> None:
        if not self._accept(self.steps):
            self.after_others = self._passes(self.steps)
            return
        before: Program = ()
        while before != self.steps and self._left > 0:
            before = self.steps
            self._rewrite()
            self._drop()
            self._resize()
            self._simplify()
        self._find_thresholds()

    def _find_failure(self, program: Program, draw: int = DRAWN) -> StepFailed | None:
        if self._left <= 0:
            return None
        self._left -= 1
        try:
            self._run(program, draw)
        except StepFailed as again:
            return again if again.failure.title == self.failure.title else None
        except Spared:
            return None
        return None

    def _passes(self, program: Program, draw: int = DRAWN) -> bool:
        if self._left <= 0 or not self._fits(program):
            return False
        self._left -= 1
        try:
            self._run(program, draw)
        except (StepFailed, Spared):
            return False
        return True

    def _accept(self, program: Program) -> bool:
        again = self._find_failure(program)
        if again is not None:
            self.steps, self.failure = program[: again.at + 1], again.failure
        return again is not None

    def _drop(self) -> None:
        size = len(self.steps) // 2
        while size:
            end = len(self.steps) - 1  # the last one shows the failure
            while end > 0:
                start = max(0, end - size)
                self._accept(self.steps[:start] + self.steps[end:])
                end = min(start, len(self.steps) - 1)
            size //= 2

    def _rewrite(self) -> None:
        for rewrite in self._rewrites:
            moved = True
            while moved:
                moved = any(self._accept(form) for form in rewrite(self.steps))

    def _simplify(self) -> None:
        for at in reversed(range(len(self.steps))):
            moved = at < len(self.steps)
            while moved:
                moved = at < len(self.steps) and any(
                    self._accept(self._replace_step(at, form)) for form in self.steps[at].plainer()
                )

    def _resize(self) -> None:
        for at in range(len(self.steps)):
            for name in self.steps[at].sizes() if at < len(self.steps) else ():
                self._find_smallest(at, name)

    def _find_smallest(self, at: int, name: str) -> None:
        size = self.steps[at].sizes()[name]
        passing, failing = size.least, size.now
        if failing <= passing or self._accept(self._resize_step(at, name, passing)):
            return
        while failing - passing > 1 and at < len(self.steps) and name in self.steps[at].sizes():
            middle = (passing + failing) // 2
            passing, failing = (
                (passing, middle) if self._accept(self._resize_step(at, name, middle)) else (middle, failing)
            )

    def _find_thresholds(self) -> None:
        for at, step in enumerate(self.steps):
            for name, size in step.sizes().items():
                n = size.now
                if n > size.plain and self._matters(self._resize_step(at, name, n - 1)) and self._left > 0:
                    onward = all(
                        self._find_failure(self._resize_step(at, name, more)) for more in (n + 1, n + 2, 2 * n)
                    )
                    self.thresholds.append(Threshold(axis=name, right_at=n - 1, wrong_from=n, onward=onward))

    def _matters(self, below: Program) -> bool:
        others = (self._passes(below, draw) and self._find_failure(self.steps, draw) for draw in OTHER_DRAWS)
        return self._passes(below) and all(others)

    def _resize_step(self, at: int, name: str, size: int) -> Program:
        return self._replace_step(at, self.steps[at].resized(name, size))

    def _replace_step(self, at: int, step: Step) -> Program:
        return (*self.steps[:at], step, *self.steps[at + 1 :])
