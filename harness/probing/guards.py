"""Guards: conditions under which a generated fault acts."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from harness.languages import GuardCode, SourceChange
from harness.probing.answers import Answer
from harness.probing.draw import Draw

Driver = Callable[[Answer, Draw, int], None]
"""Function called as `driver(answer, draw, t)`: meets the guard of threshold t by legal calls alone, and raises
`ProbeFailure` for a result out of the challenge's bound."""


@dataclass(frozen=True)
class Guard:
    """A condition whose expressions may contain the threshold as `{t}`.

    Attributes:
        call: expression over the arguments of the contract's running function and the names from `Guards.names`.
        place: expression over the place of the changed code within the call; see the language.
        element: expression over the elements of the changed array, if the language has this.
        high: largest threshold; 0 for a guard without one.
        needs: word, such as an option's name, without which no accepted call meets the guard.
    """

    name: str
    driver: Driver
    call: str = ""
    place: str = ""
    element: str = ""
    low: int = 1
    high: int = 0
    needs: str = ""

    def fits(self, source: str, change: SourceChange) -> bool:
        """Return whether an input may meet the guard at a change."""
        if self.needs and not re.search(rf"\b{self.needs}\b", source):
            return False
        return (change.array or not self.element) and (change.repeats or not self.place)

    @property
    def thresholded(self) -> bool:
        """True if the guard has a threshold."""
        return self.high > 0

    def threshold(self, rng: random.Random) -> int:
        """Draw a threshold from low..high, log-uniformly; return 0 without one."""
        if not self.thresholded:
            return 0
        drawn = self.low * math.exp(rng.random() * math.log(self.high / self.low))
        return min(self.high, max(self.low, round(drawn)))


@dataclass(frozen=True)
class Guards:
    """The guards of a challenge, and its settings for generated faults.

    Attributes:
        guards: conditions; the first one is empty.
        names: source of functions with the names and arguments of the contract's, which return further names for
            `Guard.call`; the language defines its form.
        spared: functions of right answers in which no fault is planted.
        unasked: probed criteria that kill no fault, because they measure time, which guards cost.
    """

    guards: tuple[Guard, ...]
    names: str = ""
    spared: frozenset[str] = field(default_factory=frozenset)
    unasked: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def by_name(self) -> dict[str, Guard]:
        """Guards by name."""
        return {guard.name: guard for guard in self.guards}

    def code(self, guard: Guard, threshold: str, functions: tuple[str, ...]) -> GuardCode:
        """Return the code that the language plants; `threshold` is an expression of the language."""
        call, place, element = (p.replace("{t}", threshold) for p in (guard.call, guard.place, guard.element))
        return GuardCode(call, place, element, self.names, functions)
