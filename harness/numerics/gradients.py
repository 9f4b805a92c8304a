"""Checks analytic gradients against finite differences in a handful of forward passes.

The rows of a layer norm do not see one another, so all rows are differenced at once: every row moves along its own
random direction u_r and

    n_r = (8 (L_r(h) - L_r(-h)) - (L_r(2h) - L_r(-2h))) / (12 h),    L_r(t) = <dy_r, y_r(x + t u)>

is compared with <dx_r, u_r>. The entries of u are +-1 times magnitudes from 1 to 2: no weight is near 0, so one wrong
element always shows at its full size or more (a Gaussian weight may hide it), and the magnitudes keep two wrong
elements of a row from cancelling (under signs alone every second opposite pair does).
The output is affine in gamma and in beta, and feature d of it sees only gamma_d and beta_d, so one pass more gives each
of their gradients exactly. Two directions cost 12 passes whatever the shape; element by element costs 2 N.

Whether rows are independent is measured first. If they are not, only the sum over rows is a derivative and is judged
alone; it is judged in any case, at no extra pass.

A consistent pair can be wrong on both sides (a forward without eps has a right gradient of its own), so this checks
the pair, and an oracle judges the values.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics.figures import distinct

Array = NDArray[np.float64]
Forward = Callable[[Array, Array, Array, float], NDArray[Any]]
"""`forward(x, gamma, beta, eps) -> y`: x and y (..., D), gamma and beta (D,). It must leave its arguments alone and
return a fresh array."""

TOLERANCE = 1e-9
"""Largest residual of dx that passes, relative to the norm of its row. Right gradients measured at most 6e-12 for D
from 8 to 4096, and 1e-10 for D of 2 and 3 or a row mean of 1000 spreads."""
AFFINE_TOLERANCE = 1e-10
"""Largest residual of dgamma and dbeta that passes, relative to |dy||y| of the column, their Cauchy-Schwarz bound.
Right gradients measured at most 2e-15, and 1e-11 for a sequential sum at a row mean of 1000 spreads."""
PROBES = 2
"""Random directions: two opposite faults in one row hide from one with probability 1/256."""

_STEP = 5e-4
"""Step of the differences in units of the row's sqrt(var + eps): truncation h^4 and rounding eps/h both near 1e-12."""
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Allowed relative rounding of one forward pass: binds only where the gradient itself nearly vanishes."""
_BLOCK = 1 << 19
"""Elements of one localising batch (4 MB)."""


@dataclass(frozen=True, slots=True)
class GradientFault:
    """One gradient that disagrees, at its worst position."""

    term: str
    """"dx", "dgamma" or "dbeta"."""
    index: tuple[int, ...] | None
    """Position in that gradient; None where none can be named (coupled rows, a wrong shape)."""
    expected: float
    """The finite difference there; NaN without an index."""
    got: float
    detail: str

    @property
    def row(self) -> tuple[int, ...] | None:
        """Leading part of the position of a fault in dx, such as (b, t)."""
        return self.index[:-1] if self.index is not None and self.term == "dx" else None

    @property
    def feature(self) -> int | None:
        """Last part of the position."""
        return self.index[-1] if self.index is not None else None


@dataclass(frozen=True, slots=True)
class GradientReport:
    """What the check found. Residuals are dimensionless; NaN anywhere counts as inf."""

    rows_independent: bool
    dx: float | None
    """Worst residual of a row, at most `TOLERANCE` when right; None when rows are coupled: none is judged alone."""
    total: float
    """Worst residual of the sum over rows; at most `TOLERANCE` when right."""
    dgamma: float
    """Worst residual of a feature; at most `AFFINE_TOLERANCE` when right."""
    dbeta: float
    forwards: int
    """Forward passes used, those that named the fault included."""
    faults: tuple[GradientFault, ...]
    """At most one per gradient, in the order dx, dgamma, dbeta."""

    @property
    def passed(self) -> bool:
        """Whether the gradients are those of the forward."""
        return not self.faults


@np.errstate(invalid="ignore", over="ignore")
def check_gradients(
    forward: Forward,
    gradients: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    *,
    x: Array,
    gamma: Array,
    beta: Array,
    dy: Array,
    eps: float,
    rng: np.random.Generator,
    probes: int = PROBES,
) -> GradientReport:
    """Compare analytic gradients of <dy, forward(x, gamma, beta, eps)> with finite differences.

    Args:
        forward: the function whose gradients they should be; it may live in another process.
        gradients: (dx, dgamma, dbeta) as the backward returned them.
        x: (..., D) float64, rows of mean and spread of about 1 (a large mean costs the differences their digits).
        gamma: (D,) float64; likewise beta.
        dy: float64, shape of x.
        eps: > 0, as the forward receives it.
        rng: source of the directions.
        probes: directions tried.

    Raises:
        ValueError: an input is not float64 or has the wrong shape.
    """
    _require_inputs(x, gamma, beta, dy)
    wanted = [x.shape, gamma.shape, beta.shape]
    if [np.shape(g) for g in gradients] != wanted:
        return _misshapen([np.shape(g) for g in gradients], wanted)
    dx, dgamma, dbeta = (np.asarray(g, dtype=np.float64) for g in gradients)
    rows = _Rows(forward, x, gamma, beta, dy, eps)
    y, independent = rows.independence(rng)
    by_row, total = _project(rows, y, dx.reshape(rows.x.shape), rng, probes)
    gamma_check, beta_check = _affine(rows, y, {"gamma": dgamma, "beta": dbeta})
    faults = [_fault_in_dx(rows, dx, by_row, total) if independent else _fault_in_total(total)]
    faults += [_fault_in_column("dgamma", gamma_check, dgamma), _fault_in_column("dbeta", beta_check, dbeta)]
    return GradientReport(
        rows_independent=independent,
        dx=float(by_row.max()) if independent else None,
        total=total,
        dgamma=float(gamma_check.residuals.max()),
        dbeta=float(beta_check.residuals.max()),
        forwards=rows.forwards,
        faults=tuple(fault for fault in faults if fault),
    )


class _Rows:
    """The forward as a map from rows (R, D) to rows; counts its passes."""

    def __init__(self, forward: Forward, x: Array, gamma: Array, beta: Array, dy: Array, eps: float) -> None:
        self.shape = x.shape
        self.x = x.reshape(-1, x.shape[-1])
        self.dy = dy.reshape(self.x.shape)
        self.affine = {"gamma": gamma, "beta": beta}
        self.step = _STEP * np.sqrt(self.x.var(axis=1, keepdims=True) + eps)
        self.forwards = 0
        self._forward = forward
        self._eps = eps

    def __call__(self, rows: Array, **affine: Array) -> Array:
        """y of any number of rows, in the shape of x where the number allows; a reply of another shape is NaN."""
        self.forwards += 1
        x = rows.reshape(self.shape if rows.shape == self.x.shape else (1,) * (len(self.shape) - 2) + rows.shape)
        parameters = self.affine | affine
        y = self._forward(x, parameters["gamma"], parameters["beta"], self._eps)
        if np.shape(y) != x.shape:
            return np.full(rows.shape, math.nan)
        return np.ascontiguousarray(y, dtype=np.float64).reshape(rows.shape)

    def independence(self, rng: np.random.Generator) -> tuple[Array, bool]:
        """y, and whether a random half of its rows stays bit-identical while the other half of x moves."""
        y = self(self.x)
        moves = rng.permutation(len(y)) < len(y) // 2
        moved = self(self.x * np.where(moves, -2.0, 1.0)[:, None])
        same = (moved.view(np.int64) == y.view(np.int64)).all(axis=1)
        return y, bool((same | moves).all())

    def loss(self, rows: Array) -> Array:
        """<dy_r, y_r> of every row, shape (R,)."""
        return _dot(self.dy, self(rows))


def _project(rows: _Rows, y: Array, dx: Array, rng: np.random.Generator, probes: int) -> tuple[Array, float]:
    """Worst residual over the probes of every row, shape (R,), and of the sum over rows."""
    scale = _error_scale(rows, y, dx)
    by_row, total = np.zeros(len(dx)), 0.0
    scratch = np.empty((2, *dx.shape))
    for _ in range(probes):
        error = _directional_error(rows, dx, rng, scratch)
        by_row = np.maximum(by_row, _relative(error, scale))
        total = max(total, float(_relative(error.sum(), float(np.linalg.norm(scale)))))
    return by_row, total


def _error_scale(rows: _Rows, y: Array, dx: Array) -> Array:
    """What the error of a row's directional difference is measured against, shape (R,).

    Its gradient's norm times the step, plus what a right pair may lose where the terms of dx cancel (D = 2, tiny
    rows): a hundredth of their size before cancelling, and the rounding of one forward pass, in which a sequential sum
    over the row counts sqrt(D) ulps of x.
    """
    step = rows.step[:, 0]
    uncancelled = _norm(rows.dy * rows.affine["gamma"]) * _STEP / step
    rounding = _ROUNDING * (_norm(rows.dy) * _norm(y) + uncancelled * _norm(rows.x))
    scale: Array = step * (_norm(dx) + 0.01 * uncancelled) + rounding / TOLERANCE
    return scale


def _directional_error(rows: _Rows, dx: Array, rng: np.random.Generator, scratch: Array) -> Array:
    """Fourth-order difference minus analytic derivative along one direction per row, times the row's step.

    `scratch` (2, R, D) is reused: fresh arrays of this size cost more in page faults than the arithmetic on them.
    """
    direction, point = scratch
    np.multiply(_weights(dx.shape, rng), rows.step / 128.0, out=direction)
    analytic = _dot(dx, direction)
    near = rows.loss(np.add(rows.x, direction, out=point)) - rows.loss(np.subtract(rows.x, direction, out=point))
    direction *= 2.0
    far = rows.loss(np.add(rows.x, direction, out=point)) - rows.loss(np.subtract(rows.x, direction, out=point))
    error: Array = (8.0 * near - far) / 12.0 - analytic
    return error


@dataclass(frozen=True, slots=True)
class _Columns:
    """Exact gradient of gamma or beta, shape (D,), with the residuals of the analytic one."""

    expected: Array
    residuals: Array


def _affine(rows: _Rows, y: Array, gradients: dict[str, Array]) -> list[_Columns]:
    """Difference all features at once: y is affine in each of the named parameters, so a step of 1 loses nothing."""
    base, dy_square, y_square = _column_dot(rows.dy, y), _column_dot(rows.dy, rows.dy), _column_dot(y, y)
    columns = []
    for name, analytic in gradients.items():
        moved = rows(rows.x, **{name: rows.affine[name] + 1.0})
        expected = _column_dot(rows.dy, moved) - base
        scale = np.sqrt(dy_square * (y_square + _column_dot(moved, moved)))
        columns.append(_Columns(expected, _relative(expected - analytic, scale)))
    return columns


def _fault_in_dx(rows: _Rows, dx: Array, by_row: Array, total: float) -> GradientFault | None:
    """The worst element of the worst row, by differencing each element of that row."""
    bad = int((by_row > TOLERANCE).sum())
    if bad == 0:
        return _fault_in_total(total)
    worst_row = int(by_row.argmax())
    got = dx.reshape(rows.x.shape)[worst_row]
    expected = _elementwise(rows, worst_row)
    feature = int(np.abs(expected - got).argmax())
    index = (*(int(i) for i in np.unravel_index(worst_row, rows.shape[:-1])), feature)
    where = f"{bad} of {len(by_row)} rows disagree with finite differences, worst at dx{list(index)}"
    return _fault("dx", index, expected[feature], got[feature], where)


def _elementwise(rows: _Rows, row: int) -> Array:
    """Fourth-order differences of one row by each of its elements, shape (D,): copies of the row as one batch."""
    x, dy, step = rows.x[row], rows.dy[row], float(rows.step[row, 0])
    gradient: Array = np.empty_like(x)
    height = max(1, _BLOCK // len(x))
    for start in range(0, len(x), height):
        columns = np.arange(start, min(start + height, len(x)))
        losses = []
        for offset in (step, -step, 2.0 * step, -2.0 * step):
            batch = np.tile(x, (len(columns), 1))
            batch[np.arange(len(columns)), columns] += offset
            losses.append(rows(batch) @ dy)
        gradient[columns] = (8.0 * (losses[0] - losses[1]) - (losses[2] - losses[3])) / (12.0 * step)
    return gradient


def _fault_in_total(total: float) -> GradientFault | None:
    if total <= TOLERANCE:
        return None
    detail = f"the forward couples its rows, and dx summed along a random direction is off by {total:.1e} of its norm"
    return GradientFault("dx", None, math.nan, math.nan, detail)


def _fault_in_column(term: str, check: _Columns, got: Array) -> GradientFault | None:
    bad = int((check.residuals > AFFINE_TOLERANCE).sum())
    if bad == 0:
        return None
    feature = int(check.residuals.argmax())
    where = f"{bad} of {len(got)} features disagree with exact differences, worst at {term}[{feature}]"
    return _fault(term, (feature,), check.expected[feature], got[feature], where)


def _fault(term: str, index: tuple[int, ...], expected: float, got: float, where: str) -> GradientFault:
    right, seen = distinct(expected, got)
    return GradientFault(term, index, float(expected), float(got), f"{where}: expected {right}, got {seen}")


def _misshapen(shapes: list[tuple[int, ...]], wanted: list[tuple[int, ...]]) -> GradientReport:
    """The report on gradients that cannot be compared: nothing was run."""
    faults = tuple(
        GradientFault(term, None, math.nan, math.nan, f"{term} has shape {shape}, not {right}")
        for term, shape, right in zip(("dx", "dgamma", "dbeta"), shapes, wanted, strict=True)
        if shape != right
    )
    return GradientReport(True, math.inf, math.inf, math.inf, math.inf, 0, faults)


def _require_inputs(x: Array, gamma: Array, beta: Array, dy: Array) -> None:
    if x.ndim < 2 or x.size == 0:
        raise ValueError(f"x must be a non-empty (..., R, D) array, not one of shape {x.shape}")
    wanted = {"x": x.shape, "gamma": x.shape[-1:], "beta": x.shape[-1:], "dy": x.shape}
    for (name, shape), array in zip(wanted.items(), (x, gamma, beta, dy), strict=True):
        if array.dtype != np.float64 or array.shape != shape:
            raise ValueError(f"{name} must be float64 of shape {shape}, not {array.dtype} of shape {array.shape}")


def _weights(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int16]:
    """Random signs times magnitudes from 1 to 2, in units of 1/128: one random byte each."""
    byte = np.frombuffer(rng.bytes(math.prod(shape)), dtype=np.int8).astype(np.int16).reshape(shape)
    return byte + np.int16(128) - np.int16(256) * (byte < 0)


def _dot(a: Array, b: Array) -> Array:
    """Row-wise inner products, shape (R,)."""
    return np.asarray(np.vecdot(a, b))


def _norm(a: Array) -> Array:
    norms: Array = np.sqrt(_dot(a, a))
    return norms


def _column_dot(a: Array, b: Array) -> Array:
    """Column-wise inner products, shape (D,)."""
    products: Array = np.einsum("rd,rd->d", a, b)
    return products


def _relative(error: NDArray[Any] | float, scale: NDArray[Any] | float) -> Array:
    """|error| / scale; no error is 0 whatever the scale, and where either is not finite the result is inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0.0, 0.0, np.abs(error) / scale)
    # An overflowed scale must not excuse a huge gradient.
    known: Array = np.where(np.isfinite(error) & np.isfinite(scale), ratio, math.inf)
    return known
