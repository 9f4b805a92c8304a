"""Right answers tampered with: the reference runs, and what makes its results right is taken away.

What tampering touches are the arrays of a call, of floats, integers or booleans: those given, those returned, and those
that the driver's `launch` wrote to; and the numbers of plain data that holds no array, all of them as one. What else
crosses (handles, refusals, what a launch returns, the device's report) passes as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import rms
from harness.probing.answers import Answer
from harness.probing.wrapper import AnswerWrapper
from harness.sandbox import Plan, RemoteObject, Scalar, Tree

Values = NDArray[Any]
Place = tuple[Any, ...]
"""Where a result stands: the function, the shapes it was called with, and which of the results it is."""


class Tampering:
    """What is done to the arrays of a right answer; as it stands, nothing.

    Attributes:
        applied: whether there was anything that it could take away: it changed some array or number.
    """

    applied = False
    of_plain_numbers = True
    """Whether it says something of numbers in no array, which have no type that could be wider."""
    loses_digits = False
    """Whether results only lose digits: a criterion of digits may be the one that gates, and others may pay."""

    def called(self, given: Sequence[Values]) -> None:
        """Learn what a call was given before `returned` is asked: its arrays, or its numbers where it has none."""

    def given(self, values: Values) -> Values:
        """What an array given becomes before the call."""
        return values

    def returned(self, values: Values, place: Place) -> Values:
        """What a right result becomes after it, in its shape and dtype."""
        return values

    def forget(self) -> None:
        """Lose all memory of earlier calls, as a new process does."""


class MeanValues(Tampering):
    """Numbers become their mean, in integers and booleans the nearest whole one."""

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
        finite = values[np.isfinite(values)].astype(np.longdouble)
        if not finite.size:
            return values
        mean = finite.mean()
        return np.full_like(values, mean if values.dtype.kind == "f" else np.rint(mean))


class RandomValues(Tampering):
    """Floats become normal ones of the same root mean square; integers and booleans even ones of the same range."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
        finite = values[np.isfinite(values)]
        if not finite.size:
            return values
        if values.dtype.kind == "f":
            return np.asarray(rms(finite) * self.rng.standard_normal(values.shape), values.dtype)
        # from 0 at most to 1 at least: even equal entries become others
        low, high = min(int(finite.min()), 0), max(int(finite.max()), 1)
        return np.asarray(self.rng.integers(low, high, values.shape, values.dtype, endpoint=True))


class NarrowedValues(Tampering):
    """Real numbers pass through a narrower type on their way in and out."""

    of_plain_numbers = False
    loses_digits = True

    def __init__(self, narrow: str) -> None:
        self.narrow = np.dtype(narrow)

    def given(self, values: Values) -> Values:
        """As `Tampering.given`."""
        if values.dtype.kind != "f" or values.dtype.itemsize <= self.narrow.itemsize:
            return values
        with np.errstate(over="ignore"):
            return values.astype(self.narrow).astype(values.dtype)

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
        return self.given(values)


class PreviousValues(Tampering):
    """From the second call of a function with some shapes on, the result of the call before."""

    applied = True
    """Whatever changes: to make the calls in which it does is for the probes."""

    def __init__(self) -> None:
        self.memory: dict[Place, Values] = {}

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
        before, self.memory[place] = self.memory.get(place, values), values
        return np.resize(before, values.shape)

    def forget(self) -> None:
        """As `Tampering.forget`."""
        self.memory.clear()


class ValuesByShape(PreviousValues):
    """The first result of a function with some shapes, for ever."""

    def returned(self, values: Values, place: Place) -> Values:
        """As `Tampering.returned`."""
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
    """A right answer, each of whose calls is tampered with.

    Args:
        answer: the right one.
        tampering: what is done to its arrays.
    """

    def __init__(self, answer: Answer, tampering: Tampering) -> None:
        super().__init__(answer)
        self.tampering = tampering

    def call(self, function: str, *args: Any, returns: Plan, module: str = "submission", **options: Any) -> Any:
        """As the answer, tampered with; the harness's own modules beside it are left alone."""
        if module != "submission":
            return super().call(function, *args, returns=returns, module=module, **options)
        place = (function, _shapes(args), _shapes(list(_arrays(options))))
        sent = _mapped(args, self._given)
        named = _mapped(options, self._given)
        value = super().call(function, *sent, returns=returns, **named)
        given, went = _arrays((args, options)), _arrays((sent, named))
        self.echo = tuple(map(_restored, given, went, self.answer.echo))
        if function == "launch":
            return self._launched(value, args, _buffers(sent), place)
        self.tampering.called(list(_arrays((args, options))) or [np.array(list(_numbers(args)))])
        if isinstance(returns, Tree | Scalar) and not any(True for _ in _arrays(value)):
            return self._plain(value, place)
        return self._returned(value, place)

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """As the answer, tampered with."""
        return self._returned(super().fetch(kept, returns), ("an object kept", kept.id))

    def fresh(self) -> None:
        """As the answer; what earlier calls left behind is lost."""
        self.tampering.forget()
        super().fresh()

    def _given(self, values: Values) -> Values:
        return self._noted(values, self.tampering.given(values))

    def _changed(self, values: Values, place: Place) -> Values:
        return self._noted(values, self.tampering.returned(values, place))

    def _noted(self, values: Values, changed: Values) -> Values:
        """Return what became of an array, once it is known whether that is something else."""
        if not self.tampering.applied:
            self.tampering.applied = bool((_bits(changed) != _bits(values)).any())
        return changed

    def _returned(self, value: Any, place: Place) -> Any:
        numbers = count()
        return _mapped(value, lambda values: self._changed(values, (*place, next(numbers))))

    def _plain(self, value: Any, place: Place) -> Any:
        """Plain data without arrays: its numbers tampered with as one array; whole ones stay whole."""
        numbers = np.array(list(_numbers(value)))
        if not self.tampering.of_plain_numbers or not numbers.size:
            return value
        numbers = numbers.astype(np.float64) if numbers.dtype.kind not in "biuf" else numbers
        changed = self._changed(numbers, place)
        return value if np.array_equal(changed, numbers) else _renumbered(value, iter(changed.tolist()))

    def _launched(self, value: Any, args: Sequence[Any], sent: Sequence[Values], place: Place) -> Any:
        """The reply to a launch: its code, the buffers that came back, and the device's report."""
        code, *buffers, report = value
        changed, given = [], _buffers(args)
        self.tampering.called(_inputs(args, sent, buffers))
        for number, (before, went, after) in enumerate(zip(given, sent, buffers, strict=True)):
            written = _bits(after) != _bits(went)
            back = _restored(before, went, after)
            back[written] = self._changed(after[written], (*place, number))
            changed.append(back)
        return (code, *changed, report)


def _mapped(value: Any, change: Callable[[Values], Values]) -> Any:
    """`value` with every array in it changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return type(value)(_mapped(item, change) for item in value) if type(value) in (list, tuple) else value


def _arrays(value: Any) -> Iterator[Values]:
    """Every array in `value`, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)


def _numbers(value: Any) -> Iterator[float]:
    """Every number in lists, tuples and dicts, in order."""
    if type(value) in (bool, int, float):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


def _renumbered(value: Any, numbers: Iterator[float]) -> Any:
    """The same data with other numbers in their order."""
    if type(value) in (bool, int, float):
        number = next(numbers)
        return type(value)(round(number)) if type(value) is not float and np.isfinite(number) else number
    if isinstance(value, dict):
        return {key: _renumbered(item, numbers) for key, item in value.items()}
    return type(value)(_renumbered(item, numbers) for item in value) if type(value) in (list, tuple) else value


def _shapes(value: Any) -> Any:
    """What a cache keyed by shape sees of `value`: shapes and dtypes of arrays, and whole numbers.

    In a launch that is what one keyed by address sees: buffers of these sizes lie where they lay, but those that moved.
    """
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str
    if isinstance(value, dict):
        return tuple((key, _shapes(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_shapes, value))
    return value if isinstance(value, (int, str)) else None


def _buffers(args: Sequence[Any]) -> list[Values]:
    """The buffers of a launch that come back, in order."""
    _, arguments = args
    return [item["buffer"] for item in arguments if isinstance(item, dict) and item.get("back")]


def _inputs(args: Sequence[Any], sent: Sequence[Values], after: Sequence[Values]) -> list[Values]:
    """What the buffers of a launch that it did not write to hold, from where the contract's pointers point."""
    places = (item["shift"] for item in args[1] if isinstance(item, dict) and item.get("back"))
    ends = zip(places, _buffers(args), sent, after, strict=True)
    return [b[at // b.itemsize :] for at, b, went, now in ends if np.array_equal(_bits(went), _bits(now))]


def _restored(given: Values, sent: Values, after: Values) -> Values:
    """An array after the call, with what the call left alone as it was given: it was not written."""
    return np.where(_bits(after) == _bits(sent), given, after)


def _bits(values: Values) -> Values:
    return values.view(f"u{values.dtype.itemsize}")
