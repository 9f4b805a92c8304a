"""An answer around another one: passes everything on."""

from collections.abc import Collection, Mapping
from typing import Any

from harness.probing.answers import Answer, Cost, SandboxedAnswer
from harness.sandbox import Plan, RemoteObject, ServedUse


class AnswerWrapper:
    """Base of answers that stand in front of another one; a subclass overrides what it changes.

    Attributes:
        answer: the one behind.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.capabilities: Mapping[str, Any] = answer.capabilities
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}

    @property
    def literals(self) -> Collection[int]:
        """As the answer."""
        return self.answer.literals

    @property
    def processor_seconds(self) -> float:
        """As the answer."""
        return self.answer.processor_seconds

    def has(self, function: str) -> bool:
        """As the answer."""
        return self.answer.has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As the answer, with its cost, its echo and its use of functions."""
        try:
            return self.answer.call(function, *args, returns=returns, **options)
        finally:
            self.cost, self.echo, self.served = self.answer.cost, self.answer.echo, self.answer.served

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """As the answer."""
        return self.answer.fetch(kept, returns)

    def load(self, name: str, source: str) -> None:
        """As the answer."""
        self.answer.load(name, source)

    def fresh(self) -> None:
        """As the answer."""
        self.answer.fresh()

    def forget(self) -> None:
        """As the answer."""
        self.answer.forget()

    def resident_bytes(self) -> int:
        """As the answer."""
        return self.answer.resident_bytes()


def boxed(answer: Answer) -> SandboxedAnswer | None:
    """Return the answer in a box that stands behind every wrapper, or None if there is none."""
    while isinstance(answer, AnswerWrapper):
        answer = answer.answer
    return answer if isinstance(answer, SandboxedAnswer) else None
