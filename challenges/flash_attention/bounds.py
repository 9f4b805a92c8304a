"""How far an honest attention may be from the exact one, for every entry of every output, at any size.

The model is fl(a op b) = (a op b)(1 + d), |d| <= u, u half the distance from 1 to the next number.

**Scores.** In any order of summation <q, k> is off by at most (D - 1) u sum|q_d k_d| (N. J. Higham, Accuracy and
Stability of Numerical Algorithms, 2nd ed., 2002, eq. 4.4). That is reached where the sum drifts and every rounding goes
one way; where terms cancel, so do roundings (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4):

    score_off = u (D |s| + (4 sqrt(D) + 8) A)        A = sum_d |q_d k_d| / sqrt(D), 8 for the scale and the exponential

**Exponentials.** exp(s - m) in steps, over every raise of the maximum, costs u for each unit of m - s and a few
roundings for each tile: raised_off = score_off + u (2 (m - s) + 4 tiles + 8), relative to each weight.

**Output.** With weights w and o = sum w v, weights off by the factors 1 + d_j move o by sum_j w_j d_j (v_j - o). Where
some d_j is no small number (scores of 1e11), the row's largest score keeps its weight and the others may have up to
exp(d_j + d_top) times theirs. Sums over N keys, in any order, as above; that of the weights only drifts.
"""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import beyond_rounding
from harness.probing import Answer, CallFailed, Draw, InputUse, ProbeFailure, expect

from . import oracle
from .binding import DIGITS, Inputs, alive, attention, draw_inputs
from .inputs import LATER
from .judgement import LARGEST, STRUCTURE, TIMES, judge_beside_plain, only_digits, require_digits_left

Floats = NDArray[Any]
CLEAR = 0.5
"""Of its bound, the error beside a float64 oracle up to which a float64 answer is right: the oracle is off by less."""
SMALL = 0.1
"""Relative errors of weights up to which their squares are left out."""


def right_and_bound(
    given: Inputs, rows: Sequence[int] | None = None, wide: type | None = None
) -> tuple[Floats, Floats]:
    """The exact output of some rows (B,H,R,D), all by default, and for each entry how far an honest answer may be off.

    Worked out in `given.wide`, or in another type; the bound in float64.
    """
    wide = wide or given.wide
    scaled = oracle.scores(given.q, given.k, given.causal, rows, wide)
    weights = oracle.weights(scaled)
    o = weights @ given.v.astype(wide)
    rough = (each.astype(np.float64, copy=False) for each in (scaled, weights, o))
    return o, _bound(given, rows, *rough)


def _bound(given: Inputs, rows: Sequence[int] | None, scaled: Floats, weights: Floats, o: Floats) -> Floats:
    length = scaled.shape[-1]
    unit, tiny = float(np.finfo(given.q.dtype).eps) / 2, float(np.finfo(given.q.dtype).tiny)
    values, sizes = abs(given.v.astype(np.float64)), abs(o)
    off = _weights_off(given, rows, scaled, unit)
    # a weight below the dtype's range may have been left out, and what it may be off by says nothing
    moved = np.where(weights > tiny, off, 0.0)
    large = moved.max(axis=-1, keepdims=True) > SMALL
    moved *= 1.2 * weights
    products = 4 * unit * weights
    first = (moved + products) @ values + moved.sum(axis=-1, keepdims=True) * sizes
    if large.any():
        first = np.where(large, _anything_large(scaled, off, values, sizes) + products @ values, first)
    summed = length * (3 * sizes + np.sqrt(weights * weights @ (values * values)))
    bound: Floats = first + unit * summed + tiny * length * (1 + values.max(axis=2, keepdims=True))
    return bound


def _weights_off(given: Inputs, rows: Sequence[int] | None, scaled: Floats, unit: float) -> Floats:
    """Relative error (B,H,R,N) that each weight may have, infinite where it is hidden."""
    length, features = scaled.shape[-1], given.q.shape[3]
    places = np.arange(length) if rows is None else np.asarray(rows)
    queries, keys = abs(given.q[:, :, places].astype(np.float64)), abs(given.k.astype(np.float64))
    tiles = -(-length // min(given.tile, length))
    # in place: these are the largest arrays here
    off: Floats = (4 + 8 / np.sqrt(features)) * queries @ keys.swapaxes(-1, -2)
    off += features * abs(scaled)
    off += 2 * (scaled.max(axis=-1, keepdims=True) - scaled)
    off += 4 * tiles + 8
    off *= unit
    return off


def _anything_large(scaled: Floats, off: Floats, values: Floats, sizes: Floats) -> Floats:
    """How far o may be off where weights may be off by any factor: the largest score's keeps its own."""
    top = scaled.argmax(axis=-1)[..., None]
    gap = scaled - np.take_along_axis(scaled, top, axis=-1)
    factor = np.where(np.isfinite(scaled), off, 0.0) + np.take_along_axis(off, top, axis=-1)
    raised = np.exp(np.minimum(gap + factor, LARGEST)) * -np.expm1(-factor)
    np.put_along_axis(raised, top, 0.0, axis=-1)
    most = 2 * values.max(axis=2, keepdims=True)
    bound: Floats = np.minimum(raised @ values + raised.sum(axis=-1, keepdims=True) * sizes, most)
    return bound


def require_within(
    actual: Floats, exact: Floats, bound: Floats, rows: Sequence[int] | None = None, larger: Floats | None = None,
    most: float = 1.0,
) -> dict[str, float]:  # fmt: skip
    """Return the largest error over its bound, or nothing where a larger one decided; it must not be over `most`.

    Args:
        actual: the answer's output (B,H,N,D).
        exact: the right one (B,H,R,D).
        bound: of each entry, what rounding may cost.
        rows: those that are judged; all by default.
        larger: a bound to judge by in its place.
        most: of the bound, what an error may be.
    """
    places = np.arange(actual.shape[2]) if rows is None else np.asarray(rows)
    judged = actual[:, :, places]
    off = np.where(np.isfinite(judged), abs(judged - exact), np.inf)
    over = off / (bound if larger is None else larger)
    index = np.unravel_index(int(np.argmax(over)), over.shape)
    if over[index] <= most:
        return {"o_error_over_bound": float(over[index])} if larger is None else {}
    at = (*index[:2], places[index[2]], index[3])
    where = f"o[{', '.join(map(str, at))}]"
    seen = f"{where} is {beyond_rounding(judged[index], exact[index], bound[index])}"
    raise ProbeFailure(
        "o is wrong", seen, where=where, expected=float(exact[index]), got=float(judged[index]),
        measured={"o_error_over_bound": float(off[index] / bound[index])},
    )  # fmt: skip


def right(
    answer: Answer, given: Inputs, draw: Draw, rows: Sequence[int] | None = None, inputs: InputUse = InputUse.FRESH
) -> dict[str, float]:
    """Require the answer's output to be right but for rounding, and for digits that it loses on plain inputs as well.

    Args:
        answer: to call.
        given: the inputs.
        draw: of plain inputs, where the output is wrong.
        rows: those that are judged; all by default.
        inputs: what becomes of the arrays.
    """
    return judged(answer, attention(answer, given, inputs), given, draw, rows, rows)


def judged(
    answer: Answer, o: Floats, given: Inputs, draw: Draw, rows: Sequence[int] | None, places: Sequence[int] | None
) -> dict[str, float]:
    """As `right`, of an output that is there; its rows at `places` must be those of `given` at `rows`."""
    if given.dtype == "float64":
        with contextlib.suppress(ProbeFailure):  # long double is dear, and decides where this is no clear pass
            return require_within(o, *right_and_bound(given, rows, np.float64), places, most=CLEAR)
    wanted, bound = right_and_bound(given, rows)
    try:
        return require_within(o, wanted, bound, places)
    except ProbeFailure:
        share, times = _lost_digits(answer, given, draw)
        if times <= 1:
            raise
        # what is nothing beside the largest entry may be lost: a narrower type ends sooner at the small end, too
        return require_within(o, wanted, bound, places, TIMES * (times * bound + share * abs(wanted).max()))


def right_beside_plain(answer: Answer, draw: Draw, given: Inputs, what: str) -> None:
    """Require a finite and right output of q and k that have a property, where plain ones beside the same v give one.

    Args:
        answer: to call.
        draw: of plain inputs, where the output is wrong.
        given: the inputs.
        what: the property, as the subject of a sentence in the plural.
    """

    def plain() -> Inputs:
        return draw_inputs(draw, *given.q.shape, given.tile, given.dtype, causal=given.causal).but(v=given.v)

    if not judge_beside_plain(partial(right, answer, draw=draw), given, plain, what):
        require_digits_left([("o", attention(answer, given), right_and_bound(given)[0])])


def alike(got: Floats, wanted: Floats, title: str, doing: str, answer: Answer, given: Inputs, draw: Draw) -> float:
    """Require two results of an answer to be alike but for the digits that it loses anyway.

    Args:
        got: one result.
        wanted: the other, or what follows from it.
        title: the fault in a phrase, if they differ.
        doing: what was done to get the two.
        answer: whose they are.
        given: the inputs.
        draw: of plain inputs, where they differ.
    """
    within = STRUCTURE[given.dtype]
    try:
        return expect.same("o", got, wanted, title, doing, within=within)
    except ProbeFailure:
        off, _ = _lost_digits(answer, given, draw)
        return expect.same("o", got, wanted, title, doing, within=max(within, TIMES * off))


def hidden_far_above(answer: Answer, given: Inputs, draw: Draw, times: float) -> None:
    """Require that keys `times` as large leave the output before them as it was, where half as large ones do.

    Args:
        answer: to call.
        given: inputs whose scores are all above 0.
        draw: of plain inputs, where outputs differ.
        times: how much larger hidden keys are.
    """
    plain, length = alive(attention(answer, given), given), given.q.shape[2]

    def require(times: float, title: str) -> None:
        for cut in sorted({1, length // 2, length - 1}):
            k = given.k.copy()
            k[:, :, cut:] *= k.dtype.type(times)
            o, doing = attention(answer, given.but(k=k)), f"keys from position {cut} on times {times:g}"
            alike(o[:, :, :cut], plain[:, :, :cut], title, doing, answer, given, draw)

    with expect.only_beside(lambda: require(0.5, LATER)):
        require(times, f"{LATER} whose scores lie far above")


def _lost_digits(answer: Answer, given: Inputs, draw: Draw) -> tuple[float, float]:
    """Return what the answer is off on plain inputs, over the root mean square and over what rounding may cost.

    Digits that are lost everywhere are charged once. Both are 0 where more than digits is lost, or no output comes.
    """
    plain = draw_inputs(draw, 1, 2, 16, 8, 8, given.dtype, causal=given.causal)
    right, bound = right_and_bound(plain)
    try:
        off = abs(attention(answer, plain) - right)
    except CallFailed:
        return 0.0, 0.0
    share = float(off.max() / np.sqrt(np.mean(right * right)))
    return (share, float((off / bound).max())) if only_digits(off, right, DIGITS) else (0.0, 0.0)
