"""Tampering with right answers: the reference runs, and its results lose what makes them right.

Tampering changes arguments, results, and buffers written by the driver's `launch`: arrays of floats, integers or
booleans. In plain data without arrays it changes the numbers, as one array. Handles, refusals, codes of launches and
device reports pass unchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import rms
from harness.probing.answers import Answer
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Plan, RemoteObject, Scalar, Tree

Values = NDArray[Any]
Place = tuple[Any, ...]
"""Place of a result: the function, the shapes of its arguments, and the index of the result."""


class Tampering:
    """A change to the arrays of a right answer; the base class changes nothing.

    Attributes:
        applied: true once an array or number has changed.
    """

    applied = False
    of_plain_numbers = True
    """True if it suits plain numbers, which have no type to narrow."""
    loses_digits = False
    """True if results only lose digits: a criterion of digits may then cap the grade while others pay."""

    def note_call(self, given: Sequence[Values]) -> None:
        """Note a call's arrays, or its numbers without any, before `change_result`."""

    def change_argument(self, values: Values) -> Values:
        """Return the replacement of an array argument."""
        return values

    def change_result(self, values: Values, place: Place) -> Values:
        """Return the replacement of a right result, of the same shape and dtype."""
        return values

    def forget(self) -> None:
        """Forget earlier calls, as a new process does."""


class MeanValues(Tampering):
    """The mean of all numbers, rounded for integers and booleans."""

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        finite = values[np.isfinite(values)].astype(np.longdouble)
        if not finite.size:
            return values
        mean = finite.mean()
        return np.full_like(values, mean if values.dtype.kind == "f" else np.rint(mean))


class RandomValues(Tampering):
    """Normal floats of the same RMS; uniform integers and booleans of the same range."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return values
        if values.dtype.kind == "f":
            return np.asarray(rms(finite) * self.rng.standard_normal(values.shape), values.dtype)
        # from at most 0 to at least 1, so that even equal entries change
        low, high = min(int(finite.min()), 0), max(int(finite.max()), 1)
        return np.asarray(self.rng.integers(low, high, values.shape, values.dtype, endpoint=True))


class NarrowedValues(Tampering):
    """Floats passed through a narrower type on their way in and out."""

    of_plain_numbers = False
    loses_digits = True

    def __init__(self, narrow: str) -> None:
        self.narrow = np.dtype(narrow)

    def change_argument(self, values: Values) -> Values:
        """See `Tampering.change_argument`."""
        if values.dtype.kind != "f" or values.dtype.itemsize <= self.narrow.itemsize:
            return values
        with np.errstate(over="ignore"):
            return values.astype(self.narrow).astype(values.dtype)

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        return self.change_argument(values)


class PreviousValues(Tampering):
    """The previous result of the same function and shapes."""

    applied = True
    """Always true: the probes must make the calls whose results change."""

    def __init__(self) -> None:
        self.memory: dict[Place, Values] = {}

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        before, self.memory[place] = self.memory.get(place, values), values
        return np.resize(before, values.shape)

    def forget(self) -> None:
        """See `Tampering.forget`."""
        self.memory.clear()


class ValuesByShape(PreviousValues):
    """The first result of the same function and shapes."""

    def change_result(self, values: Values, place: Place) -> Values:
        """See `Tampering.change_result`."""
        return np.resize(self.memory.setdefault(place, values), values.shape)


TAMPERINGS: Mapping[str, Callable[[], Tampering]] = {
    "mean of the right values": MeanValues,
    "noise of the right size": RandomValues,
    "float16 inside": partial(NarrowedValues, "float16"),
    "float32 inside float64": partial(NarrowedValues, "float32"),
    "an earlier output replayed": PreviousValues,
    "a cache keyed by shape": ValuesByShape,
}


class TamperedAnswer(AnswerWrapper):
    """A right answer with tampering in every call."""

    def __init__(self, answer: Answer, tampering: Tampering) -> None:
        super().__init__(answer)
        self.tampering = tampering

    def call(self, function: str, *args: Any, returns: Plan, module: str = "submission", **options: Any) -> Any:
        """See `Answer.call`; calls of the harness's own modules stay unchanged."""
        if module != "submission":
            return super().call(function, *args, returns=returns, module=module, **options)
        place = (function, _make_shape_key(args), _make_shape_key(list(_iter_arrays(options))))
        sent = _map_arrays(args, self._change_argument)
        named = _map_arrays(options, self._change_argument)
        value = super().call(function, *sent, returns=returns, **named)
        given, went = _iter_arrays((args, options)), _iter_arrays((sent, named))
        self.echo = tuple(map(_restore, given, went, self.answer.echo))
        if function == "launch":
            return self._tamper_launch(value, args, _list_buffers(sent), place)
        self.tampering.note_call(list(_iter_arrays((args, options))) or [np.array(list(_iter_numbers(args)))])
        if isinstance(returns, Tree | Scalar) and not any(True for _ in _iter_arrays(value)):
            return self._tamper_plain(value, place)
        return self._tamper_result(value, place)

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        return self._tamper_result(super().fetch(kept, returns), ("an object kept", kept.id))

    def fresh(self) -> None:
        """See `Answer.fresh`; the tampering forgets earlier calls."""
        self.tampering.forget()
        super().fresh()

    def _change_argument(self, values: Values) -> Values:
        return self._note_change(values, self.tampering.change_argument(values))

    def _change_result(self, values: Values, place: Place) -> Values:
        return self._note_change(values, self.tampering.change_result(values, place))

    def _note_change(self, values: Values, changed: Values) -> Values:
        if not self.tampering.applied:
            self.tampering.applied = bool((_view_bits(changed) != _view_bits(values)).any())
        return changed

    def _tamper_result(self, value: Any, place: Place) -> Any:
        numbers = count()
        return _map_arrays(value, lambda values: self._change_result(values, (*place, next(numbers))))

    def _tamper_plain(self, value: Any, place: Place) -> Any:
        """Change the numbers of plain data as one array; integers stay integers."""
        numbers = np.array(list(_iter_numbers(value)))
        if not self.tampering.of_plain_numbers or not numbers.size:
            return value
        numbers = numbers.astype(np.float64) if numbers.dtype.kind not in "biuf" else numbers
        changed = self._change_result(numbers, place)
        return value if np.array_equal(changed, numbers) else _renumber(value, iter(changed.tolist()))

    def _tamper_launch(self, value: Any, args: Sequence[Any], sent: Sequence[Values], place: Place) -> Any:
        code, *buffers, report = value
        changed, given = [], _list_buffers(args)
        self.tampering.note_call(_list_inputs(args, sent, buffers))
        for number, (before, went, after) in enumerate(zip(given, sent, buffers, strict=True)):
            written = _view_bits(after) != _view_bits(went)
            back = _restore(before, went, after)
            back[written] = self._change_result(after[written], (*place, number))
            changed.append(back)
        return (code, *changed, report)


def _map_arrays(value: Any, change: Callable[[Values], Values]) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_arrays(item, change) for key, item in value.items()}
    return type(value)(_map_arrays(item, change) for item in value) if type(value) in (list, tuple) else value


def _iter_arrays(value: Any) -> Iterator[Values]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_arrays(item)


def _iter_numbers(value: Any) -> Iterator[float]:
    if type(value) in (bool, int, float):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _iter_numbers(item)


def _renumber(value: Any, numbers: Iterator[float]) -> Any:
    if type(value) in (bool, int, float):
        number = next(numbers)
        return type(value)(round(number)) if type(value) is not float and np.isfinite(number) else number
    if isinstance(value, dict):
        return {key: _renumber(item, numbers) for key, item in value.items()}
    return type(value)(_renumber(item, numbers) for item in value) if type(value) in (list, tuple) else value


def _make_shape_key(value: Any) -> Any:
    """Return the key of a cache by shape: shapes and dtypes of arrays, integers and strings.

    In a launch it is that of a cache by address: buffers of equal sizes keep their addresses unless moved.
    """
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str
    if isinstance(value, dict):
        return tuple((key, _make_shape_key(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_make_shape_key, value))
    return value if isinstance(value, (int, str)) else None


def _list_buffers(args: Sequence[Any]) -> list[Values]:
    _, arguments = args
    return [item["buffer"] for item in arguments if isinstance(item, dict) and item.get("back")]


def _list_inputs(args: Sequence[Any], sent: Sequence[Values], after: Sequence[Values]) -> list[Values]:
    """Return the contents of unwritten buffers of a launch, from the contract's pointers on."""
    places = (item["shift"] for item in args[1] if isinstance(item, dict) and item.get("back"))
    ends = zip(places, _list_buffers(args), sent, after, strict=True)
    return [b[at // b.itemsize :] for at, b, went, now in ends if np.array_equal(_view_bits(went), _view_bits(now))]


def _restore(given: Values, sent: Values, after: Values) -> Values:
    return np.where(_view_bits(after) == _view_bits(sent), given, after)


def _view_bits(values: Values) -> Values:
    return values.view(f"u{values.dtype.itemsize}")
