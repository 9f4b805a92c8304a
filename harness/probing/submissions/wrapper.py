"""A base class for answers around another one."""

from collections.abc import Collection, Mapping
from typing import Any

from harness.probing.answers import Answer, Cost, SandboxedAnswer
from harness.sandbox import Plan, RemoteObject, ServedUse


class AnswerWrapper:
    """A wrapper that passes calls on to another answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.capabilities: Mapping[str, Any] = answer.capabilities
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}

    @property
    def literals(self) -> Collection[int]:
        """See `Answer.literals`."""
        return self.answer.literals

    @property
    def processor_seconds(self) -> float:
        """See `Answer.processor_seconds`."""
        return self.answer.processor_seconds

    def has(self, function: str) -> bool:
        """See `Answer.has`."""
        return self.answer.has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        try:
            return self.answer.call(function, *args, returns=returns, **options)
        finally:
            self.cost, self.echo, self.served = self.answer.cost, self.answer.echo, self.answer.served

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        return self.answer.fetch(kept, returns)

    def load(self, name: str, source: str) -> None:
        """See `Answer.load`."""
        self.answer.load(name, source)

    def fresh(self) -> None:
        """See `Answer.fresh`."""
        self.answer.fresh()

    def forget(self) -> None:
        """See `Answer.forget`."""
        self.answer.forget()

    def resident_bytes(self) -> int:
        """See `Answer.resident_bytes`."""
        return self.answer.resident_bytes()


def unwrap(answer: Answer) -> SandboxedAnswer | None:
    """Return the sandboxed answer behind all wrappers, or None."""
    while isinstance(answer, AnswerWrapper):
        answer = answer.answer
    return answer if isinstance(answer, SandboxedAnswer) else None
