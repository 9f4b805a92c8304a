"""Properties that every function has, tested by comparing a submission with itself.

Each law takes `run`, which calls the submission once, and often `other`, a call with other inputs of the same shapes.
Wrong values alone break no law. Constant outputs and copies satisfy all laws, so `run` should reject them
(`expect.alive`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.numerics import unequal
from harness.probing.answers import Answer
from harness.probing.conditions import judge_each
from harness.probing.failures import CallFailed, NotOffered, OtherRaised, ProbeFailure, TrivialOutput, WorkerLost
from harness.probing.probe import Partial
from harness.probing.requirements import expectations as expect
from harness.sandbox import Array, InputUse, Keep, RemoteObject, Tree

Arrays = Mapping[str, NDArray[Any]]
Reply = Any
"""Result of a call: arrays by name, or plain data that compares."""
DIGITS = {"float64": 1e-6, "float32": 1e-3, "float16": 1e-2}
"""Largest difference of two results, over the largest entry, that counts as lost digits and is charged as accuracy.
Computing in the next narrower type stays below it."""


class ArrayCall(Protocol):
    """A call of the submission with inputs of its own."""

    def __call__(self, *, inputs: InputUse = InputUse.FRESH) -> Reply:
        """Return the outputs by name, or plain data."""


def only_digits_apart(got: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether two results differ at most by `DIGITS`; integers, booleans, NaN and infinities must be equal."""
    if got.shape != wanted.shape or got.dtype.kind != "f":
        return bool(np.array_equal(got, wanted))
    close = np.isfinite(wanted) & np.isfinite(got)
    one, other = got[close].astype(np.longdouble), wanted[close].astype(np.longdouble)
    least = DIGITS.get(got.dtype.name, 0.0) * np.abs(other).max(initial=np.longdouble(0))
    return bool((np.abs(one - other) <= least).all() and not unequal(got[~close], wanted[~close]).any())


def inputs_stay(passed: Arrays, echo: tuple[NDArray[Any], ...]) -> None:
    """Require that a call leaves its array arguments unchanged.

    Args:
        passed: arrays by name, in the order of the arguments.
    """
    for (name, before), after in zip(passed.items(), echo, strict=True):
        expect.same(name, after, before, f"a call changes {name}")


def lists_stay(answer: Answer, given: Mapping[str, Any], run: Callable[[Mapping[str, RemoteObject]], object]) -> None:
    """Require that a call leaves its plain arguments unchanged.

    Args:
        given: arguments by name, as nested lists.
    """
    answer.load("keeper", "def keep(value):\n    return value\n")
    kept = {name: answer.call("keep", value, module="keeper", returns=Keep()) for name, value in given.items()}
    run(kept)
    for name, before in given.items():
        after = answer.fetch(kept[name], Tree(0))
        expect.that(_is_alike(after, before), f"a call changes {name}", f"{after!r:.200} instead of {before!r:.200}")


def inputs_may_be_read_only(run: ArrayCall) -> None:
    """Require the same result with read-only array arguments."""
    plain = run()
    with expect.works("a call fails where its inputs are read-only"):
        again = run(inputs=InputUse.READ_ONLY)
    with expect.only_beside(lambda: _require_same(run(), plain, "{} differs between identical calls")):
        _require_same(again, plain, "{} differs where the inputs are read-only")


VIEWS = InputUse.SLICED, InputUse.STRIDED, InputUse.STEPPED, InputUse.TRANSPOSED
LAYOUTS = (InputUse.UNLIKE, *VIEWS, InputUse.UNLIKE)
"""Layouts of arrays that are not all contiguous in memory."""


def layouts_do_not_matter(
    run: ArrayCall, layouts: Iterable[InputUse] = LAYOUTS, agree: Callable[[Reply, Reply, str], object] | None = None
) -> None:
    """Require the same result for arrays that are views of other memory.

    Args:
        layouts: layouts of the views; `BROADCAST` suits entries that are equal along an axis, `ALIASED` equal arrays.
        agree: compares two results, given a title with a placeholder for an output's name; by default up to `DIGITS`.
    """
    agree = agree or _require_same_but_for_digits
    with expect.only_beside(lambda: agree(run(), run(), "{} differs between identical calls")):
        plain = run()
        for layout in layouts:
            aliased = layout is InputUse.ALIASED
            where = "where equal inputs are one array" if aliased else f"where the inputs are {layout} views"
            with expect.works(f"a call fails {where}"), _append_to_title(where):
                again = run(inputs=layout)
            agree(again, plain, f"{{}} differs {where}")


def fails(run: ArrayCall) -> bool:
    """Return whether a call fails, or gives what cannot be judged."""
    try:
        run()
    except ProbeFailure:
        return True
    return False


def arrays_are_read_anew(run: ArrayCall, other: ArrayCall) -> None:
    """Require a new result for new contents, preferably `rearranged`, in the arrays of an earlier call."""
    run(inputs=InputUse.REUSED)
    again = other(inputs=InputUse.REUSED)
    _require_same_but_for_digits(
        again, other(), "{} is not that of new arrays where the caller wrote to those of an earlier call"
    )


def rearranged(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return the array with all but its ends permuted; sums stay the same."""
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

def take_each(written, *arrays):
    return tuple(take(array, written) for array in arrays)
"""
"""Caller's code in the answer's process: keeps arrays, and copies a result before it overwrites the original."""


@dataclass(frozen=True)
class Caller:
    """A caller that holds its arrays in the answer's process, as a program would.

    Attributes:
        writes: overwrite every array that is taken.
    """

    answer: Answer
    writes: bool = False

    def keeps(self, *arrays: NDArray[Any]) -> tuple[RemoteObject, ...]:
        """Keep arrays in the process."""
        self.answer.load("caller", CALLER)
        kept: tuple[RemoteObject, ...] = self.answer.call(
            "keep", *arrays, returns=(Keep(),) * len(arrays), module="caller"
        )
        return kept

    def takes(self, returned: RemoteObject, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        """Return the contents of a returned or passed array."""
        taken: NDArray[Any] = self.answer.call(
            "take", returned, self.writes, returns=Array(shape, dtype), module="caller"
        )
        return taken

    def takes_each(self, returned: Sequence[RemoteObject], plans: Sequence[Array]) -> tuple[NDArray[Any], ...]:
        """Return the contents of several arrays, each taken before the next."""
        taken: tuple[NDArray[Any], ...] = self.answer.call(
            "take_each", self.writes, *returned, returns=tuple(plans), module="caller"
        )
        return taken


def results_belong_to_the_caller(answer: Answer, program: Callable[[Caller], Arrays]) -> None:
    """Require returned arrays to share no memory with other results, arguments or the submission's state.

    Args:
        program: makes calls, takes each result at once and the arguments at the end, and returns what it took.
    """

    def run(*, writes: bool = False) -> Arrays:
        return program(Caller(answer, writes))

    with expect.only_beside(lambda: _require_same_but_for_digits(run(), run(), "{} differs between identical calls")):
        plain = run()
        with expect.works("a call fails where the caller wrote to what was returned before"):
            written, later = run(writes=True), run()
        _require_same_but_for_digits(written, plain, "{} changes where the caller writes to what was returned before")
        _require_same_but_for_digits(later, plain, "{} changes where the caller wrote to what equal calls had returned")


def equal_calls_get_equal_replies(
    answer: Answer, run: ArrayCall, other: ArrayCall, earlier: str = "another call"
) -> None:
    """Require equal results for equal calls: repeated, after another call, and in a new process.

    Args:
        earlier: phrase for what `run` calls.
    """
    once, between = run(), other()
    _require_same(run(), once, "{} differs between identical calls", "the same call again, another one in between")
    answer.fresh()
    _require_same(other(), between, "{} depends on earlier calls", f"after {earlier}, and first in a new process")


def results_stay(
    run: Callable[[], tuple[Arrays, RemoteObject]], other: ArrayCall, look: Callable[[RemoteObject], Arrays]
) -> None:
    """Require that the call `other` leaves the held result of `run` unchanged; `look` fetches it."""
    before, held = run()
    copies = {name: array.copy() for name, array in before.items()}
    other()
    _require_same(
        look(held), copies, "a later call changes the {} of an earlier one", "the array returned, looked at again"
    )


def parts_stand_alone(
    whole: Arrays,
    alone: Callable[[int, int], Arrays],
    axes: Mapping[int, str],
    agree: Callable[[str, NDArray[Any], NDArray[Any], str, str], object],
) -> None:
    """Require the first and last part along each axis to give the same alone as among others.

    Args:
        alone: returns the outputs of one part, by axis and index.
        axes: word for a part, by axis.
        agree: compares an output by name with its wanted values; takes a title and a description of the call.
    """
    for axis, part in axes.items():
        size = next(iter(whole.values())).shape[axis]
        for place in sorted({0, size - 1}):
            for name, got in alone(axis, place).items():
                wanted = whole[name].take([place], axis)
                agree(name, got, wanted, f"a {part} depends on the others", f"{part} {place} alone")


@contextmanager
def _append_to_title(where: str) -> Iterator[None]:
    try:
        yield
    except CallFailed:
        raise
    except TrivialOutput as why:
        raise ProbeFailure(f"{why.title} {where}", why.detail) from None
    except ProbeFailure as why:
        with expect.renamed(f"{why.title} {where}"):
            raise


def _require_same_but_for_digits(got: Reply, wanted: Reply, title: str) -> None:
    if isinstance(wanted, Mapping):
        wanted = {name: got[name] if _is_near(got[name], array) else array for name, array in wanted.items()}
    _require_same(got, wanted, title)


def _is_near(got: NDArray[Any], wanted: NDArray[Any]) -> bool:
    return got.dtype.name in DIGITS and got.shape == wanted.shape and only_digits_apart(got, wanted)


def _require_same(got: Reply, wanted: Reply, title: str, doing: str = "") -> None:
    if isinstance(wanted, Mapping) and all(isinstance(array, np.ndarray) for array in wanted.values()):
        for name, array in wanted.items():
            expect.same(name, got[name], array, title.format(name), doing)
        return
    title = title.format("the reply")
    expect.that(_is_alike(got, wanted), title, f"{doing or title}: {got!r:.200} instead of {wanted!r:.200}")


def _is_alike(got: Any, wanted: Any) -> bool:
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, np.ndarray):
        return got.shape == wanted.shape and got.dtype == wanted.dtype and not unequal(got, wanted).any()
    if isinstance(wanted, Mapping):
        return got.keys() == wanted.keys() and all(_is_alike(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(map(_is_alike, got, wanted))
    return bool(got == wanted or (got != got and wanted != wanted))


def each_refused(attempts: Mapping[str, Callable[[], object]], otherwise: float = 0.0) -> Partial:
    """Require each attempt to raise ValueError, and list the spared ones in the detail.

    Args:
        attempts: calls, by a phrase for the invalid argument.
        otherwise: credit for other exceptions; 0 fails the submission.
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
    try:
        expect.refused(attempt, what)
    except WorkerLost:
        raise
    except ProbeFailure as failure:
        return False if otherwise and isinstance(failure, OtherRaised | NotOffered) else failure
    return True
