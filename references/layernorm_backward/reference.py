"""Layer normalisation with hand-derived gradients: the trusted solution of `layernorm_backward`.

x (B,T,D); gamma, beta (D,). Each of the B*T rows is standardised over its D features:

    mean = sum_d x / D        var = sum_d (x - mean)^2 / D      rstd = 1 / sqrt(var + eps)
    xhat = (x - mean) rstd    y = gamma xhat + beta

With dxhat = dy gamma, the chain rule through mean and var collapses to

    dx = rstd (dxhat - mean_d(dxhat) - xhat mean_d(dxhat xhat))

so a backward needs xhat, rstd and gamma, and nothing else.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Forward = Callable[[Array, Array, Array, float], tuple[Array, Any]]
Backward = Callable[[Array, Any], tuple[Array, Array, Array]]

PROBES = 3
RELATIVE_STEP = 1e-3    # times sqrt(var + eps): fourth-order truncation then stays near 1e-12
DX_TOLERANCE = 1e-9
AFFINE_TOLERANCE = 1e-11    # y is affine in gamma and beta, so their differences carry rounding only


def forward(x: Array, gamma: Array, beta: Array, eps: float) -> tuple[Array, dict[str, Array]]:
    """Normalise each row of x (B,T,D), scale by gamma (D,), shift by beta (D,): y (B,T,D) and the cache."""
    _check_arguments(x, gamma, beta, eps)
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    var = np.mean(centred * centred, axis=-1, keepdims=True)
    rstd = 1.0 / np.sqrt(var + float(eps))
    xhat = centred * rstd
    y = gamma * xhat + beta
    return y, {"xhat": xhat, "rstd": rstd, "gamma": gamma}


def backward(dy: Array, cache: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Gradients dx (B,T,D), dgamma (D,), dbeta (D,) of sum(dy * y), for dy (B,T,D)."""
    xhat, rstd, gamma = cache["xhat"], cache["rstd"], cache["gamma"]
    _require(dy.shape == xhat.shape, f"dy has shape {dy.shape}, x had {xhat.shape}")
    dgamma = (dy * xhat).sum(axis=(0, 1))
    dbeta = dy.sum(axis=(0, 1))
    dxhat = dy * gamma
    mean_term = dxhat.mean(axis=-1, keepdims=True)
    projection = (dxhat * xhat).mean(axis=-1, keepdims=True)
    dx = rstd * (dxhat - mean_term - xhat * projection)
    return dx, dgamma, dbeta


def check_gradients(
    forward: Forward, backward: Backward, x: Array, gamma: Array, beta: Array, dy: Array, eps: float
) -> bool:
    """Whether the pair's dx, dgamma and dbeta agree with finite differences of its own forward.

    Every row is differenced at once along directions of entries +-1 to +-2, so a wrong element always shows at full
    size or more, and a row of dx, whose sum is 0, never falls out; float32 inputs are checked in float64. The inputs
    stay as they were.
    """
    x, gamma, beta, dy = (np.array(values, dtype=np.float64) for values in (x, gamma, beta, dy))
    _, cache = forward(x, gamma, beta, eps)
    numeric_dbeta, dbeta_slack = _affine_slope(lambda t: forward(x, gamma, beta + t, eps)[0], dy)
    numeric_dgamma, dgamma_slack = _affine_slope(lambda t: forward(x, gamma + t, beta, eps)[0], dy)
    dx, dgamma, dbeta = backward(dy, cache)    # after a forward with another gamma: a shared cache shows
    if dx.shape != x.shape or dgamma.shape != gamma.shape or dbeta.shape != beta.shape:
        return False
    resolution = np.abs(x).max(axis=-1, keepdims=True) / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    dgamma_slack += 8.0 * np.finfo(np.float64).eps * (np.abs(dy) * resolution).sum(axis=(0, 1))
    dgamma_agrees = np.abs(dgamma - numeric_dgamma) <= dgamma_slack
    dbeta_agrees = np.abs(dbeta - numeric_dbeta) <= dbeta_slack
    dx_agrees = _rows_agree(lambda points: forward(points, gamma, beta, eps)[0], x, dy, dx, gamma, eps)
    return bool(dgamma_agrees.all() and dbeta_agrees.all() and dx_agrees)


def _affine_slope(output: Callable[[float], Array], dy: Array) -> tuple[Array, Array]:
    """Slope (D,) of sum(dy * output(t)) in each column at t = 0, and the rounding it may carry (D,)."""
    above, below = output(1.0), output(-1.0)
    slope = (dy * (above - below)).sum(axis=(0, 1)) / 2.0
    slack = AFFINE_TOLERANCE * (np.abs(dy) * (np.abs(above) + np.abs(below))).sum(axis=(0, 1))
    return slope, slack


def _rows_agree(
    output: Callable[[Array], Array], x: Array, dy: Array, dx: Array, gamma: Array, eps: float
) -> bool:
    """Whether <dx_r, u_r> is the fourth-order slope of <dy_r, y_r> along u_r, in every row r and probe u."""
    spread = np.sqrt(x.var(axis=-1) + eps)
    step = RELATIVE_STEP * spread
    scale = np.linalg.norm(dy * gamma, axis=-1) / spread
    rounding = np.abs(x).max(axis=-1) * scale + (np.abs(dy) * np.abs(output(x))).sum(axis=-1)
    slack = DX_TOLERANCE * scale + 8.0 * np.finfo(np.float64).eps * rounding / step
    rng = np.random.default_rng(20)
    for _ in range(PROBES):
        direction = rng.choice((-1.0, 1.0), size=x.shape) * rng.uniform(1.0, 2.0, size=x.shape)
        move = step[..., None] * direction
        near = output(x + move) - output(x - move)
        far = output(x + 2.0 * move) - output(x - 2.0 * move)
        slope = (dy * (8.0 * near - far)).sum(axis=-1) / (12.0 * step)
        if not (np.abs(slope - (dx * direction).sum(axis=-1)) <= slack).all():
            return False
    return True


def _check_arguments(x: Array, gamma: Array, beta: Array, eps: float) -> None:
    _require(x.ndim == 3 and x.size > 0, f"x has shape {x.shape}, expected (B,T,D) with B, T, D >= 1")
    _require(gamma.shape == x.shape[2:], f"gamma has shape {gamma.shape}, expected {x.shape[2:]}")
    _require(beta.shape == x.shape[2:], f"beta has shape {beta.shape}, expected {x.shape[2:]}")
    _require(eps > 0, f"eps is {eps}, expected a positive number")


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
