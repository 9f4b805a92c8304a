"""A sweep: the drawn cases of a probe, one after the other, as large as the answer's limits bear."""

import zlib
from collections.abc import Callable, Mapping

import numpy as np

from harness.model import Draws, Figure
from harness.probing.answers import Answer
from harness.probing.failures import BEYOND_LIMITS, NotRun, ProbeFailure
from harness.probing.sizes import DRAW, Case, Drawn

FURTHER = 24
"""Draws that are still run after the first that fails, to see how many do."""
SECONDS = 40.0
"""Processor time that an answer may take for all draws of a sweep."""

AHEAD = SECONDS / 4
"""By how much more than its share the draws so far may have taken before the next ones are smaller."""


class Sweep:
    """One run through the drawn cases of a probe.

    A case that takes more time or memory than the answer may use is no fault: the cases after it are smaller. So they
    are where the answer would use up the time for them all.

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
    """

    def __init__(self, drawn: Drawn, answer: Answer, planned: int) -> None:
        self.figures: dict[str, Figure] = {}
        self.case: Case | None = None
        self.failure: ProbeFailure | None = None
        self.unreached = ""
        self.reason = ""
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
        try:
            merge(self.figures, attempt(case))
        except (*BEYOND_LIMITS, NotRun) as why:
            self._too_large(case, str(why))
            return
        except ProbeFailure as failure:
            self._failed += 1
            if self.failure is None:
                self.case, self.failure = case, failure
        self._tried += 1
        if self._spent > SECONDS * self._tried / self._planned + AHEAD:
            self._too_large(case, f"the answer takes {self._spent:.0f} s for {self._tried} cases")

    @property
    def _spent(self) -> float:
        return self._answer.processor_seconds - self._start

    def _too_large(self, case: Case, reason: str) -> None:
        self._most = self._drawn.cost_of(case) / 2
        if not self.unreached:
            self.unreached = ", ".join(f"{name} = {value}" for name, value in case.items() if name != DRAW)
            self.reason = reason


def merge(figures: dict[str, Figure], new: Mapping[str, Figure]) -> None:
    """Add figures to others, of two of the same name the larger one."""
    for name, value in new.items():
        old = figures.get(name)
        larger = isinstance(old, (int, float)) and isinstance(value, (int, float)) and old > value
        figures[name] = old if larger and old is not None else value
