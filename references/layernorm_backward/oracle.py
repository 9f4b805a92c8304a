"""Long-double oracle of layer normalisation: forward, backward and the forward-mode derivative.

All results are np.longdouble, but where a caller names another type as `wide`. x (B,T,D), gamma, beta (D,), eps float;
x86 long double carries 64 mantissa bits, so float64 inputs up to an offset of 1e10 are still resolved to about 1e-18 of
a row's spread.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LongArray = NDArray[np.longdouble]
AnyArray = NDArray[np.floating[Any]]


def statistics(x: AnyArray, eps: float, wide: type = np.longdouble) -> tuple[LongArray, LongArray]:
    """Standardised rows xhat (B,T,D) and rstd = 1/sqrt(var + eps) (B,T,1), worked out and returned as `wide`."""
    rows = np.asarray(x, dtype=wide)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    centred = centred - centred.mean(axis=-1, keepdims=True)    # removes the rounding of the first mean
    var = (centred * centred).mean(axis=-1, keepdims=True)
    rstd = wide(1) / np.sqrt(var + wide(eps))
    return centred * rstd, rstd


def forward(x: AnyArray, gamma: AnyArray, beta: AnyArray, eps: float, wide: type = np.longdouble) -> LongArray:
    """y (B,T,D) = gamma xhat + beta."""
    xhat, _ = statistics(x, eps, wide)
    return np.asarray(gamma, wide) * xhat + np.asarray(beta, wide)


def backward(
    x: AnyArray, gamma: AnyArray, dy: AnyArray, eps: float, wide: type = np.longdouble
) -> tuple[LongArray, LongArray, LongArray]:
    """dx (B,T,D), dgamma (D,), dbeta (D,) of sum(dy * y)."""
    xhat, rstd = statistics(x, eps, wide)
    upstream = np.asarray(dy, wide)
    dx = _transfer(upstream * np.asarray(gamma, wide), xhat, rstd)
    return dx, (upstream * xhat).sum(axis=(0, 1)), upstream.sum(axis=(0, 1))


def tangent(
    x: AnyArray, gamma: AnyArray, eps: float, move_x: AnyArray, move_gamma: AnyArray, move_beta: AnyArray
) -> LongArray:
    """Directional derivative of y (B,T,D) when x, gamma and beta move along move_x, move_gamma, move_beta."""
    xhat, rstd = statistics(x, eps)
    move_xhat = _transfer(np.asarray(move_x, np.longdouble), xhat, rstd)
    scaled = np.asarray(gamma, np.longdouble) * move_xhat
    return scaled + np.asarray(move_gamma, np.longdouble) * xhat + np.asarray(move_beta, np.longdouble)


def standardise_jacobian(row: AnyArray, eps: float) -> LongArray:
    """Jacobian (D,D) of xhat with respect to one row (D,): rstd (I - 1/D - xhat xhat^T / D), symmetric."""
    xhat, rstd = statistics(np.asarray(row)[None, None, :], eps)
    features = np.eye(xhat.shape[-1], dtype=np.longdouble)[:, None, :]
    return _transfer(features, xhat, rstd)[:, 0, :]


def _transfer(rows: LongArray, xhat: LongArray, rstd: LongArray) -> LongArray:
    """Apply the Jacobian of xhat (symmetric, so also its transpose) to rows (B,T,D)."""
    along = (rows * xhat).mean(axis=-1, keepdims=True)
    return rstd * (rows - rows.mean(axis=-1, keepdims=True) - xhat * along)
