"""Whether an answer says the same to the same questions: a probe's calls made twice, each time in a new process."""

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.box import Kept, Plan, Signal, SignalKind
from harness.probing.answers import Answer, Cost
from harness.probing.probe import Probe, once
from harness.probing.refuted import Refuted


class Recorded:
    """Passes everything on to an answer, and keeps what comes back from its calls."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.capabilities: Mapping[str, Any] = answer.capabilities
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.came: list[tuple[str, object]] = []

    def has(self, function: str) -> bool:
        """As `Answer.has`."""
        return self._answer.has(function)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As `Answer.call`."""
        try:
            value = self._answer.call(function, *args, returns=returns, **options)
        except Refuted as refuted:
            self.came.append((function, refuted.title))
            raise
        self.cost, self.echo = self._answer.cost, self._answer.echo
        self.came.append((function, _plain(value)))
        return value

    def fetch(self, kept: Kept, returns: Plan) -> Any:
        """As `Answer.fetch`."""
        return self._answer.fetch(kept, returns)

    def load(self, name: str, source: str) -> None:
        """As `Answer.load`."""
        self._answer.load(name, source)

    def fresh(self) -> None:
        """As `Answer.fresh`."""
        self._answer.fresh()

    def forget(self) -> None:
        """As `Answer.forget`."""
        self._answer.forget()

    def resident_bytes(self) -> int:
        """As `Answer.resident_bytes`."""
        return self._answer.resident_bytes()


def unsteady(answer: Answer, probe: Probe, seed: int) -> Signal | None:
    """What differed between two runs of a probe's first case on the same inputs; None when nothing did.

    Args:
        answer: whom to ask.
        probe: whose calls to make; what it finds does not matter here.
        seed: of the inputs.
    """
    first, second = (_asked(answer, probe, seed) for _ in range(2))
    for (function, one), (again, other) in zip(first, second, strict=False):
        if function != again or one != other:
            return Signal(SignalKind.UNSTEADY, f"`{function}` on the same inputs, each time in a new process")
    return None


def _asked(answer: Answer, probe: Probe, seed: int) -> list[tuple[str, object]]:
    recorded = Recorded(answer)
    answer.fresh()
    with contextlib.suppress(Refuted):  # a wrong answer can be a steady one
        once(probe, recorded, seed, probe.cases[0])
    return recorded.came


def _plain(value: Any) -> object:
    """A value that compares by content, every bit of an array included; what stays in the worker counts as equal."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return tuple((key, _plain(item)) for key, item in value.items())
    return None if isinstance(value, Kept) else repr(value)
