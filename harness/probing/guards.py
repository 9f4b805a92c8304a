"""Guards: the conditions under which a fault made by machine acts, as a challenge states them."""

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
"""Called as `driver(answer, draw, t)`: meets the guard of threshold t by legal calls alone, and raises `ProbeFailure`
where a result is out of the challenge's bound."""


@dataclass(frozen=True)
class Guard:
    """A condition under which a planted fault acts. Its expressions may name the threshold as `{t}`.

    Attributes:
        name: as tables have it.
        driver: meets it and judges what comes back.
        call: over the arguments of the call of the contract that runs, and what the challenge's names add.
        place: over where in the call the changed code runs; see the language.
        element: over the elements of the array that the changed expression gives, where the language has this.
        low: least threshold.
        high: largest threshold, drawn log-uniformly; 0 for a guard without one.
        needs: a word without which no answer takes a call that meets it, as the name of an option.
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
        """Whether any input may meet it at a change of a source."""
        if self.needs and not re.search(rf"\b{self.needs}\b", source):
            return False
        return (change.array or not self.element) and (change.repeats or not self.place)

    @property
    def thresholded(self) -> bool:
        """Whether it has a threshold."""
        return self.high > 0

    def threshold(self, rng: random.Random) -> int:
        """A threshold of low..high, log-uniform; 0 without one."""
        if not self.thresholded:
            return 0
        drawn = self.low * math.exp(rng.random() * math.log(self.high / self.low))
        return min(self.high, max(self.low, round(drawn)))


@dataclass(frozen=True)
class Guards:
    """What a challenge says about faults made by machine.

    Attributes:
        guards: the conditions they act under; the first is none.
        names: source of the functions, called as those of the contract and with their arguments, that give the names
            `Guard.call` may use. The language says how it is read.
        spared: functions of the reference and its variants in which no fault is planted.
        unasked: probed criteria that kill no fault: they measure time, which the guards themselves take.
    """

    guards: tuple[Guard, ...]
    names: str = ""
    spared: frozenset[str] = field(default_factory=frozenset)
    unasked: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def by_name(self) -> dict[str, Guard]:
        """The guards by name."""
        return {guard.name: guard for guard in self.guards}

    def code(self, guard: Guard, threshold: str, functions: tuple[str, ...]) -> GuardCode:
        """What the language plants for a guard.

        Args:
            guard: which.
            threshold: an expression of the language.
            functions: of the contract.
        """
        call, place, element = (p.replace("{t}", threshold) for p in (guard.call, guard.place, guard.element))
        return GuardCode(call, place, element, self.names, functions)
