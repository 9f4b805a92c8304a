"""Conditions of a call that may be the cause of many failures, and an answer that is never called under one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.probing.answers import Answer
from harness.probing.failures import Spared
from harness.probing.wrapper import AnswerWrapper
from harness.sandbox import Plan


@dataclass(frozen=True)
class Condition:
    """A condition of a call, such as a size, under which an answer may fail whatever else is asked of it.

    Attributes:
        name: completes the sentence "it fails where ...".
        criterion: which is charged with it.
        met: whether a call meets it, by the function's name and the arguments.
    """

    name: str
    criterion: str
    met: Callable[[str, Sequence[Any]], bool]


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
