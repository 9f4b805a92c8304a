"""Gradient checks: analytic gradients against finite differences in a handful of forward passes.

Rows of a layer norm are independent, so each moves along its own random direction u_r, all at once, and

    n_r = (8 (L_r(h) - L_r(-h)) - (L_r(2h) - L_r(-2h))) / (12 h),    L_r(t) = <dy_r, y_r(x + t u)>

is compared with <dx_r, u_r>. Feature d of y is affine in gamma_d and beta_d and depends on no others, so one more pass
gives each of their gradients exactly. Two directions cost 12 passes for any shape, differencing by element 2 N.

If a forward couples its rows, only the sum over rows is a derivative, and only the sum is judged.

Both sides can be wrong alike: a forward without eps has its own correct gradient. So an oracle must judge the values.
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
"""`forward(x, gamma, beta, eps) -> y`, with x and y (..., D), gamma and beta (D,). It must return a fresh array and not
change its arguments."""

TOLERANCE = 1e-9
"""Largest passing residual of dx, relative to its row's norm. Correct gradients measured at most 6e-12 for D from 8 to
4096, and 1e-10 for D of 2 and 3 or a row mean of 1000 standard deviations."""
AFFINE_TOLERANCE = 1e-10
"""Largest passing residual of dgamma and dbeta, relative to |dy||y| of the column, their Cauchy-Schwarz bound. Correct
gradients measured at most 2e-15, and 1e-11 for a sequential sum at a row mean of 1000 standard deviations."""
PROBES = 2
"""Random directions. Two opposite faults in one row hide from one direction with probability 1/256."""

_STEP = 5e-4
"""Step of the differences in units of a row's sqrt(var + eps): truncation h^4 and rounding eps/h are near 1e-12."""
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding allowed to one forward pass; it matters only if the gradient nearly vanishes."""
_BLOCK = 1 << 19
"""Elements in one batch that locates a fault (4 MB)."""


@dataclass(frozen=True, slots=True)
class GradientFault:
    """One wrong gradient, at its worst position."""

    term: str
    """"dx", "dgamma" or "dbeta"."""
    index: tuple[int, ...] | None
    """Position in that gradient; None for coupled rows or a wrong shape."""
    expected: float
    """Finite difference there; NaN without an index."""
    got: float
    detail: str

    @property
    def row(self) -> tuple[int, ...] | None:
        """Leading indices of a fault in dx."""
        return self.index[:-1] if self.index is not None and self.term == "dx" else None

    @property
    def feature(self) -> int | None:
        """Last index of the position."""
        return self.index[-1] if self.index is not None else None


@dataclass(frozen=True, slots=True)
class GradientReport:
    """Result of a check. Residuals are dimensionless; NaN anywhere counts as inf."""

    rows_independent: bool
    dx: float | None
    """Worst residual of a row, at most `TOLERANCE` if correct; None for coupled rows, which cannot be judged singly."""
    total: float
    """Worst residual of the sum over rows; at most `TOLERANCE` if correct."""
    dgamma: float
    """Worst residual of a feature; at most `AFFINE_TOLERANCE` if correct."""
    dbeta: float
    forwards: int
    """Forward passes used, including those that located a fault."""
    faults: tuple[GradientFault, ...]
    """At most one fault per gradient, in the order dx, dgamma, dbeta."""

    @property
    def passed(self) -> bool:
        """True without faults."""
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
    """Check the gradients of <dy, forward(x, gamma, beta, eps)>.

    Args:
        gradients: (dx, dgamma, dbeta) from the backward.
        x: (..., D) float64, rows of mean and spread about 1 (a large mean costs the differences their digits).
        gamma: (D,) float64; likewise beta.
        dy: float64, shape of x.
        eps: > 0, passed to the forward.
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
    gamma_check, beta_check = _difference_affine(rows, y, {"gamma": dgamma, "beta": dbeta})
    faults = [_find_fault_in_dx(rows, dx, by_row, total) if independent else _find_fault_in_total(total)]
    faults += [_find_fault_in_column("dgamma", gamma_check, dgamma), _find_fault_in_column("dbeta", beta_check, dbeta)]
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
        self.forwards += 1
        x = rows.reshape(self.shape if rows.shape == self.x.shape else (1,) * (len(self.shape) - 2) + rows.shape)
        parameters = self.affine | affine
        y = self._forward(x, parameters["gamma"], parameters["beta"], self._eps)
        if np.shape(y) != x.shape:
            return np.full(rows.shape, math.nan)
        return np.ascontiguousarray(y, dtype=np.float64).reshape(rows.shape)

    def independence(self, rng: np.random.Generator) -> tuple[Array, bool]:
        """Return y, and whether a random half of its rows stays bit-identical while the rest of x moves."""
        y = self(self.x)
        moves = rng.permutation(len(y)) < len(y) // 2
        moved = self(self.x * np.where(moves, -2.0, 1.0)[:, None])
        same = (moved.view(np.int64) == y.view(np.int64)).all(axis=1)
        return y, bool((same | moves).all())

    def loss(self, rows: Array) -> Array:
        return _dot(self.dy, self(rows))


def _project(rows: _Rows, y: Array, dx: Array, rng: np.random.Generator, probes: int) -> tuple[Array, float]:
    """Return the worst residuals over the probes: of each row, shape (R,), and of the sum over rows."""
    scale = _compute_error_scale(rows, y, dx)
    by_row, total = np.zeros(len(dx)), 0.0
    scratch = np.empty((2, *dx.shape))
    for _ in range(probes):
        error = _compute_directional_error(rows, dx, rng, scratch)
        by_row = np.maximum(by_row, _scale_error(error, scale))
        total = max(total, float(_scale_error(error.sum(), float(np.linalg.norm(scale)))))
    return by_row, total


def _compute_error_scale(rows: _Rows, y: Array, dx: Array) -> Array:
    """Return the scale for the error of a row's directional difference, shape (R,).

    It is the gradient's norm times the step, plus a correct pair's error when the terms of dx cancel (D = 2, tiny
    rows): a hundredth of these terms, and the rounding of one forward pass, where a sequential sum costs sqrt(D) ulps
    of x.
    """
    step = rows.step[:, 0]
    uncancelled = _norm(rows.dy * rows.affine["gamma"]) * _STEP / step
    rounding = _ROUNDING * (_norm(rows.dy) * _norm(y) + uncancelled * _norm(rows.x))
    scale: Array = step * (_norm(dx) + 0.01 * uncancelled) + rounding / TOLERANCE
    return scale


def _compute_directional_error(rows: _Rows, dx: Array, rng: np.random.Generator, scratch: Array) -> Array:
    """Return fourth-order difference minus analytic derivative along one direction per row, times the row's step."""
    direction, point = scratch  # (2, R, D); new arrays' page faults would cost more than the arithmetic
    np.multiply(_weights(dx.shape, rng), rows.step / 128.0, out=direction)
    analytic = _dot(dx, direction)
    near = rows.loss(np.add(rows.x, direction, out=point)) - rows.loss(np.subtract(rows.x, direction, out=point))
    direction *= 2.0
    far = rows.loss(np.add(rows.x, direction, out=point)) - rows.loss(np.subtract(rows.x, direction, out=point))
    error: Array = (8.0 * near - far) / 12.0 - analytic
    return error


@dataclass(frozen=True, slots=True)
class _Columns:
    """Exact gradient of gamma or beta, and residuals of the analytic one, both (D,)."""

    expected: Array
    residuals: Array


def _difference_affine(rows: _Rows, y: Array, gradients: dict[str, Array]) -> list[_Columns]:
    """Difference all features at once, by a step of 1, which is exact for an affine y."""
    base, dy_square, y_square = _column_dot(rows.dy, y), _column_dot(rows.dy, rows.dy), _column_dot(y, y)
    columns = []
    for name, analytic in gradients.items():
        moved = rows(rows.x, **{name: rows.affine[name] + 1.0})
        expected = _column_dot(rows.dy, moved) - base
        scale = np.sqrt(dy_square * (y_square + _column_dot(moved, moved)))
        columns.append(_Columns(expected, _scale_error(expected - analytic, scale)))
    return columns


def _find_fault_in_dx(rows: _Rows, dx: Array, by_row: Array, total: float) -> GradientFault | None:
    bad = int((by_row > TOLERANCE).sum())
    if bad == 0:
        return _find_fault_in_total(total)
    worst_row = int(by_row.argmax())
    got = dx.reshape(rows.x.shape)[worst_row]
    expected = _difference_elementwise(rows, worst_row)
    feature = int(np.abs(expected - got).argmax())
    index = (*(int(i) for i in np.unravel_index(worst_row, rows.shape[:-1])), feature)
    where = f"{bad} of {len(by_row)} rows disagree with finite differences, worst at dx{list(index)}"
    return _fault("dx", index, expected[feature], got[feature], where)


def _difference_elementwise(rows: _Rows, row: int) -> Array:
    """Return fourth-order differences of one row by each element, shape (D,)."""
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


def _find_fault_in_total(total: float) -> GradientFault | None:
    if total <= TOLERANCE:
        return None
    detail = f"the forward couples its rows, and dx summed along a random direction is off by {total:.1e} of its norm"
    return GradientFault("dx", None, math.nan, math.nan, detail)


def _find_fault_in_column(term: str, check: _Columns, got: Array) -> GradientFault | None:
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
    # Magnitudes run from 128 to 256: a weight near 0 could hide a wrong element, and signs alone would let every second
    # pair of opposite errors cancel.
    byte = np.frombuffer(rng.bytes(math.prod(shape)), dtype=np.int8).astype(np.int16).reshape(shape)
    return byte + np.int16(128) - np.int16(256) * (byte < 0)


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.vecdot(a, b))


def _norm(a: Array) -> Array:
    norms: Array = np.sqrt(_dot(a, a))
    return norms


def _column_dot(a: Array, b: Array) -> Array:
    products: Array = np.einsum("rd,rd->d", a, b)
    return products


def _scale_error(error: NDArray[Any] | float, scale: NDArray[Any] | float) -> Array:
    """Return |error| / scale; 0 for a zero error, inf for a non-finite error or scale."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0.0, 0.0, np.abs(error) / scale)
    # An overflowed scale must not excuse a huge gradient.
    known: Array = np.where(np.isfinite(error) & np.isfinite(scale), ratio, math.inf)
    return known
