"""Conditions of a call that may be the cause of many failures, and an answer that is never called under one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.probing.answers import Answer
from harness.probing.failures import Spared
from harness.probing.wrapper import AnswerWrapper
from harness.sandbox import Plan

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
        mode: whether it is a mode: where each call in it fails, all else is judged by the calls outside it.
    """

    name: str
    criterion: str
    met: Callable[[str, Sequence[Any]], bool]
    mode: bool = False


class SparingAnswer(AnswerWrapper):
    """An answer that is not called under a condition: a case that would is left out.

    Attributes:
        condition: which.
    """

    def __init__(self, answer: Answer, condition: Condition) -> None:
        super().__init__(answer)
        self.condition = condition

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As the answer.

        Raises:
            Spared: the call meets the condition.
        """
        if self.condition.met(function, args):
            raise Spared
        return super().call(function, *args, returns=returns, **options)
