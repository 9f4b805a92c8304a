"""What is right: which columns a row's k may be, and how far a probability may be off.

**How far.** A probability is exp(x - max) / sum. In float32, with unit roundoff u = 2^-24:

* a sum of n positive terms, added in whatever order and grouping, is off by at most (n - 1) u, relatively
  (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2, (4.4));
* rounding x - max, and scaling it by log2(e) for a base-2 exponential, costs u each of the argument, so exp of an
  argument -d is off by 2 d u; the same for each term of the sum, weighted by its probability;
* the exponentials themselves, a division, and the rescalings of a running sum whenever the maximum rises (about
  ln(n) times in random order) cost a few u each: `CONSTANT` of them are granted.

The error ratio is the relative error over the sum of these: at most 1 passes, for every order of summation there is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from harness.numerics import distinct, instead
from harness.probing import Answer, CallFailed, Draw, FaultElsewhere, ProbeFailure, expect
from harness.probing.checked import require_same_work
from harness.probing.failures import FromUnwritten, TrivialOutput

from . import oracle
from .binding import CONTENTS, Floats, Launched, launch, normal
from .losses import Lost, loss_map
from .rounding import SMALLEST, UNIT, apart, best_left_out, chosen_alike
from .unwritten import alters, find_always_lost, passes, unwritten_decides

CONSTANT = 64.0
CHANCE = 0.01
"""How likely columns chosen at random may be those of some other row, to be taken for them."""
CHOICE, PROBABILITIES, SAFETY, ROWS, RANGE = "selection", "values", "memory_safety", "rows", "stability"
"""The criteria whose property is broken where wrong columns are named, where a probability is wrong, where what comes
out depends on memory that nobody has written, or on other rows, and where logits lie too far apart."""
UNIFORM = 1e-3
"""Spread of a factor that still counts as one factor."""


def inner_indices(run: Launched) -> None:
    """Require every index to lie in its row."""
    outside = (run.indices < 0) | (run.indices >= run.vocab)
    if outside.any():
        row, i = (int(n) for n in np.argwhere(outside)[0])
        got = int(run.indices[row, i])
        place = f"indices[{run.number(row)}, {i}]"
        detail = f"{run.sizes}: {place} is {got}"
        failure, owner = _blamed(run, row, CHOICE)
        raise failure("an index lies outside its row", detail, where=place, got=got, fault_of=owner)


def legal_indices(run: Launched) -> None:
    """Every index lies in its row, and none is there twice."""
    inner_indices(run)
    ordered = np.sort(run.indices, axis=1)
    twice = ordered[:, 1:] == ordered[:, :-1]
    if twice.any():
        row, i = (int(n) for n in np.argwhere(twice)[0])
        got = int(ordered[row, i])
        places = [int(p) for p in np.flatnonzero(run.indices[row] == got)]
        number = run.number(row)
        detail = f"{run.sizes}: row {number} names column {got} at places {', '.join(map(str, places[:4]))}"
        failure, owner = _blamed(run, row, CHOICE)
        raise failure("a column is named twice", detail, where=f"indices[{number}]", got=got, fault_of=owner)


def _blamed(run: Launched, row: int, owner: str, shown: int | None = None) -> tuple[Callable[..., ProbeFailure], str]:
    """Return how a launch fails and the criterion whose property it breaks: `owner` where nothing else decides.

    Args:
        run: the launch.
        row: one that is wrong.
        owner: the criterion that judges what is wrong, the columns or the probabilities.
        shown: a column that is wrongly left out.

    Raises:
        ProbeFailure: other columns are wrong with other values in unwritten memory, but one is always left out.
    """
    judged = _right_columns if owner == CHOICE else right_probabilities
    here = np.arange(run.rows) == row
    if unwritten_decides(run, judged, here):
        return FromUnwritten, SAFETY
    owner = _owner_among_rows(run, row, judged, owner)
    if owner == CHOICE and alters(run, here):
        column = find_always_lost(run, row)
        if column is None:
            return partial(FromUnwritten, otherwise="wrong in another way"), SAFETY
        if column != shown:
            contents = f"each of {len(CONTENTS)} contents of memory that nobody has written"
            detail = f"{run.sizes}: {_left_out(run, row, column)} with {contents}"
            place = f"indices[{run.number(row)}]"
            raise ProbeFailure("candidates are lost", detail, where=place, expected=column, fault_of=CHOICE)
    return ProbeFailure, owner


def _owner_among_rows(run: Launched, row: int, judged: Callable[[Launched], object], owner: str) -> str:
    relaunch = run.relaunch
    if relaunch is None or run.rows < 2:
        return owner

    def fault(rows: Floats) -> ProbeFailure | None:
        try:
            judged(replace(relaunch(rows), relaunch=None))
        except ProbeFailure as why:
            return why
        return None

    alone = fault(run.logits[row : row + 1])
    if isinstance(alone, FromUnwritten):
        return SAFETY
    return ROWS if alone is None and fault(run.logits) is not None else owner


def _left_out(run: Launched, row: int, column: int) -> str:
    logits = run.logits[row]
    rank = int((logits > logits[column]).sum()) + 1
    return f"column {column}, number {rank} of row {run.number(row)} ({logits[column]:.6g}), is left out"


def right_choice(run: Launched, answer: Answer, draw: Draw, title: str = "candidates are lost") -> None:
    """The k chosen are the k largest logits of their row, equal ones in any order; if not, the loss is mapped."""
    legal_indices(run)
    below = _below(run)
    if not below.any():
        return
    row = int(np.argwhere(below.any(axis=1))[0][0])
    column = best_left_out(run, row)
    failure, owner = _blamed(run, row, CHOICE, column)
    cause = _of_another_row(run, row)
    if owner == CHOICE and _lost_by_rounding(run, np.flatnonzero(below.any(axis=1))):
        owner, title = RANGE, "logits whose probabilities round alike come in any order"
    elif owner == CHOICE:
        cause = cause or loss_map(answer, draw, run.k)
    count = f"{int(below.sum())} of {run.indices.size} places hold a smaller logit than they should"
    detail = f"{run.sizes}: {_left_out(run, row, column)}; {count}"
    raise failure(
        title, detail, where=f"indices[{run.number(row)}]", expected=column,
        diagnosis=cause.words if cause else None, loss=cause.loss if cause else None, fault_of=owner,
    )  # fmt: skip


def _below(run: Launched) -> NDArray[np.bool_]:
    """Return which places, (rows, k) in descending order, hold a smaller logit than the right choice does."""
    chosen = -np.sort(-np.take_along_axis(run.logits, run.indices, axis=1), axis=1)
    below: NDArray[np.bool_] = chosen < oracle.largest(run.logits, run.k)
    return below


def _right_columns(run: Launched) -> None:
    """Require the k largest to be chosen, without a map of what is lost."""
    legal_indices(run)
    below = _below(run)
    if below.any():
        failure, owner = _blamed(run, int(np.argmax(below.any(axis=1))), CHOICE)
        raise failure("the k largest are not chosen", run.sizes, fault_of=owner)


def _lost_by_rounding(run: Launched, rows: NDArray[np.int_]) -> bool:
    """Say whether in wrong rows all probabilities in question round alike, and the choice is right where none do."""
    relaunch = run.relaunch
    if relaunch is None or not all(chosen_alike(run, int(row)) for row in rows):
        return False
    return passes(lambda: _right_columns(replace(relaunch(apart(run.logits)), relaunch=None)))


def _of_another_row(run: Launched, row: int) -> Lost | None:
    """Say whether the columns chosen for a row are those of another one."""
    chosen = -np.sort(-run.logits[:, run.indices[row]], axis=1)
    fits = (chosen == oracle.largest(run.logits, run.k)).all(axis=1)
    others = np.flatnonzero(fits)
    if len(others) != 1 or run.rows * (run.k / run.vocab) ** run.k > CHANCE:
        return None
    return Lost(f"row {run.number(row)} holds the columns of row {run.number(int(others[0]))}")


def right_probabilities(run: Launched) -> float:
    """The error ratio of the probabilities, each for the column named beside it, whichever that is; at most 1.

    Where columns are named that must not be, wrong probabilities beside them are no fault of their own, unless one
    factor of all others shows.
    """
    with _but_for_one_factor(run):
        inner_indices(run)
    exact = np.take_along_axis(run.exact, run.indices, axis=1)
    error = np.abs(run.probs.astype(np.longdouble) - exact)
    ratios = np.nan_to_num(error / (tolerance(run) * exact + SMALLEST), nan=np.inf, posinf=np.inf)
    row, i = (int(n) for n in np.unravel_index(int(ratios.argmax()), ratios.shape))
    worst = float(ratios[row, i])
    if worst <= 1.0:
        return worst
    with _but_for_one_factor(run):
        legal_indices(run)
    wanted, got = float(exact[row, i]), float(run.probs[row, i])
    place = f"probs[{run.number(row)}, {i}]"
    ratio, most = distinct(worst, 1.0, 3)
    detail = f"{run.sizes}: {place} is {instead(got, wanted)}: error ratio {ratio}, at most {most} passes"
    failure, owner = _blamed(run, row, PROBABILITIES)
    cause = _factor(run, np.asarray(exact, np.float64)) if owner == PROBABILITIES else None
    raise failure(
        "probabilities are wrong", detail, where=place, expected=wanted, got=got, measured={"error_ratio": worst},
        diagnosis=cause, fault_of=owner,
    )  # fmt: skip


def alive(run: Launched) -> None:
    """Require probabilities that are not all the same: a constant or zeros keep some laws."""
    try:
        expect.alive("probs", run.probs)
    except TrivialOutput as why:
        if unwritten_decides(run, right_probabilities, np.ones(run.rows, bool)):
            raise FromUnwritten(why.title, why.detail, fault_of=SAFETY) from None
        raise


@contextmanager
def _but_for_one_factor(run: Launched) -> Iterator[None]:
    """Let one factor of all probabilities come before what is wrong with the columns named."""
    try:
        yield
    except ProbeFailure:
        _require_no_common_factor(run)
        raise


def _require_no_common_factor(run: Launched) -> None:
    """The probabilities beside columns of their row are not all off by one factor, of two columns at least."""
    inside = (run.indices >= 0) & (run.indices < run.vocab)
    exact = np.take_along_axis(run.exact, np.where(inside, run.indices, 0), axis=1).astype(np.float64)
    judged = inside & (exact > SMALLEST)
    rows, places = np.nonzero(judged)
    if len(set(zip(rows, run.indices[judged], strict=True))) < 2:
        return
    factors = run.probs[judged] / exact[judged]
    middle = float(np.median(factors))
    if not np.isfinite(factors).all() or middle <= 0 or abs(middle - 1) < UNIFORM or not _alike(factors):
        return
    place = f"probs[{run.number(rows[0])}, {places[0]}]"
    wanted, got = float(exact[judged][0]), float(run.probs[judged][0])
    which = "every probability" if inside.all() else "every probability beside a column of its row"
    raise ProbeFailure(
        "probabilities are wrong", f"{run.sizes}: {place} is {instead(got, wanted)}", where=place, expected=wanted,
        got=got, diagnosis=f"{which} is {_times(middle)} the right one", fault_of=PROBABILITIES,
    )  # fmt: skip


def tolerance(run: Launched) -> NDArray[np.longdouble]:
    """Relative error (rows, k) that float32 may cost, as the module's docstring derives it."""
    finite = np.where(np.isfinite(run.depths), run.depths, 0)
    mean_depth = (run.exact * finite).sum(axis=1, keepdims=True)
    own = np.take_along_axis(run.depths, run.indices, axis=1)
    own = np.where(np.isfinite(own), own, 0)
    units: NDArray[np.longdouble] = (run.vocab - 1) + 2 * own + 2 * mean_depth + CONSTANT
    return UNIT * units


def descending(run: Launched) -> None:
    """Probabilities do not rise along a row by more than an exponential's own rounding."""
    rises = run.probs[:, 1:] > run.probs[:, :-1] * np.float32(1 + 16 * UNIT)
    if rises.any():
        row, i = (int(n) for n in np.argwhere(rises)[0])
        place = f"probs[{run.number(row)}"
        pair = f"{place}, {i}] = {run.probs[row, i]:.9g}, {place}, {i + 1}] = {run.probs[row, i + 1]:.9g}"
        raise ProbeFailure("probabilities are not in descending order", f"{run.sizes}: {pair}", where=f"{place}]",
                           fault_of=CHOICE)  # fmt: skip


def right(run: Launched, answer: Answer, draw: Draw) -> float:
    """Choice, order and values of one launch; the error ratio of the probabilities."""
    right_choice(run, answer, draw)
    descending(run)
    return right_probabilities(run)


def same_work(watched: Callable[[], Launched], plainly: Callable[[], Launched]) -> Launched:
    """`require_same_work`, judged by the choice and the values, without a map of what is lost."""
    return require_same_work(require_right, watched, plainly)


def require_right(run: Launched) -> None:
    """Choice and values of one launch, without a map of what is lost."""
    _right_columns(run)
    right_probabilities(run)


Judge = Callable[[Launched, Answer, Draw], float]


def right_under(
    title: str, answer: Answer, draw: Draw, logits: Floats, k: int, *, launched: Callable[..., Launched] | None = None,
    plainly: Callable[..., Launched] | None = None, judge: Judge = right,
) -> Launched:  # fmt: skip
    """Judge a launch that has something special; where it fails for that, it fails under `title`.

    It does where it fails again, and a launch of its shape with nothing special is right, both with equal values in
    memory that nobody wrote: what an answer reads there, or kept from an earlier call, is no matter of what is special.
    What fails with nothing special as well is a fault elsewhere; an order lost by rounding stays one.

    Args:
        title: what is special fails.
        answer: to judge.
        draw: the source.
        logits: of the launch.
        k: of the launch.
        launched: makes the launch, with further options of `launch`, where it is more than one of these logits.
        plainly: makes the launch with nothing special, as `launched`, where that is not one of normal logits.
        judge: raises `ProbeFailure` where a launch is wrong.
    """
    launched = launched or partial(launch, answer, draw, logits, k)

    def ordinary() -> float:
        run = plainly(fill="nan") if plainly else launch(answer, draw, normal(draw, *logits.shape), k, fill="nan")
        return right(run, answer, draw)

    try:
        run = launched()
        judge(run, answer, draw)
    except (CallFailed, FromUnwritten):
        raise
    except ProbeFailure as why:
        asked, rounding = judge is right or why.fault_of != CHOICE, why.fault_of == RANGE
        try:
            with expect.only_beside(ordinary):
                raise
        except FaultElsewhere:
            raise
        except ProbeFailure:
            if passes(lambda: judge(launched(fill="nan"), answer, draw)):
                why.fault_of = SAFETY
            elif not asked:
                why.fault_of = CHOICE
            elif why.obstacle is None:
                why.title, why.fault_of = title, RANGE if rounding else ""
            raise
    return run


def _factor(run: Launched, exact: Floats) -> str | None:
    """Return the diagnosis where all probabilities are off in one way; None otherwise."""
    known = (exact > SMALLEST) & np.isfinite(run.probs) & (run.probs > SMALLEST)
    if not known.all() or run.vocab == 1:
        return None
    factors = run.probs / exact
    if (np.abs(factors - 1) < UNIFORM).all():
        return None
    if all(_alike(row) for row in factors):
        if 1 < run.k < run.vocab and (np.abs(run.probs.sum(axis=1) - 1) < UNIFORM).all():
            return "the k probabilities of each row add up to 1: they are normalised over the k chosen, not the row"
        if factors.size > 1 and _alike(factors.ravel()):
            return f"every probability is {_times(float(np.median(factors)))} the right one"
        if run.k > 1:
            low, high = (float(f(factors)) for f in (np.min, np.max))
            off = f"in each row all probabilities are off by one factor ({low:.5g} to {high:.5g})"
            return f"{off}: the sum below is wrong"
    return _swapped(run, exact) or _slope(run)


def _slope(run: Launched) -> str | None:
    """Return the diagnosis where probabilities follow another power of the exponential.

    Two ratios of probabilities must agree on the power: any single one fits some power.
    """
    chosen = np.take_along_axis(run.logits, run.indices, axis=1).astype(np.float64)
    if sum(len(np.unique(row)) - 1 for row in chosen) < 2:
        return None
    x = chosen - chosen.mean(axis=1, keepdims=True)
    y = np.log(run.probs.astype(np.float64))
    y -= y.mean(axis=1, keepdims=True)
    slope = float((x * y).sum() / (x * x).sum())
    fits = np.abs(y - slope * x).max() < UNIFORM * np.abs(y - x).max()
    base = " (powers of 2)" if abs(slope - np.log(2)) < UNIFORM else ""
    return f"probabilities go as exp({slope:.4g} x) instead of exp(x){base}" if fits and slope else None


def _swapped(run: Launched, exact: Floats) -> str | None:
    """Return the diagnosis where a row holds the right probabilities in other places; None otherwise."""
    rows = zip(np.sort(run.probs), np.sort(exact), strict=True)
    same = all(np.allclose(got, wanted, rtol=UNIFORM, atol=0) for got, wanted in rows)
    return "the probabilities are those of the columns named, but stand beside other columns" if same else None


def _alike(factors: Floats) -> bool:
    middle = float(np.median(factors))
    return bool((np.abs(factors / middle - 1) < UNIFORM).all())


def _times(factor: float) -> str:
    for number, words in ((1 / factor, "1/{}"), (factor, "{} times")):
        if round(number) >= 2 and abs(number / round(number) - 1) < UNIFORM:
            return words.format(round(number)) + (" of" if words.startswith("1/") else "")
    return f"{factor:.4g} times"
