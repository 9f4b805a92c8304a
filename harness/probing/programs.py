"""Programs of calls: histories of a contract with state, and the shortest one that fails.

What a step is, and what it must come to, is the challenge's. A program may lose any of its steps and is still one: each
step holds all that its call needs, and what is expected of it follows from the steps before. Nothing here is drawn, so
a program that fails shrinks in the same way every time.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from harness.model import Threshold
from harness.probing.failures import ProbeFailure, Spared, WorkerLost

MAX_TRIES = 200
"""Programs tried for a shorter one, its thresholds included."""
DRAWN, OTHER_DRAWS = 0, (1, 2, 3)
"""What a program failed with, and other inputs of its calls: a size matters only if it matters with theirs, too."""


@dataclass(frozen=True)
class Size:
    """A size of a call.

    Attributes:
        now: what it is.
        least: the smallest it may be.
        plain: up to here any program goes; that a failure needs as much is worth no word.
    """

    now: int
    least: int
    plain: int


class Step(Protocol):
    """One call of a program."""

    def sizes(self) -> Mapping[str, Size]:
        """The sizes of the call by name."""

    def resized(self, name: str, size: int) -> Self:
        """The same call with another size."""

    def plainer(self) -> Iterable[Self]:
        """The same call with less in it, the boldest first; each of them leads to nothing less plain."""


Program = tuple[Step, ...]
Rewrite = Callable[[Program], Iterable[Program]]
"""Plainer forms of a whole program, such as one that names its objects from the first on."""


class StepFailed(Exception):
    """A program went wrong.

    Attributes:
        failure: how.
        at: index of the step that showed it.
    """

    def __init__(self, failure: ProbeFailure, at: int) -> None:
        super().__init__(failure.title)
        self.failure = failure
        self.at = at


Run = Callable[[Program, int], None]
"""Makes the calls of a program in a fresh process, with inputs of one of the draws; raises `StepFailed`."""
Fits = Callable[[Program], bool]
"""Whether the contract allows every call of a program that is not meant to be refused."""


@dataclass(frozen=True)
class ShortestProgram:
    """The shortest program found that fails in the same way.

    Attributes:
        steps: of the program.
        failure: how it fails.
        thresholds: where along its sizes it begins to.
        after_others: whether it passes as the first calls of a process.
    """

    steps: Program
    failure: ProbeFailure
    thresholds: tuple[Threshold, ...]
    after_others: bool = False


def shortest(
    run: Run, program: Program, failed: StepFailed, rewrites: Iterable[Rewrite] = (), fits: Fits = lambda _: True
) -> ShortestProgram:
    """Take away whatever the failure does not need: steps, then size, then what else is in them.

    Args:
        run: runs a program.
        program: fails.
        failed: how.
        rewrites: plainer forms of whole programs.
        fits: tells whether a smaller program makes the same calls; where some are refused, nothing is said of its size.
    """
    search = _Search(run, program, failed, tuple(rewrites), fits)
    if not isinstance(failed.failure, WorkerLost):
        search.run()
    return ShortestProgram(search.steps, search.failure, tuple(search.thresholds), search.after_others)


class _Search:
    """A search for a shorter program, bounded by the number of programs it may try."""

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
        """Search until nothing can be taken away, or too much was tried."""
        if not self._accept(self.steps):
            self.after_others = self._passes(self.steps)
            return
        before: Program = ()
        while before != self.steps and self._left > 0:
            before = self.steps
            self._rewrite()
            self._drop()
            self._resize()
            self._plain()
        self._find_thresholds()

    def _failing(self, program: Program, draw: int = DRAWN) -> StepFailed | None:
        """Return the same failure of a program; None where it passes, fails otherwise or may not be tried."""
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
        """Return whether a program makes all its calls and goes right; False where it may not be tried."""
        if self._left <= 0 or not self._fits(program):
            return False
        self._left -= 1
        try:
            self._run(program, draw)
        except (StepFailed, Spared):
            return False
        return True

    def _accept(self, program: Program) -> bool:
        """Whether a program fails too; it is kept then, up to the step that shows it."""
        again = self._failing(program)
        if again is not None:
            self.steps, self.failure = program[: again.at + 1], again.failure
        return again is not None

    def _drop(self) -> None:
        """Runs of steps, from the last to the first: halves, then quarters, down to single ones."""
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

    def _plain(self) -> None:
        for at in reversed(range(len(self.steps))):
            moved = at < len(self.steps)
            while moved:
                moved = at < len(self.steps) and any(
                    self._accept(self._with(at, form)) for form in self.steps[at].plainer()
                )

    def _resize(self) -> None:
        for at in range(len(self.steps)):
            for name in self.steps[at].sizes() if at < len(self.steps) else ():
                self._smallest(at, name)

    def _smallest(self, at: int, name: str) -> None:
        """Bisect one size down to where the failure begins."""
        size = self.steps[at].sizes()[name]
        passing, failing = size.least, size.now
        if failing <= passing or self._accept(self._sized(at, name, passing)):
            return
        while failing - passing > 1 and at < len(self.steps) and name in self.steps[at].sizes():
            middle = (passing + failing) // 2
            passing, failing = (passing, middle) if self._accept(self._sized(at, name, middle)) else (middle, failing)

    def _find_thresholds(self) -> None:
        """Find the sizes that matter: one less is right, whatever is drawn, and whether more is wrong as well."""
        for at, step in enumerate(self.steps):
            for name, size in step.sizes().items():
                n = size.now
                if n > size.plain and self._matters(self._sized(at, name, n - 1)) and self._left > 0:
                    onward = all(self._failing(self._sized(at, name, more)) for more in (n + 1, n + 2, 2 * n))
                    self.thresholds.append(Threshold(axis=name, right_at=n - 1, wrong_from=n, onward=onward))

    def _matters(self, below: Program) -> bool:
        """Return whether a smaller program is right with every draw, where this one is wrong."""
        others = (self._passes(below, draw) and self._failing(self.steps, draw) for draw in OTHER_DRAWS)
        return self._passes(below) and all(others)

    def _sized(self, at: int, name: str, size: int) -> Program:
        return self._with(at, self.steps[at].resized(name, size))

    def _with(self, at: int, step: Step) -> Program:
        return (*self.steps[:at], step, *self.steps[at + 1 :])
