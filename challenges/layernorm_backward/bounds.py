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

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.numerics import beyond_rounding
from harness.probing import ProbeFailure, laws

from . import oracle
from .binding import Inputs, Results

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


class Columns(NamedTuple):
    """The sums over some rows, and the bound (D,) of what dgamma is off by before anything is added up."""

    dgamma: ColumnSum
    dbeta: ColumnSum
    carried: Floats

    def __add__(self, other: "Columns") -> "Columns":  # type: ignore[override]
        return Columns(*(one + two for one, two in zip(self, other, strict=True)))


class Block(NamedTuple):
    """What is right of some rows: the exact values and bounds of `y` and `dx`, and the sums over these rows."""

    given: Inputs
    entries: dict[str, tuple[Floats, Floats]]
    sums: list[Columns]

    def repeats(self, other: Inputs) -> bool:
        """Return whether other rows have the same values."""
        return all(np.array_equal(getattr(self.given, name), getattr(other, name)) for name in ("x", "dy"))


class Entry(NamedTuple):
    """One entry of an output: its error over its bound, inf where it is not finite; its place in the flat output."""

    over: float
    place: int
    actual: Any
    exact: Any
    bound: Any


def require_right(got: Results, given: Inputs, doing: str = "") -> dict[str, float]:
    """The largest error of each output over its bound; none may be over 1.

    What is right is worked out in long double for float64, in float64 for float32; the bounds in float64.

    Args:
        got: the answer's outputs; None where they were not asked for, the gradients together.
        given: the inputs they come from.
        doing: what was done to get there.
    """
    worst: dict[str, Entry] = {}

    def judge(name: str, exact: Floats, bound: Floats, first: int = 0) -> None:
        actual = getattr(got, name).reshape(-1)[first : first + exact.size]
        entry = _worst(actual, exact.reshape(-1), bound.reshape(-1), first)
        if name not in worst or entry.over > worst[name].over:
            worst[name] = entry

    parts: list[Columns] = []
    block: Block | None = None
    for first, some in _blocks(given):
        block = block if block and block.repeats(some) else _worked_out(some, got)
        for name, (exact, bound) in block.entries.items():
            judge(name, exact, bound, first)
        parts += block.sums
    if parts:
        for name, total, bound in _parameters(given, reduce(Columns.__add__, parts)):
            judge(name, total, bound)
    for name, entry in worst.items():
        if entry.over > 1:
            _complain(name, np.unravel_index(entry.place, getattr(got, name).shape), entry, doing)
    return {f"{name}_error_over_bound": entry.over for name, entry in worst.items()}


def _blocks(given: Inputs) -> Iterator[tuple[int, Inputs]]:
    """Some rows after others, x (1,n,D), each with the place of its first entry."""
    features = given.x.shape[-1]
    x, dy = (values.reshape(1, -1, features) for values in (given.x, given.dy))
    some = max(1, BLOCK // features)
    for first in range(0, x.shape[1], some):
        cut = slice(first, first + some)
        yield first * features, replace(given, x=x[:, cut], dy=dy[:, cut])


def _worked_out(some: Inputs, got: Results) -> Block:
    """Work out what is right of some rows, so far as it was asked for."""
    xhat, rstd = oracle.statistics(some.x, some.eps, some.wide)
    row = _row(some, abs(xhat.astype(np.float64, copy=False)), rstd.astype(np.float64, copy=False))
    block = Block(some, {}, [])
    if got.y is not None:
        block.entries["y"] = _forward(some, xhat, row)
    if got.dx is not None:
        dx, bound, columns = _backward(some, xhat, rstd, row)
        block.entries["dx"] = dx, bound
        block.sums.append(columns)
    return block


def _forward(given: Inputs, xhat: Floats, row: Row) -> tuple[Floats, Floats]:
    """The exact y, and the bound of each entry."""
    gamma, beta = (values.astype(xhat.dtype) for values in (given.gamma, given.beta))
    unit, size = given.unit, abs(xhat.astype(np.float64, copy=False))
    bound = abs(gamma) * (row.off + ROUNDINGS * unit * size) + ROUNDINGS * unit * abs(beta) + _tiny(given)
    return gamma * xhat + beta, bound.astype(np.float64, copy=False)


def _backward(given: Inputs, xhat: Floats, rstd: Floats, row: Row) -> tuple[Floats, Floats, Columns]:
    """The exact dx, the bound of each entry, and the sums over these rows."""
    gamma, dy = (values.astype(xhat.dtype) for values in (given.gamma, given.dy))
    flow, along = dy * gamma, dy * xhat
    mean, slope = flow.mean(axis=-1, keepdims=True), (along * gamma).mean(axis=-1, keepdims=True)
    dx = rstd * (flow - mean - xhat * slope)
    dgamma, dbeta = along[0].sum(axis=0), dy[0].sum(axis=0)
    # bounds need no long double
    dy, along, *rough = (
        values.astype(np.float64, copy=False) for values in (dy, along, xhat, rstd, dx, flow, mean, slope)
    )
    unit, flows = given.unit, abs(dy)
    underflow = _tiny(given) * (1 + rough[1]) * (1 + np.sqrt(dy.shape[-1]))
    columns = Columns(
        ColumnSum(dgamma, (along * along)[0].sum(axis=0), abs(along)[0].sum(axis=0)),
        ColumnSum(dbeta, (dy * dy)[0].sum(axis=0), flows[0].sum(axis=0)),
        (flows * row.off)[0].sum(axis=0),
    )
    return dx, _dx_bound(row, *rough, unit) + underflow, columns


def _parameters(given: Inputs, sums: Columns) -> Iterator[tuple[str, Floats, Floats]]:
    """The exact dgamma and dbeta, and the bound of each entry."""
    rows, unit, tiny = given.x.size // given.x.shape[-1], given.unit, _tiny(given)
    yield "dgamma", sums.dgamma.total, sums.dgamma.bound(unit, rows) + sums.carried + tiny * (1 + sums.dbeta.sizes)
    yield "dbeta", sums.dbeta.total, sums.dbeta.bound(unit, rows) + tiny


def _tiny(given: Inputs) -> float:
    """Below this numbers lose digits."""
    return float(np.finfo(given.x.dtype).tiny)


def _worst(actual: Floats, exact: Floats, bound: Floats, first: int) -> Entry:
    """The entry (n,) with the largest error over its bound; `first` is the place of the first one."""
    over = abs((actual - exact).astype(np.float64, copy=False)) / bound
    over[~np.isfinite(over)] = np.inf
    index = int(np.argmax(over))
    return Entry(float(over[index]), first + index, actual[index], exact[index], bound[index])


def _complain(name: str, place: tuple[Any, ...], entry: Entry, doing: str) -> None:
    near = abs(entry.actual - entry.exact) <= laws.DIGITS[entry.actual.dtype.name] * (1 + abs(entry.exact))
    how = "less exact than rounding explains" if near else "wrong"
    where = f"{name}[{', '.join(map(str, place))}]"
    seen = f"{where} is {beyond_rounding(entry.actual, entry.exact, entry.bound)}"
    raise ProbeFailure(
        f"{name} is {how}", f"{doing}: {seen}" if doing else seen, where=where, expected=float(entry.exact),
        got=float(entry.actual), measured={"error_over_bound": entry.over},
    )  # fmt: skip


def _row(given: Inputs, size: Floats, rstd: Floats) -> Row:
    """Bounds for xhat and rstd; `size` is |xhat|."""
    x, features, unit = given.x.astype(np.float64), given.x.shape[-1], given.unit
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
    row: Row, xhat: Floats, rstd: Floats, dx: Floats, flow: Floats, mean: Floats, slope: Floats, unit: float
) -> Floats:  # fmt: skip
    """Bound of dx = rstd (flow - mean - xhat slope), mean and slope those of flow = dy gamma and of flow xhat."""
    features, flows, size = flow.shape[-1], abs(flow), abs(xhat)
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
