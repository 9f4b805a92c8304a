"""Calls that a criterion is judged without: those under a condition, and those that our adapter does not serve."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.probing.answers import Answer
from harness.probing.failures import ArgumentsRejected, NotOffered, ProbeFailure, Spared
from harness.probing.wrapper import AnswerWrapper
from harness.sandbox import Plan

T = TypeVar("T")
Sizes = Callable[[int, int], bool]
"""Whether a length and a tile size meet a condition."""
EDGES: Mapping[str, Sizes] = {
    "the tile size is 1": lambda N, tile: tile == 1,
    "the last of several tiles has one row": lambda N, tile: 1 < tile < N and N % tile == 1,
    "a tile has one row": lambda N, tile: min(N, tile) == 1 or N % tile == 1,
    "the last of several tiles is not full": lambda N, tile: tile < N and N % tile > 0,
    "the tile size is larger than N": lambda N, tile: tile > N,
    "a tile is not full": lambda N, tile: N % tile > 0,
}
"""Conditions of N rows in tiles that plain inputs, of several full tiles, do not meet; the narrowest first."""
TILES: Mapping[str, Sizes] = {
    **EDGES,
    "there are several tiles, all full": lambda N, tile: tile < N and N % tile == 0,
    "there are several tiles": lambda N, tile: tile < N,
}
"""All conditions of N rows in tiles."""


@dataclass(frozen=True)
class Condition:
    """A condition of a call, such as a size, under which an answer may fail whatever else is asked of it.

    Attributes:
        name: completes the sentence "it fails where ...".
        criterion: which is charged with it.
        met: whether a call meets it, by the function's name and the arguments.
        never: criteria that it does not explain, such as those of calls that must be refused.
        mode: whether it is a mode: where each call in it fails, all else is judged by the calls outside it.
        lacking: whether it counts only where each call in it fails.
        of_keywords: whether a call meets it by the function's name and the arguments passed by keyword.
        served: called with each call that the answer took, of a condition that depends on those before.
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
    """Return the conditions that arrays are of one dtype, for answers that serve only the other, charged as `dtype`.

    Args:
        at: the argument whose dtype counts.
    """

    def of(dtype: str) -> Callable[[str, Sequence[Any]], bool]:
        return lambda function, args: getattr(args[at], "dtype", None) == dtype

    return tuple(
        Condition(f"inputs are {dtype}", "dtype", of(dtype), mode=True, lacking=True)
        for dtype in ("float64", "float32")
    )


class SparingAnswer(AnswerWrapper):
    """An answer that is not called under conditions: a case that would is left out.

    Attributes:
        conditions: which.
    """

    def __init__(self, answer: Answer, conditions: Sequence[Condition]) -> None:
        super().__init__(answer)
        self.conditions = conditions

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As the answer.

        Raises:
            Spared: the call meets one of the conditions.
        """
        for condition in self.conditions:
            if condition.met(function, args) or condition.of_keywords(function, options):
                raise Spared
        value = super().call(function, *args, returns=returns, **options)
        for condition in self.conditions:
            condition.served(function, args)
        return value


class PartlyServedAnswer(AnswerWrapper):
    """An answer judged by what an adapter of ours serves: a case that calls for more is left out.

    A function that was never served does not count as one of the answer's, so that a probe can judge the rest.

    Attributes:
        adapters: files of the harness's own: what only their lines raise, they do not serve.
        refused: what such a call said first, by function.
    """

    def __init__(self, answer: Answer, adapters: Collection[str]) -> None:
        super().__init__(answer)
        self.adapters, self.refused = adapters, dict[str, str]()
        self._returned, self._unserved = set[str](), False

    @property
    def verb(self) -> str:
        """Say what the adapter does with the calls left out: ValueError is an answer to a call, and refuses it."""
        return "refuses" if self.refused and not self._unserved else "does not serve"

    @property
    def never_served(self) -> set[str]:
        """Functions of which every call was refused."""
        return self.refused.keys() - self._returned

    def has(self, function: str) -> bool:
        """Say whether the answer exposes a function, and the adapter serves it."""
        return function not in self.never_served and super().has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As the answer.

        Raises:
            Spared: only lines of the adapters raised something, and not what they passed to a function of ours.
        """
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
    """Return what each attempt brings, by name, and in words which are left out: one that is spared ends no other.

    Raises:
        Spared: all are.
    """
    brought, spared = dict[str, T](), list[str]()
    for name, attempt in attempts.items():
        try:
            brought[name] = attempt()
        except Spared:
            spared.append(name)
    if spared and not brought:
        raise Spared
    return brought, f"not tried: {'; '.join(spared)}" if spared else ""
