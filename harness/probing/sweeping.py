"""A sweep: the drawn cases of a probe, one after the other, as large as the answer's limits bear."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from harness.model import Draws, Figure
from harness.probing.answers import Answer
from harness.probing.failures import BEYOND_LIMITS, CallTimedOut, NotMeasurable, NotRun, ProbeFailure, Spared
from harness.probing.sizes import DRAW, Case, Drawn

FURTHER = 24
"""Draws that are still run after the first that fails, to see how many do."""
SECONDS = 40.0
"""Processor time that an answer may take for all draws of a sweep."""

AHEAD = SECONDS / 4
"""By how much more than its share the draws so far may have taken before the next ones are smaller."""

ENDLESS = 200.0
"""A call that takes so many times the processor time of a neighbouring case is not slow: it does not end. Where time
grows with the square of each of three sizes, half of them all is 64 times as fast."""


class Sweep:
    """One run through the drawn cases of a probe.

    A case that takes more time or memory than the answer may use is no fault: the cases after it are smaller. So they
    are where the answer would use up the time for them all. It is a fault where a case like it ends at once.

    Args:
        drawn: how cases are drawn.
        answer: whose source pulls the sizes.
        planned: cases to run.

    Attributes:
        figures: by name; of figures measured in several cases the largest.
        case: the first that failed.
        failure: how.
        unreached: the first case that was too large.
        reason: why.
        spared: how many were left out.
    """

    def __init__(self, drawn: Drawn, answer: Answer, planned: int) -> None:
        self.figures: dict[str, Figure] = {}
        self.case: Case | None = None
        self.failure: ProbeFailure | None = None
        self.unreached = ""
        self.reason = ""
        self.spared = 0
        self._drawn, self._answer, self._planned = drawn, answer, planned
        self._most = drawn.most
        self._tried = self._failed = 0
        self._start = answer.processor_seconds

    @property
    def draws(self) -> Draws:
        """How many were tried, and how many failed."""
        return Draws(planned=self._planned, tried=self._tried, failed=self._failed, unreached=self.unreached)

    def run(self, attempt: Callable[[Case], Mapping[str, Figure]], seed: int, name: str, further: int) -> None:
        """Run the cases, after the first that fails so many more.

        Args:
            attempt: runs a case; its figures.
            seed: of the criterion.
            name: of the probe.
            further: cases to run after the first that fails.

        Raises:
            NotMeasurable: this device cannot tell.
        """
        if self._drawn.in_large:  # settings dealt in the same order each time would be known where few are dealt
            self._drawn = replace(self._drawn, salt=seed)
        left, failed = self._planned, False
        for index in range(self._planned):
            # sizes come from another stream than values
            rng = np.random.default_rng([seed, zlib.crc32(name.encode()), index])
            self._try(attempt, self._drawn.case(index, rng, self._answer.literals, self._most))
            left -= 1
            if self.failure is not None and not failed:
                left, failed = min(left, further), True
            if left <= 0 or self._most < self._drawn.least or self._spent > 2 * SECONDS:
                return

    def _try(self, attempt: Callable[[Case], Mapping[str, Figure]], case: Case) -> None:
        before = self._spent
        try:
            merge(self.figures, attempt(case))
        except Spared:
            self.spared += 1
            return
        except CallTimedOut as late:
            endless = self._endless(attempt, case, late, self._spent - before)
            if endless is None:
                self._too_large(case, str(late))
                return
            self.case, self.failure = case, endless
            self._failed += 1
        except (*BEYOND_LIMITS, NotRun) as why:
            self._too_large(case, str(why))
            return
        except ProbeFailure as failure:
            self._failed += 1
            if self.failure is None:
                self.case, self.failure = case, failure
        self._tried += 1
        if self._spent > SECONDS * self._tried / self._planned + AHEAD:
            self._too_large(case, f"{self._tried} drawn cases take {self._spent:.0f} s of processor time, the last one")

    @property
    def _spent(self) -> float:
        return self._answer.processor_seconds - self._start

    def _endless(
        self, attempt: Callable[[Case], Mapping[str, Figure]], case: Case, late: CallTimedOut, taken: float
    ) -> CallTimedOut | None:
        """The fault of a case that timed out; None where it may be slow, or a fault was seen before."""
        for neighbour in self._drawn.neighbours(case) if self.failure is None else ():
            times = []
            try:
                for _ in range(2):
                    before = self._spent
                    attempt(neighbour)
                    times.append(self._spent - before)
            except (ProbeFailure, NotRun, NotMeasurable, Spared):
                continue
            if min(times) * ENDLESS < taken:
                seen = f"{_sizes(case)}: {late.detail}; {_sizes(neighbour)} takes {min(times):.2g} s"
                return CallTimedOut(late.title, seen)
        return None

    def _too_large(self, case: Case, reason: str) -> None:
        self._most = self._drawn.cost_of(case) / 2
        if not self.unreached:
            self.unreached, self.reason = _sizes(case), reason


def _sizes(case: Case) -> str:
    """The sizes and settings of a case, for people."""
    return ", ".join(f"{name} = {value}" for name, value in case.items() if name != DRAW)


def merge(figures: dict[str, Figure], new: Mapping[str, Figure]) -> None:
    """Add figures to others, of two of the same name the larger one."""
    for name, value in new.items():
        old = figures.get(name)
        larger = isinstance(old, (int, float)) and isinstance(value, (int, float)) and old > value
        figures[name] = old if larger and old is not None else value
