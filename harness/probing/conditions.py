"""Calls that judging leaves out: under a condition, or unserved by a harness adapter."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.probing.answers import Answer
from harness.probing.failures import ArgumentsRejected, NotOffered, ProbeFailure, Spared
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Plan

T = TypeVar("T")
Sizes = Callable[[int, int], bool]
"""Test of a length and a tile size."""
EDGES: Mapping[str, Sizes] = {
    "the tile size is 1": lambda N, tile: tile == 1,
    "the last of several tiles has one row": lambda N, tile: 1 < tile < N and N % tile == 1,
    "a tile has one row": lambda N, tile: min(N, tile) == 1 or N % tile == 1,
    "the last of several tiles is not full": lambda N, tile: tile < N and N % tile > 0,
    "the tile size is larger than N": lambda N, tile: tile > N,
    "a tile is not full": lambda N, tile: N % tile > 0,
}
"""Conditions of N rows in tiles that plain inputs, with several full tiles, do not meet; narrowest first."""
TILES: Mapping[str, Sizes] = {
    **EDGES,
    "there are several tiles, all full": lambda N, tile: tile < N and N % tile == 0,
    "there are several tiles": lambda N, tile: tile < N,
}
"""All conditions of N rows in tiles."""


@dataclass(frozen=True)
class Condition:
    """A condition of a call, such as a size, that may make a submission fail whatever is tested.

    Attributes:
        name: completion of the sentence "it fails where ...".
        criterion: the charged criterion.
        met, of_keywords: tests of a function's name and its positional or keyword arguments.
        never: criteria that it does not explain, such as those of calls that must be refused.
        mode: true for a mode; if each call in it fails, calls outside it decide the rest.
        lacking: true to count only if each call in it fails.
        served: callback after each success, for conditions on earlier calls.
    """

    name: str
    criterion: str
    met: Callable[[str, Sequence[Any]], bool]
    never: Collection[str] = ()
    mode: bool = False
    lacking: bool = False
    of_keywords: Callable[[str, Mapping[str, Any]], bool] = lambda function, keywords: False
    served: Callable[[str, Sequence[Any]], None] = lambda function, args: None


def missing_dtypes(at: int = 0) -> tuple[Condition, ...]:
    """Return conditions for submissions that serve only float32 or float64, by argument `at`."""

    def of(dtype: str) -> Callable[[str, Sequence[Any]], bool]:
        return lambda function, args: getattr(args[at], "dtype", None) == dtype

    return tuple(
        Condition(f"inputs are {dtype}", "dtype", of(dtype), mode=True, lacking=True)
        for dtype in ("float64", "float32")
    )


class SparingAnswer(AnswerWrapper):
    """An answer that spares calls under given conditions."""

    def __init__(self, answer: Answer, conditions: Sequence[Condition]) -> None:
        super().__init__(answer)
        self.conditions = conditions

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        for condition in self.conditions:
            if condition.met(function, args) or condition.of_keywords(function, options):
                raise Spared
        value = super().call(function, *args, returns=returns, **options)
        for condition in self.conditions:
            condition.served(function, args)
        return value


class PartlyServedAnswer(AnswerWrapper):
    """An answer that spares calls which its harness adapter does not serve.

    A function that was never served counts as missing, so that a probe can judge the rest.

    Attributes:
        adapters: files of the harness; an exception from their lines alone marks an unserved call.
        refused: message of the first refusal, by function.
    """

    def __init__(self, answer: Answer, adapters: Collection[str]) -> None:
        super().__init__(answer)
        self.adapters, self.refused = adapters, dict[str, str]()
        self._returned, self._unserved = set[str](), False

    @property
    def verb(self) -> str:
        """Verb for spared calls, of which only a ValueError refuses."""
        return "refuses" if self.refused and not self._unserved else "does not serve"

    @property
    def never_served(self) -> set[str]:
        """Functions whose every call was refused."""
        return self.refused.keys() - self._returned

    def has(self, function: str) -> bool:
        """See `Answer.has`."""
        return function not in self.never_served and super().has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        try:
            value = super().call(function, *args, returns=returns, **options)
        except ProbeFailure as failure:
            theirs = any(place.file not in self.adapters for place in failure.locations)
            if failure.where or theirs or not failure.locations:
                raise
            self.refused.setdefault(function, failure.detail)
            self._unserved |= isinstance(failure, NotOffered) or not isinstance(failure, ArgumentsRejected)
            raise Spared from None
        self._returned.add(function)
        return value


def judge_each(attempts: Mapping[str, Callable[[], T]]) -> tuple[dict[str, T], str]:
    """Return the results by name, with a note on spared attempts; raise `Spared` if all are."""
    brought, spared = dict[str, T](), list[str]()
    for name, attempt in attempts.items():
        try:
            brought[name] = attempt()
        except Spared:
            spared.append(name)
    if spared and not brought:
        raise Spared
    return brought, f"not tried: {'; '.join(spared)}" if spared else ""
