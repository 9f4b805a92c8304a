"""Answers and tamperings that do no work, but return values of the right form."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from harness.mutation.checks.tampering import Place, Tampering, Values
from harness.probing.answers import Cost
from harness.sandbox import Array, InputUse, Keep, Plan, RemoteObject, Scalar, ServedFunction, ServedUse, Tree


class NullAnswer:
    """An answer of zeros, a constant or a copy of an input, in the right form."""

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
        """Return True."""
        return True

    def call(
        self,
        function: str,
        *args: Any,
        returns: Plan,
        seconds: float | None = None,
        hold: bool = False,
        echo: bool = False,
        inputs: InputUse = InputUse.FRESH,
        module: str = "submission",
        **kwargs: Any,
    ) -> Any:
        """Return a value of the right form."""
        self.echo = tuple(a.copy() for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray))
        self.served = {a.name: ServedUse() for a in (*args, *kwargs.values()) if isinstance(a, ServedFunction)}
        value = self._make(returns, args)
        return (value, RemoteObject(next(self._ids))) if hold else value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """Return a value of the right form."""
        return self._make(returns, ())

    def load(self, name: str, source: str) -> None:
        """Do nothing."""

    def fresh(self) -> None:
        """Do nothing."""

    def forget(self) -> None:
        """Do nothing."""

    def resident_bytes(self) -> int:
        """Return a constant."""
        return 32 << 20

    def _make(self, plan: Plan, args: Sequence[Any]) -> Any:
        if isinstance(plan, tuple):
            return tuple(self._make(item, args) for item in plan)
        if isinstance(plan, Keep):
            return RemoteObject(next(self._ids))
        if isinstance(plan, Array):
            return self._make_array(plan, args)
        if isinstance(plan, Scalar):
            return plan.kind(self.kind != "zeros")
        return {} if isinstance(plan, Tree) else None

    def _make_array(self, plan: Array, args: Sequence[Any]) -> Any:
        given = [a for a in args if isinstance(a, np.ndarray)]
        return _make_worthless(self.kind, plan.shape, np.dtype(plan.dtype), given)


class NullValues(Tampering):
    """Zeros, a constant or a copy of an input in place of results and written buffers."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.inputs: Sequence[Values] = ()

    def note_call(self, given: Sequence[Values]) -> None:
        """See `Tampering.note_call`."""
        self.inputs = given

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        return _make_worthless(self.kind, values.shape, values.dtype, self.inputs)


def _make_worthless(kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], given: Sequence[Values]) -> Values:
    given = [a for a in given if a.size]
    if kind == "copy of the input" and given:
        fitting = min(given, key=lambda a: (a.dtype.kind != dtype.kind, a.shape != shape))
        with np.errstate(invalid="ignore"):  # NaN and infinities become integers too
            return np.resize(fitting, shape).astype(dtype)
    constant = 0.5 if dtype.kind == "f" else 1
    return np.full(shape, 0 if kind == "zeros" else constant, dtype)
