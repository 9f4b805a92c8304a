"""How far an honest layer norm may be from the exact one, for every entry of every output, at any size.

At large sizes the conditioning of the oracle is too dear and says too little: it does not grow with the order of
summation, and a sum of thousands of terms left to right does. Here one pass yields the right values and a bound of
each. The model is fl(a op b) = (a op b)(1 + d), |d| <= u, u half the distance from 1 to the next number.

**Sums.** In any order of summation the error is at most u times the sum of the sizes of all intermediate sums (N. J.
Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, eq. 4.3), so at most (n - 1) u sum|t| (eq. 4.4).
That is reached where the sum drifts and every rounding goes one way; where the terms cancel, roundings do too, and
the error stays under sqrt(n) u sum|t| with a small factor (N. J. Higham and T. Mary, A new approach to probabilistic
rounding error analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4). With sum|t| <= sqrt(n) |t|_2 both are within

    sum_bound(t) = u (n |sum t| + n |t|_2 + 4 sum|t|),    the last term for sums of few.

**The rest** follows the errors of mean, variance and deviation through the formulas, with room for several roundings
of each operation (section 3.1). A shift of the mean moves a whole row of xhat and a wrong 1/std scales it, so both are
followed as such: taken entry by entry they would hide faults a thousand times as large. A variance taken as
E[x^2] - E[x]^2 is given room: what digits that costs is judged by the offset ladders.
"""

from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.probing import ProbeFailure

from . import oracle
from .binding import FIELDS, Inputs, Results

Floats = NDArray[Any]
BLOCK = 1 << 15
"""Elements that are worked on at once: the arrays in use then stay in a processor's cache."""
ROUNDINGS = 6
"""Elementary operations on the way to one entry, outside sums."""


class Row(NamedTuple):
    """How far every row of an honest answer may be off, float64: `off` (B,T,D), the rest (B,T,1).

    Attributes:
        scaled: bound of the relative error of rstd.
        shifted: bound of the common shift of a row of xhat, in its units.
        rounded: bound of the roundings of single entries of xhat, their own size apart.
        off: bound of the error of xhat.
    """

    scaled: Floats
    shifted: Floats
    rounded: Floats
    off: Floats


class ColumnSum(NamedTuple):
    """What is known (D,) of one sum over rows: the exact one, and the sums of its terms' squares and sizes."""

    total: Floats
    squares: Floats
    sizes: Floats

    def __add__(self, other: "ColumnSum") -> "ColumnSum":  # type: ignore[override]
        return ColumnSum(*(one + two for one, two in zip(self, other, strict=True)))

    def bound(self, unit: float, rows: int) -> Floats:
        """`sum_bound` of it."""
        size = abs(self.total.astype(np.float64)) + np.sqrt(self.squares)
        bound: Floats = unit * (rows * size + 4 * self.sizes)
        return bound


class Block(NamedTuple):
    """Some rows: their exact y and dx and the bounds of these; their sums for dgamma and dbeta, and the bound (D,) of
    what dgamma is off by before anything is added up."""

    y: Floats
    dx: Floats
    y_bound: Floats
    dx_bound: Floats
    dgamma: ColumnSum
    dbeta: ColumnSum
    carried: Floats


def right_and_bounds(given: Inputs) -> tuple[Results, Results]:
    """The exact outputs, and for each entry how far an honest answer may be from it.

    The outputs are worked out in long double for float64, in float64 for float32; the bounds in float64.
    """
    features, unit, tiny = given.x.shape[-1], given.unit / 2, float(np.finfo(given.x.dtype).tiny)
    x, dy = (values.reshape(1, -1, features) for values in (given.x, given.dy))
    rows, some = x.shape[1], max(1, BLOCK // features)
    cuts = (slice(first, first + some) for first in range(0, rows, some))
    blocks = [_block(replace(given, x=x[:, cut], dy=dy[:, cut])) for cut in cuts]
    y, dx, y_bound, dx_bound = (
        np.concatenate([block[field] for block in blocks], axis=1).reshape(given.x.shape) for field in range(4)
    )
    dgamma, dbeta = (reduce(ColumnSum.__add__, sums) for sums in zip(*(block[4:6] for block in blocks), strict=True))
    carried = sum(block.carried for block in blocks)
    bounds = dgamma.bound(unit, rows) + carried + tiny * (1 + dbeta.sizes), dbeta.bound(unit, rows) + tiny
    return Results(y, dx, dgamma.total, dbeta.total), Results(y_bound, dx_bound, *bounds)


def _block(given: Inputs) -> Block:
    """The exact values and bounds of some rows, x (1,n,D)."""
    wide = np.longdouble if given.dtype == "float64" else np.float64
    xhat, rstd = oracle.statistics(given.x, given.eps, wide)
    gamma, beta, dy = (values.astype(wide) for values in (given.gamma, given.beta, given.dy))
    flow, along = dy * gamma, dy * xhat
    mean, slope = flow.mean(axis=-1, keepdims=True), (along * gamma).mean(axis=-1, keepdims=True)
    y, dx = gamma * xhat + beta, rstd * (flow - mean - xhat * slope)
    rough = (values.astype(np.float64) for values in (xhat, rstd, dx, mean, slope))
    return Block(y, dx, *_row_bounds(given, *rough, along[0].sum(axis=0), dy[0].sum(axis=0)))


def _row_bounds(
    given: Inputs, xhat: Floats, rstd: Floats, dx: Floats, mean: Floats, slope: Floats, dgamma: Floats, dbeta: Floats
) -> tuple[Any, ...]:
    """The rest of a `Block`, in float64, from its exact values."""
    unit, tiny = given.unit / 2, float(np.finfo(given.x.dtype).tiny)
    gamma, beta, dy = (values.astype(np.float64) for values in (given.gamma, given.beta, given.dy))
    size, along, flows = abs(xhat), dy * xhat, abs(dy)
    row = _row(given, size, rstd)
    return (
        abs(gamma) * (row.off + ROUNDINGS * unit * size) + ROUNDINGS * unit * abs(beta) + tiny,
        _dx_bound(row, xhat, size, rstd, dx, dy * gamma, mean, slope, unit)
        + tiny * (1 + rstd) * (1 + np.sqrt(dy.shape[-1])),
        ColumnSum(dgamma, (along * along)[0].sum(axis=0), abs(along)[0].sum(axis=0)),
        ColumnSum(dbeta, (dy * dy)[0].sum(axis=0), flows[0].sum(axis=0)),
        (flows * row.off)[0].sum(axis=0),
    )


def require_within(got: Results, right: Results, bounds: Results, doing: str = "") -> dict[str, float]:
    """The largest error of each output over its bound; none may be over 1.

    Args:
        got: the answer's outputs; None where one was not asked for.
        right: the exact ones.
        bounds: of each entry.
        doing: what was done to get there.
    """
    shares = {}
    for name, actual, exact, bound in zip(FIELDS, got, right, bounds, strict=True):
        if actual is None:
            continue
        over, place = _worst(actual, exact, bound)
        shares[f"{name}_error_over_bound"] = over
        if over > 1:
            _complain(name, place, over, actual, exact, bound, doing)
    return shares


def _worst(actual: Floats, exact: Floats, bound: Floats) -> tuple[float, tuple[Any, ...]]:
    """The largest error over its bound, inf where a value is not finite, and its place."""
    flat, worst, place = [values.reshape(-1) for values in (actual, exact, bound)], -1.0, 0
    for first in range(0, actual.size, BLOCK):
        one, other, most = (values[first : first + BLOCK] for values in flat)
        over = abs(one - other) / most
        over[~np.isfinite(over)] = np.inf
        index = int(np.argmax(over))
        if over[index] > worst:
            worst, place = float(over[index]), first + index
    return worst, np.unravel_index(place, actual.shape)


def _complain(
    name: str, place: tuple[Any, ...], over: float, actual: Floats, exact: Floats, bound: Floats, doing: str
) -> None:  # fmt: skip
    where = f"{name}[{', '.join(map(str, place))}]"
    seen = f"{where} is {actual[place]:.9g} instead of {exact[place]:.9g}; rounding may cost {bound[place]:.2g}"
    raise ProbeFailure(
        f"{name} is wrong", f"{doing}: {seen}" if doing else seen, where=where, expected=float(exact[place]),
        got=float(actual[place]), measured={"error_over_bound": over},
    )  # fmt: skip


def _row(given: Inputs, size: Floats, rstd: Floats) -> Row:
    """Bounds for xhat and rstd; `size` is |xhat|."""
    x, features, unit = given.x.astype(np.float64), given.x.shape[-1], given.unit / 2
    mean, square = x.mean(axis=-1, keepdims=True), (x * x).mean(axis=-1, keepdims=True)
    mean_off = _sum_bound(x, unit) / features + unit * abs(mean)
    # squares drift: their sum has no cancelling roundings to hope for
    var_off = (features + ROUNDINGS) * unit * (square + mean * mean) + mean_off * (mean_off + 2 * abs(mean))
    underflow = float(np.finfo(given.x.dtype).smallest_subnormal) * features / rstd**3  # of rstd^3 / D in some dx
    scaled = ROUNDINGS * unit + _root_off(var_off * rstd * rstd, rstd, given.eps) + underflow
    largest = np.maximum(x.max(axis=-1, keepdims=True), -x.min(axis=-1, keepdims=True))
    shifted, rounded = mean_off * rstd, ROUNDINGS * unit * largest * rstd  # a row may be shifted by an entry first
    spread = scaled + ROUNDINGS * unit * (1 + scaled)
    return Row(scaled, shifted, rounded, spread * size + (shifted + rounded) * (1 + scaled))


def _root_off(relative: Floats, rstd: Floats, eps: float) -> Floats:
    """Relative error of 1/sqrt(var + eps) where that sum is off by a `relative` part of it, and is never under eps."""
    least = np.minimum(1 / (rstd * np.sqrt(eps)), 1 / np.sqrt(np.maximum(1 - relative, 1e-30)))
    off: Floats = np.maximum(least - 1, 1 - 1 / np.sqrt(1 + relative))
    return off


def _dx_bound(
    row: Row, xhat: Floats, size: Floats, rstd: Floats, dx: Floats, flow: Floats, mean: Floats, slope: Floats,
    unit: float,
) -> Floats:  # fmt: skip
    """Bound of dx = rstd (flow - mean - xhat slope), mean and slope those of flow = dy gamma and of flow xhat."""
    features, flows = flow.shape[-1], abs(flow)
    mean_off = _sum_bound(flow, unit) / features + abs(slope) * (unit * np.sqrt(features) + row.shifted)
    slope_off = _sum_bound(flow * xhat, unit) / features + abs(slope) * row.scaled + abs(mean) * row.shifted
    slope_off += (flows * (ROUNDINGS * unit * size + row.rounded)).mean(axis=-1, keepdims=True)
    entries = (size + row.off) * (slope_off + ROUNDINGS * unit * abs(slope)) + abs(slope) * row.off
    inside = mean_off + entries + ROUNDINGS * unit * (flows + abs(mean))
    bound: Floats = abs(dx) * row.scaled + rstd * (1 + row.scaled) * inside
    return bound


def _sum_bound(terms: Floats, unit: float) -> Floats:
    """`sum_bound` along the last axis, which is kept with length 1."""
    size, total = np.sqrt((terms * terms).sum(axis=-1, keepdims=True)), terms.sum(axis=-1, keepdims=True)
    count, sizes = terms.shape[-1], abs(terms).sum(axis=-1, keepdims=True)
    bound: Floats = unit * (count * (abs(total) + size) + 4 * sizes)
    return bound
