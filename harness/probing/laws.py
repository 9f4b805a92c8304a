"""Properties that every function has, whatever it computes: an answer is compared with itself.

Each law is called with `run`, which calls the answer once and returns its outputs by name. A law fails only where the
property is seen broken: a wrong value breaks none of them. Outputs that are constant or copies keep all of them, so
that `run` is expected to refuse such outputs (`expect.alive`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.numerics import unequal
from harness.probing import expectations as expect
from harness.probing.answers import Answer
from harness.probing.conditions import judge_each
from harness.probing.failures import CallFailed, NotOffered, OtherRaised, ProbeFailure, WorkerLost
from harness.probing.probe import Partial
from harness.sandbox import Array, InputUse, Keep, RemoteObject, Tree

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


LAYOUTS = (InputUse.SLICED, InputUse.STRIDED, InputUse.TRANSPOSED)
"""How arrays may lie in memory that are not contiguous."""


def layouts_do_not_matter(
    run: ArrayCall, layouts: Iterable[InputUse] = LAYOUTS, agree: Callable[[Reply, Reply, str], object] | None = None
) -> None:
    """Require the same reply, but for digits, where the arrays passed are views of other memory.

    Args:
        run: a call.
        layouts: how the views lie; `BROADCAST` shows where entries are equal along an axis.
        agree: compares two replies, called with a title that has a place for an output's name; by default it lets pass
            what an answer loses that computes in the next narrower type.
    """
    agree = agree or _same_but_for_digits
    with expect.only_beside(lambda: agree(run(), run(), "{} differs between identical calls")):
        plain = run()
        for layout in layouts:
            where = f"where the inputs are {layout} views"
            with expect.works(f"a call fails {where}"), _said_of(where):
                again = run(inputs=layout)
            agree(again, plain, f"{{}} differs {where}")


def arrays_are_read_anew(run: ArrayCall, other: ArrayCall) -> None:
    """Require of a call with the arrays of an earlier one the reply that new arrays get: they hold something else.

    Args:
        run: a call.
        other: a call with inputs of the same shapes, best `rearranged` ones.
    """
    run(inputs=InputUse.REUSED)
    again = other(inputs=InputUse.REUSED)
    _same_but_for_digits(
        again, other(), "{} is not that of new arrays where the caller wrote to those of an earlier call"
    )


def rearranged(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return an array of the same entries, the first and the last one in their places: it looks the same in brief."""
    flat = array.reshape(-1).copy()
    flat[1:-1] = rng.permutation(flat[1:-1])
    return flat.reshape(array.shape)


CALLER = """
import numpy as np

def keep(*values):
    return values

def take(array, written):
    taken = np.array(array)
    if written and isinstance(array, np.ndarray) and array.flags.writeable:
        array[...] = np.nan if array.dtype.kind == "f" else ~array
    return taken
"""
"""What a caller does in the answer's process: keep arrays, and take what a call returned, to write to it."""


@dataclass(frozen=True)
class Caller:
    """Calls an answer with arrays that stay in its process, as a program does that holds all of them.

    Attributes:
        answer: whose functions are called.
        writes: whether it writes to every array that was returned to it, as soon as it has taken what it holds.
    """

    answer: Answer
    writes: bool = False

    def keeps(self, *arrays: NDArray[Any]) -> tuple[RemoteObject, ...]:
        """Return the caller's own arrays, to be passed."""
        self.answer.load("caller", CALLER)
        kept: tuple[RemoteObject, ...] = self.answer.call(
            "keep", *arrays, returns=(Keep(),) * len(arrays), module="caller"
        )
        return kept

    def takes(self, returned: RemoteObject, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        """Return what an array holds that a call returned, or that was passed; it is written to afterwards."""
        taken: NDArray[Any] = self.answer.call(
            "take", returned, self.writes, returns=Array(shape, dtype), module="caller"
        )
        return taken


def results_belong_to_the_caller(answer: Answer, program: Callable[[Caller], Arrays]) -> None:
    """Require that a caller may write to what was returned to it: nothing else changes, then or later.

    An array that shares memory with another result, with an argument or with what the answer keeps fails.

    Args:
        answer: whose calls they are.
        program: makes calls and takes each result as it comes, and at last the arguments; returns what it took.
    """

    def run(*, writes: bool = False) -> Arrays:
        return program(Caller(answer, writes))

    with expect.only_beside(lambda: _same_but_for_digits(run(), run(), "{} differs between identical calls")):
        plain = run()
        with expect.works("a call fails where the caller wrote to what was returned before"):
            written, later = run(writes=True), run()
        _same_but_for_digits(written, plain, "{} changes where the caller writes to what was returned before")
        _same_but_for_digits(later, plain, "{} changes where the caller wrote to what equal calls had returned")


def equal_calls_get_equal_replies(
    answer: Answer, run: ArrayCall, other: ArrayCall, earlier: str = "another call"
) -> None:
    """Require equal replies to equal calls: again, after a call with other inputs, and in a new process.

    Args:
        answer: whose calls they are.
        run: a call.
        other: a call with other inputs of the same shapes.
        earlier: `run`, in a phrase.
    """
    once, between = run(), other()
    _same(run(), once, "{} differs between identical calls", "the same call again, another one in between")
    answer.fresh()
    _same(other(), between, "{} depends on earlier calls", f"after {earlier}, and first in a new process")


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


@contextmanager
def _said_of(where: str) -> Iterator[None]:
    """Say of what is seen inside the block where that was; a call that fails keeps its own words."""
    try:
        yield
    except CallFailed:
        raise
    except ProbeFailure as why:
        with expect.renamed(f"{why.title} {where}"):
            raise


def _same_but_for_digits(got: Reply, wanted: Reply, title: str) -> None:
    """Require equal replies, but for lost digits of real numbers; `title` as of `_same`."""
    if isinstance(wanted, Mapping):
        wanted = {name: got[name] if _near(got[name], array) else array for name, array in wanted.items()}
    _same(got, wanted, title)


def _near(got: NDArray[Any], wanted: NDArray[Any]) -> bool:
    return got.dtype.name in DIGITS and got.shape == wanted.shape and only_digits_apart(got, wanted)


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


def each_refused(attempts: Mapping[str, Callable[[], object]], otherwise: float = 0.0) -> Partial:
    """Require each attempt to raise ValueError, and name those that were not tried in the detail.

    Args:
        attempts: the calls, by what is wrong with their arguments, in a phrase.
        otherwise: share that an answer earns that raises another exception for some of them; 0 fails it.

    Raises:
        ProbeFailure: how the first fails that does not, with the names of the others.
    """
    refusals = {what: partial(_raises_value_error, attempt, what, otherwise) for what, attempt in attempts.items()}
    judged, left_out = judge_each(refusals)
    wrong = {what: failure for what, failure in judged.items() if isinstance(failure, ProbeFailure)}
    if wrong:
        first, *more = wrong
        wrong[first].detail += f"; as little refused: {', '.join(more)}" if more else ""
        raise wrong[first]
    others = [what for what, by_value_error in judged.items() if not by_value_error]
    detail = f"another exception than ValueError for {', '.join(others)}" if others else ""
    return Partial(otherwise if others else 1.0, {}, "; ".join(filter(None, (detail, left_out))))


def _raises_value_error(attempt: Callable[[], object], what: str, otherwise: float) -> bool | ProbeFailure:
    """Return how an attempt fails to raise ValueError, or whether it does where other exceptions earn something.

    Raises:
        WorkerLost: the answer's process is gone.
    """
    try:
        expect.refused(attempt, what)
    except WorkerLost:
        raise
    except ProbeFailure as failure:
        return False if otherwise and isinstance(failure, OtherRaised | NotOffered) else failure
    return True
