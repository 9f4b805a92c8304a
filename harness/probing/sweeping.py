"""Sweeps through the drawn cases of a probe."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from harness.model import Draws, Figure
from harness.probing.answers import Answer
from harness.probing.failures import BEYOND_LIMITS, CallTimedOut, NotMeasurable, NotRun, ProbeFailure, Spared
from harness.probing.sizes import DRAW, Case, Drawn

FURTHER = 24
"""Most draws after the first that fails, to count failures."""
SECONDS = 40.0
"""Processor seconds for all draws of a sweep."""

AHEAD = SECONDS / 4
"""Processor seconds over their share that the draws so far may take before the next ones get smaller."""

ENDLESS = 200.0
"""Ratio of processor times of neighbouring cases at which the slower call is endless, not slow. If time grows with the
square of three sizes, halving them all is 64 times as fast."""


class Sweep:
    """One run through the drawn cases of a probe.

    After a case that exceeds the limits, and if all would take too long, later cases get smaller. A timeout is a fault
    only if a similar case ends at once.

    Attributes:
        case: first failed case.
        unreached: first case that was too large, for `reason`.
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
        """Numbers of planned, tried and failed cases."""
        return Draws(planned=self._planned, tried=self._tried, failed=self._failed, unreached=self.unreached)

    def run(self, attempt: Callable[[Case], Mapping[str, Figure]], seed: int, name: str, further: int) -> None:
        """Run the cases, and after the first failure at most `further` more."""
        if self._drawn.in_large:  # submissions could learn a fixed order of settings where few are taken
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
            endless = self._find_endless(attempt, case, late, self._spent - before)
            if endless is None:
                self._note_too_large(case, str(late))
                return
            self.case, self.failure = case, endless
            self._failed += 1
        except (*BEYOND_LIMITS, NotRun) as why:
            self._note_too_large(case, str(why))
            return
        except ProbeFailure as failure:
            self._failed += 1
            if self.failure is None:
                self.case, self.failure = case, failure
        self._tried += 1
        if self._spent > SECONDS * self._tried / self._planned + AHEAD:
            self._note_too_large(
                case, f"{self._tried} drawn cases take {self._spent:.0f} s of processor time, the last one"
            )

    @property
    def _spent(self) -> float:
        return self._answer.processor_seconds - self._start

    def _find_endless(
        self, attempt: Callable[[Case], Mapping[str, Figure]], case: Case, late: CallTimedOut, taken: float
    ) -> CallTimedOut | None:
        """Return the fault of a timeout; None if the case may be slow or an earlier one failed."""
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
                seen = f"{_format_sizes(case)}: {late.detail}; {_format_sizes(neighbour)} takes {min(times):.2g} s"
                return CallTimedOut(late.title, seen)
        return None

    def _note_too_large(self, case: Case, reason: str) -> None:
        self._most = self._drawn.cost_of(case) / 2
        if not self.unreached:
            self.unreached, self.reason = _format_sizes(case), reason


def _format_sizes(case: Case) -> str:
    return ", ".join(f"{name} = {value}" for name, value in case.items() if name != DRAW)


def merge(figures: dict[str, Figure], new: Mapping[str, Figure]) -> None:
    """Add figures; of two with one name the larger."""
    for name, value in new.items():
        old = figures.get(name)
        larger = isinstance(old, (int, float)) and isinstance(value, (int, float)) and old > value
        figures[name] = old if larger and old is not None else value
