"""Properties that every function has, whatever it computes: an answer is compared with itself.

Each law is called with `run`, which calls the answer once and returns its outputs by name. A law fails only where the
property is seen broken: a wrong value breaks none of them. Outputs that are constant or copies keep all of them, so
that `run` is expected to refuse such outputs (`expect.alive`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.numerics import unequal
from harness.probing import expectations as expect
from harness.probing.answers import Answer
from harness.sandbox import InputUse, Keep, RemoteObject, Tree

Arrays = Mapping[str, NDArray[Any]]
Reply = Any
"""What a call returns: arrays by name, or plain data that compares."""
DIGITS = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2}
"""Difference of two results, over the largest entry, up to which only digits are lost: those are charged as accuracy.
An answer that computes in the next narrower type stays below it."""


class ArrayCall(Protocol):
    """One call of the answer on inputs of its own."""

    def __call__(self, *, inputs: InputUse = InputUse.FRESH) -> Reply:
        """Return the outputs by name, or plain data.

        Args:
            inputs: what becomes of the arrays that are passed.
        """


def only_digits_apart(got: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether two results of an answer differ by lost digits at most, in the dtype of the first.

    Integers, booleans, NaN and infinities have no digits to lose: they must be equal.
    """
    if got.shape != wanted.shape or got.dtype.kind != "f":
        return bool(np.array_equal(got, wanted))
    close = np.isfinite(wanted) & np.isfinite(got)
    one, other = got[close].astype(np.longdouble), wanted[close].astype(np.longdouble)
    least = DIGITS.get(got.dtype.name, 0.0) * np.abs(other).max(initial=np.longdouble(0))
    return bool((np.abs(one - other) <= least).all() and not unequal(got[~close], wanted[~close]).any())


def inputs_stay(passed: Arrays, echo: tuple[NDArray[Any], ...]) -> None:
    """Require that a call left its array arguments alone.

    Args:
        passed: the arrays by name, in the order in which they were passed.
        echo: what they were after the call (`Answer.echo`).
    """
    for (name, before), after in zip(passed.items(), echo, strict=True):
        expect.same(name, after, before, f"a call changes {name}")


def lists_stay(answer: Answer, given: Mapping[str, Any], run: Callable[[Mapping[str, RemoteObject]], object]) -> None:
    """Require that a call left its plain arguments alone.

    Args:
        answer: whose call it is.
        given: the arguments by name: lists, and lists in them.
        run: the call on these, which are kept in the answer's process.
    """
    answer.load("keeper", "def keep(value):\n    return value\n")
    kept = {name: answer.call("keep", value, module="keeper", returns=Keep()) for name, value in given.items()}
    run(kept)
    for name, before in given.items():
        after = answer.fetch(kept[name], Tree(0))
        expect.that(_alike(after, before), f"a call changes {name}", f"{after!r:.200} instead of {before!r:.200}")


def inputs_may_be_read_only(run: ArrayCall) -> None:
    """Require the same reply where the arrays passed cannot be written to."""
    plain = run()
    with expect.works("a call fails where its inputs are read-only"):
        again = run(inputs=InputUse.READ_ONLY)
    with expect.only_beside(lambda: _same(run(), plain, "{} differs between identical calls")):
        _same(again, plain, "{} differs where the inputs are read-only")


def equal_calls_get_equal_replies(answer: Answer, run: ArrayCall, other: ArrayCall) -> None:
    """Require equal replies to equal calls: again, after a call with other inputs, and in a new process.

    Args:
        answer: whose calls they are.
        run: a call.
        other: a call with other inputs of the same shapes.
    """
    once, between = run(), other()
    _same(run(), once, "{} differs between identical calls", "the same call again, another one in between")
    answer.fresh()
    _same(other(), between, "{} depends on earlier calls", "after another call, and first in a new process")


def results_stay(
    run: Callable[[], tuple[Arrays, RemoteObject]], other: ArrayCall, look: Callable[[RemoteObject], Arrays]
) -> None:
    """Require that a later call leaves alone what an earlier one returned.

    Args:
        run: a call whose result is held in the answer's process as well.
        other: a later one.
        look: fetches what is held.
    """
    before, held = run()
    copies = {name: array.copy() for name, array in before.items()}
    other()
    _same(look(held), copies, "a later call changes the {} of an earlier one", "the array returned, looked at again")


def parts_stand_alone(
    whole: Arrays, alone: Callable[[int, int], Arrays], axes: Mapping[int, str],
    agree: Callable[[str, NDArray[Any], NDArray[Any], str, str], object],
) -> None:  # fmt: skip
    """Require of the first and the last part along each axis that it gives alone what it gives among others.

    Args:
        whole: the outputs of the call with all parts; each has the axes.
        alone: the outputs for one part, called with the axis and the place along it.
        axes: what a part along each axis is called.
        agree: compares the output of a name with what it must be; called with a title and what was done.
    """
    for axis, part in axes.items():
        size = next(iter(whole.values())).shape[axis]
        for place in sorted({0, size - 1}):
            for name, got in alone(axis, place).items():
                wanted = whole[name].take([place], axis)
                agree(name, got, wanted, f"a {part} depends on the others", f"{part} {place} alone")


def _same(got: Reply, wanted: Reply, title: str, doing: str = "") -> None:
    """Require equal results; `title` has a place for the name of the output."""
    if isinstance(wanted, Mapping) and all(isinstance(array, np.ndarray) for array in wanted.values()):
        for name, array in wanted.items():
            expect.same(name, got[name], array, title.format(name), doing)
        return
    title = title.format("the reply")
    expect.that(_alike(got, wanted), title, f"{doing or title}: {got!r:.200} instead of {wanted!r:.200}")


def _alike(got: Any, wanted: Any) -> bool:
    """Return whether plain data is the same in type, form and value; NaN is equal to NaN."""
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, np.ndarray):
        return got.shape == wanted.shape and got.dtype == wanted.dtype and not unequal(got, wanted).any()
    if isinstance(wanted, Mapping):
        return got.keys() == wanted.keys() and all(_alike(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(map(_alike, got, wanted))
    return bool(got == wanted or (got != got and wanted != wanted))
