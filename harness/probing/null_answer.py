"""Answers that do no work: they return something of the right form, by themselves or in place of what is right."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from harness.probing.answers import Cost
from harness.probing.tampering import Place, Tampering, Values
from harness.sandbox import Array, InputUse, Keep, Plan, RemoteObject, Scalar, ServedFunction, ServedUse, Tree


class NullAnswer:
    """Answers every call in the right form without doing the work: zeros, a constant, or a copy of an input."""

    processor_seconds = 0.0
    KINDS = ("zeros", "constant", "copy of the input")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.capabilities: Mapping[str, Any] = {}
        self.literals: Collection[int] = ()
        self.cost = Cost(1e-6, 1e-6)
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}
        self._ids = itertools.count(1)

    def has(self, function: str) -> bool:
        """Everything is there."""
        return True

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, inputs: InputUse = InputUse.FRESH, module: str = "submission", **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Something of the right form."""
        self.echo = tuple(a.copy() for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray))
        self.served = {a.name: ServedUse() for a in (*args, *kwargs.values()) if isinstance(a, ServedFunction)}
        value = self._make(returns, args)
        return (value, RemoteObject(next(self._ids))) if hold else value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """Something of the right form."""
        return self._make(returns, ())

    def load(self, name: str, source: str) -> None:
        """Nothing."""

    def fresh(self) -> None:
        """Nothing."""

    def forget(self) -> None:
        """Nothing."""

    def resident_bytes(self) -> int:
        """A constant."""
        return 32 << 20

    def _make(self, plan: Plan, args: Sequence[Any]) -> Any:
        if isinstance(plan, tuple):
            return tuple(self._make(item, args) for item in plan)
        if isinstance(plan, Keep):
            return RemoteObject(next(self._ids))
        if isinstance(plan, Array):
            return self._array(plan, args)
        if isinstance(plan, Scalar):
            return plan.kind(self.kind != "zeros")
        return {} if isinstance(plan, Tree) else None

    def _array(self, plan: Array, args: Sequence[Any]) -> Any:
        given = [a for a in args if isinstance(a, np.ndarray)]
        return _worthless(self.kind, plan.shape, np.dtype(plan.dtype), given)


class NullValues(Tampering):
    """What an answer returns, or its kernels write, becomes zeros, a constant, or a copy of what it was given."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.inputs: Sequence[Values] = ()

    def called(self, given: Sequence[Values]) -> None:
        """As `Tampering.called`."""
        self.inputs = given

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
        return _worthless(self.kind, values.shape, values.dtype, self.inputs)


def _worthless(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], given: Sequence[Values]) -> Values:
    """Return an array of the right form: zeros, a constant, or a copy of what fits best of what was given."""
    given = [a for a in given if a.size]
    if kind == "copy of the input" and given:
        fitting = min(given, key=lambda a: (a.dtype.kind != dtype.kind, a.shape != shape))
        with np.errstate(invalid="ignore"):  # of NaN and infinities integers are made as well
            return np.resize(fitting, shape).astype(dtype)
    constant = 0.5 if dtype.kind == "f" else 1
    return np.full(shape, 0 if kind == "zeros" else constant, dtype)
