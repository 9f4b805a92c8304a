"""How far an honest attention and its gradients may be from the exact ones, for every entry, at any size.

The model is fl(a op b) = (a op b)(1 + d), |d| <= u, u half the distance from 1 to the next number.

**Sums** of n terms t in any order: u times the sizes of all intermediate sums (N. J. Higham, Accuracy and Stability of
Numerical Algorithms, 2nd ed., 2002, eq. 4.3), reached where the sum drifts; where terms cancel, so do roundings (N. J.
Higham and T. Mary, SIAM J. Sci. Comput. 41, 2019, theorem 2.4). So sum_bound(t) = u (n |sum t| + n |t|_2 + 4 sum|t|).

**Weights.** A score is off by u (D |s| + (4 sqrt(D) + 8) A), A = sum_d |q_d k_d| / sqrt(D); the steps of the running
maximum cost u (2 (m - s) + 4 tiles + 8) of each exponential. Backward takes p = exp(s - L), where L is off by the mean
of that over the row, by what the sum of N exponentials costs, and by its own rounding, u |L|. The weight may have
exp(d) - 1 of itself more or less.

**Gradients.** ds = p (do v - delta) is off by what its parts are; each of dq, dk and dv by what its terms and their sum
are. delta may be taken from do and o or from all p do v.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.numerics import beyond_rounding, distinct, instead
from harness.probing import Answer, CallFailed, Draw, InputUse, ProbeFailure, expect

from . import oracle
from .binding import DIGITS, FIELDS, Inputs, Results, backward, draw_inputs, forward, results, share_off
from .flash_attention.judgement import (
    LARGEST,
    STRUCTURE,
    TIMES,
    judge_beside_plain,
    only_digits,
    require_digits_left,
)

Floats = NDArray[Any]
CLEAR = 0.25
"""Of the doubled bound, the error beside a float64 oracle up to which a float64 output is right: the oracle is off by
less."""
TINY_TERMS = 4
"""Products on the way to one entry that may underflow."""
BLOCK = 1 << 16
"""Scores that are worked on at once: arrays of so many stay in the processor's cache."""


def right_and_bounds(given: Inputs, *, rough: bool = False) -> tuple[Results, Results]:
    """The exact outputs, and for each entry how far an honest answer may be off.

    Worked out in long double for float64, in float64 for float32.

    Args:
        given: the inputs.
        rough: work in float64 whatever the dtype. For float64 that is itself one honest way to compute, so the bounds
            are doubled.
    """
    double = given.dtype == "float64"
    wide = np.float64 if rough else given.wide
    whole = oracle.attention(*given.arrays, given.do, given.causal, wide)
    bounds = _bounds(given, oracle.Exact(*(values.astype(np.float64, copy=False) for values in whole)))
    if rough and double:
        bounds = Results(*(2 * bound for bound in bounds))
    return Results(whole.o, whole.dq, whole.dk, whole.dv), bounds


class _Sizes(NamedTuple):
    """The sizes of what is given, in float64 (B,H,N,D)."""

    q: Floats
    k: Floats
    v: Floats
    do: Floats


def _sizes(given: Inputs) -> _Sizes:
    """Return the sizes of what is given."""
    return _Sizes(*(abs(values.astype(np.float64)) for values in (*given.arrays, given.do)))


def logsumexp_bound(given: Inputs, whole: oracle.Exact) -> Floats:
    """How far L (B,H,N) may be off."""
    off = _score_off(given, _sizes(given), whole.scores, slice(None), slice(None))
    return _logsumexp_off(given, whole.weights, whole.logsumexp, np.where(whole.weights > 0, off, 0.0))


def _logsumexp_off(given: Inputs, weights: Floats, logsumexp: Floats, off: Floats) -> Floats:
    mean = np.vecdot(weights, off)
    bound: Floats = mean + given.unit * (given.length + 4 * abs(logsumexp) + 8)
    return bound


def _score_off(given: Inputs, sizes: _Sizes, scores: Floats, rows: slice, keys: slice) -> Floats:
    """Relative error (B,H,R,K) of exp(s - m) in the forward pass; `scores` are those of these rows and keys."""
    features, length = given.q.shape[3], given.length
    tiles = -(-length // min(given.tile, length))
    off: Floats = ((4 + 8 / np.sqrt(features)) * sizes.q[:, :, rows]) @ sizes.k[:, :, keys].swapaxes(-1, -2)
    off += features * abs(scores)
    off -= 2 * scores
    off += 2 * scores.max(axis=-1, keepdims=True) + 4 * tiles + 8
    off *= given.unit
    return off


class _Block(NamedTuple):
    """Of some rows: the bound on o (B,H,R,D), and what to multiply the sizes of do, k and q with for what dv, dq and dk
    are off by (B,H,R,K)."""

    o: Floats
    weights: Floats
    dscores: Floats


def _bounds(given: Inputs, whole: oracle.Exact) -> Results:
    """Blocks of rows: arrays of all scores take most of the time to be fetched from memory."""
    unit, features, length = given.unit, given.q.shape[3], given.length
    sizes = _sizes(given)
    q, k, v, do = sizes
    delta = np.vecdot(given.do, whole.o)[..., None]
    o, dq = np.empty(q.shape), np.empty(q.shape)
    dk, dv, dk_drift, dk_squares, dv_squares = (np.zeros(k.shape) for _ in range(5))
    for rows, keys in _blocks(given):
        block = _block(given, sizes, whole, delta, rows, keys)
        weights, dscores = whole.weights[:, :, rows, keys], whole.dscores[:, :, rows, keys]
        o[:, :, rows] = block.o
        drift = abs(dscores @ k[:, :, keys]) + np.sqrt(dscores**2 @ k[:, :, keys] ** 2)
        dq[:, :, rows] = block.dscores @ k[:, :, keys] + unit * length * drift
        dk[:, :, keys] += block.dscores.swapaxes(-1, -2) @ q[:, :, rows]
        dk_drift[:, :, keys] += dscores.swapaxes(-1, -2) @ q[:, :, rows]
        dk_squares[:, :, keys] += (dscores**2).swapaxes(-1, -2) @ q[:, :, rows] ** 2
        dv[:, :, keys] += block.weights.swapaxes(-1, -2) @ do[:, :, rows]
        dv_squares[:, :, keys] += (weights**2).swapaxes(-1, -2) @ do[:, :, rows] ** 2
    dk += unit * length * (abs(dk_drift) + np.sqrt(dk_squares))
    dv += unit * length * np.sqrt(dv_squares)
    scale, least = 1 / np.sqrt(features), float(np.finfo(given.q.dtype).tiny) * TINY_TERMS * length
    most = least * (float(max(whole.slopes.max(), -whole.slopes.min())) + float(abs(delta).max()) + 1)
    return Results(
        o + least * (1 + float(v.max())),
        scale * dq + most * (1 + float(k.max())),
        scale * dk + most * (1 + float(q.max())),
        dv + least * (1 + float(do.max())),
    )


def _blocks(given: Inputs) -> Iterator[tuple[slice, slice]]:
    """Rows, and the keys that some of them see."""
    (B, H, length, _), keys = given.q.shape, given.k.shape[2]
    height = max(1, BLOCK // (B * H * keys))
    for first in range(0, length, height):
        last = min(first + height, length)
        yield slice(first, last), slice(0, last + keys - length if given.causal else keys)


def _block(given: Inputs, sizes: _Sizes, whole: oracle.Exact, signed: Floats, rows: slice, keys: slice) -> _Block:
    """Return the bounds of some rows that `_bounds` adds up, in place: these arrays take most of its time."""
    unit, features, length = given.unit, given.q.shape[3], given.length
    weights, slopes, scores = (a[:, :, rows, keys] for a in (whole.weights, whole.slopes, whole.scores))
    do, o, v = sizes.do[:, :, rows], abs(whole.o[:, :, rows]), sizes.v[:, :, keys]
    off = np.where(weights > 0, _score_off(given, sizes, scores, rows, keys), 0.0)
    moved, summed = weights * _grown(off), unit * (length + 8) * weights
    o_bound = (moved + summed) @ v + (moved.sum(axis=-1, keepdims=True) + 3 * unit * length) * o
    o_bound += unit * length * np.sqrt(weights**2 @ v**2)
    off += _logsumexp_off(given, weights, whole.logsumexp[:, :, rows], off)[..., None]
    moved = weights * _grown(off)
    size, delta = abs(slopes), abs(signed[:, :, rows])
    parts_off = (unit * (4 * np.sqrt(features) + 4) * do) @ v.swapaxes(-1, -2)
    parts_off += unit * features * size
    terms = weights * size
    delta_off = np.vecdot(do, o_bound) + np.vecdot(moved, size) + np.vecdot(weights, parts_off)
    delta_off += unit * ((4 * np.sqrt(features) + 4) * np.vecdot(do, o) + length * np.sqrt(np.vecdot(terms, terms)))
    parts_off += 4 * unit * size
    parts_off += delta_off[..., None] + unit * (features + length + 4) * delta
    inside = abs(slopes - signed[:, :, rows])
    dscores_off = inside * (moved + 8 * unit * weights) + parts_off * (moved + weights)
    return _Block(o_bound, moved + summed, dscores_off)


def _grown(off: Floats) -> Floats:
    """What a factor exp(off) may add, at most, with something for the terms left out."""
    more = 1.2 * off
    if float(more.max()) <= 1:
        grown: Floats = more * (1 + more)
        return grown
    return np.expm1(np.minimum(more, LARGEST))


def require_within(
    got: Results, right: Results, bounds: Results, wider: Results | None = None, most: float = 1.0
) -> dict[str, float]:
    """Return the largest error of each output over its bound, or nothing where wider ones decided.

    Args:
        got: outputs; those that are None are not judged.
        right: the exact ones.
        bounds: of each entry, what rounding may cost.
        wider: bounds to judge by in their place.
        most: of its bound, what an error may be.
    """
    shares = {}
    for name, actual, exact, bound, limit in zip(FIELDS, got, right, bounds, wider or bounds, strict=True):
        if actual is None:
            continue
        off = np.where(np.isfinite(actual), abs(actual - exact), np.inf)
        over = off / limit
        index = np.unravel_index(int(np.argmax(over)), over.shape)
        shares[f"{name}_error_over_bound"] = float(off[index] / bound[index])
        if not over[index] <= most:
            where = f"{name}[{', '.join(map(str, index))}]"
            seen = f"{beyond_rounding(actual[index], exact[index], bound[index])}"
            raise ProbeFailure(
                f"{name} is wrong", f"{where} is {seen}", where=where, expected=float(exact[index]),
                got=float(actual[index]), measured={"error_over_bound": shares[f"{name}_error_over_bound"]},
            )  # fmt: skip
    return shares if wider is None else {}


def right(
    answer: Answer, given: Inputs, draw: Draw, *, rough: bool = False, inputs: InputUse = InputUse.FRESH
) -> dict[str, float]:
    """Require the outputs of both passes to be right but for rounding, and for digits lost on plain inputs as well.

    Args:
        answer: to call.
        given: the inputs.
        draw: of plain inputs, where an output is wrong.
        rough: as of `right_and_bounds`.
        inputs: what becomes of the arrays.
    """
    o, cache = forward(answer, given, inputs)
    try:
        got = backward(answer, given, cache, o, inputs)
    except ProbeFailure:  # may follow from a wrong o
        judged(answer, Results(o, None, None, None), given, draw, rough=rough)
        raise
    return judged(answer, got, given, draw, rough=rough)


def judged(answer: Answer, got: Results, given: Inputs, draw: Draw, *, rough: bool = False) -> dict[str, float]:
    """Require results to be right, as `right` does; None stands for an output that is not judged."""
    if given.dtype == "float64" and not rough:
        with contextlib.suppress(ProbeFailure):  # long double is dear, and decides where this is no clear pass
            return require_within(got, *right_and_bounds(given, rough=True), most=CLEAR)
    return require_within_digits(answer, got, *right_and_bounds(given, rough=rough), given, draw)


def require_within_digits(
    answer: Answer, got: Results, wanted: Results, bounds: Results, given: Inputs, draw: Draw
) -> dict[str, float]:
    """Require outputs to be within their bounds but for digits lost on plain inputs as well."""
    try:
        return require_within(got, wanted, bounds)
    except ProbeFailure:
        share, times = _lost_digits(answer, given, draw)
        if times <= 1:
            raise
        # what is nothing beside the largest entry may be lost: a narrower type ends sooner at the small end, too
        least = [share * np.abs(exact).max() for exact in wanted]
        wider = Results(*(TIMES * (times * bound + floor) for bound, floor in zip(bounds, least, strict=True)))
        return require_within(got, wanted, bounds, wider)


def right_beside_plain(answer: Answer, draw: Draw, given: Inputs, what: str) -> None:
    """Require finite and right outputs of q and k that have a property, where plain ones beside the same v and do do.

    Args:
        answer: to call.
        draw: of plain inputs, where an output is wrong.
        given: the inputs.
        what: the property, as the subject of a sentence in the plural.
    """
    plain = draw_inputs(draw, *given.q.shape, given.tile, given.dtype, causal=given.causal)
    plain = plain.but(v=given.v, do=given.do)
    if not judge_beside_plain(partial(right, answer, draw=draw), given, lambda: plain, what):
        require_digits_left(zip(FIELDS, results(answer, given), right_and_bounds(given)[0], strict=True))


def alike(
    got: Results, wanted: Results, title: Callable[[str], str], doing: str, answer: Answer, given: Inputs, draw: Draw,
    names: Iterable[str] = FIELDS,
) -> None:  # fmt: skip
    """Require two results of an answer to be alike but for the digits that it loses anyway.

    Args:
        got: one result.
        wanted: the other, or what follows from it.
        title: the fault in a phrase, if an output of a name differs.
        doing: what was done to get the two.
        answer: whose they are.
        given: the inputs.
        draw: of plain inputs, where they differ.
        names: of the outputs compared.
    """
    within = STRUCTURE[given.dtype]
    for name in names:
        pair = getattr(got, name), getattr(wanted, name)
        try:
            expect.same(name, *pair, title(name), doing, within=within)
        except ProbeFailure:
            off, _ = _lost_digits(answer, given, draw)
            expect.same(name, *pair, title(name), doing, within=max(within, TIMES * off))


def within_rounding(
    got: Floats, wanted: Floats, scale: Floats, title: str, answer: Answer, given: Inputs, draw: Draw
) -> None:
    """Require every entry of `got` to be `wanted` but for digits: a share of the size of the terms summed in it.

    Args:
        got: what follows from the answer's outputs.
        wanted: what it must be.
        scale: sum of the sizes of the terms that make up each entry.
        title: the fault in a phrase.
        answer: whose outputs they are.
        given: the inputs, whose dtype rounds.
        draw: of plain inputs, where it is not.
    """
    gap = abs(got - wanted) / scale
    worst, limit = float(gap.max()) if np.isfinite(gap).all() else np.inf, STRUCTURE[given.dtype]
    if worst > limit:
        limit = max(limit, TIMES * _lost_digits(answer, given, draw)[0])
    off, allowed = distinct(worst, limit, 2)
    seen = f"off by {off} of the size of the terms; at most {allowed} is a matter of digits"
    expect.that(worst <= limit, title, seen, difference=worst)


def require_logsumexp(answer: Answer, found: Floats, given: Inputs, draw: Draw) -> None:
    """Require of L (B,H,N) that it is the log-sum-exp of each row, but for rounding and digits lost anyway."""
    whole = oracle.attention(*given.arrays, given.do, given.causal)
    over = abs(found - whole.logsumexp) / logsumexp_bound(given, whole)
    over[~np.isfinite(found)] = np.inf
    at = np.unravel_index(int(np.argmax(over)), over.shape)
    most = 1.0 if over[at] <= 1 else max(1.0, TIMES * _lost_digits(answer, given, draw)[1])
    detail = f"L[{', '.join(map(str, at))}] is {instead(found[at], whole.logsumexp[at])}"
    expect.that(bool(over[at] <= most), "L is not the logarithm of the sum of the exponentials", detail)


def _lost_digits(answer: Answer, given: Inputs, draw: Draw) -> tuple[float, float]:
    """Return what the answer is off on plain inputs, over the root mean square and over what rounding may cost.

    Digits that are lost everywhere are charged once. Both are 0 where more than digits is lost, or no results come.
    """
    plain = draw_inputs(draw, 1, 2, 16, 8, 8, given.dtype, causal=given.causal)
    wanted, bounds = right_and_bounds(plain)
    try:
        got = results(answer, plain)
    except CallFailed:
        return 0.0, 0.0
    pairs = list(zip(got, wanted, strict=True))
    if not all(only_digits(abs(actual - exact), exact, DIGITS) for actual, exact in pairs):
        return 0.0, 0.0
    shares = [share_off(*pair) for pair in pairs]
    times = (abs(actual - exact) / bound for actual, exact, bound in zip(got, wanted, bounds, strict=True))
    return max(shares), max(float(each.max()) for each in times)
