"""A finite-difference check of layer-norm gradients whose cost does not grow with the number of elements checked.

One direction, of entries 1 to 2 in size, moves every element of every row at once, and each row of y answers for its
own row of x, so one pair of forward calls yields a slope per row. A wrong element of dx enters its row's slope at full
size or more; and as the entries differ, a row of dx, which adds up to 0, never falls out of it. y is affine in gamma
and in beta and its columns do not mix, so two forward calls yield all of dgamma, and two all of dbeta, up to rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pair = tuple[Callable[..., Any], Callable[..., Any]]

DIRECTIONS = 3
STEP = 1e-3             # in units of the row's own sqrt(var + eps)
TOLERANCE = 1e-9        # of |dy gamma| / sqrt(var + eps), the size of the terms that make up a row of dx
ROUNDING = 2.0**-49     # eight roundings, relative to whatever was added up


def check_gradients(
    forward: Callable[..., Any], backward: Callable[..., Any], x: Any, gamma: Any, beta: Any, dy: Any, eps: float
) -> bool:
    """Whether dx, dgamma and dbeta of the pair agree with finite differences of its forward, in every row and column.

    x and dy are (B,T,D), gamma and beta (D,). The comparison runs in float64 on copies: the inputs stay untouched.
    """
    x, gamma, beta, dy = (np.array(given, dtype=np.float64) for given in (x, gamma, beta, dy))
    y, cache = forward(x, gamma, beta, eps)
    columns_beta = _numeric_columns(forward(x, gamma, beta + 1, eps)[0], forward(x, gamma, beta - 1, eps)[0], dy)
    columns_gamma = _numeric_columns(forward(x, gamma + 1, beta, eps)[0], forward(x, gamma - 1, beta, eps)[0], dy)
    dx, dgamma, dbeta = backward(dy, cache)     # after a forward with another gamma, so that a shared cache shows
    if (dx.shape, dgamma.shape, dbeta.shape) != (x.shape, gamma.shape, beta.shape):
        return False
    std = np.sqrt(x.var(axis=-1) + eps)
    resolution = ROUNDING * np.abs(x).max(axis=-1) / std    # how well a row far from 0 defines its xhat
    unresolved = (np.abs(dy) * resolution[..., None]).sum(axis=(0, 1))
    if not (_within(dgamma, *columns_gamma, unresolved) and _within(dbeta, *columns_beta)):
        return False
    terms = np.linalg.norm(dy * gamma, axis=-1) / std
    rounding = resolution * terms + ROUNDING * (np.abs(dy) * np.abs(y)).sum(axis=-1) / std
    slack = TOLERANCE * terms + rounding / STEP
    rng = np.random.default_rng(0)
    for _ in range(DIRECTIONS):
        direction = (rng.integers(0, 2, x.shape) * 2.0 - 1.0) * rng.uniform(1.0, 2.0, x.shape)
        slopes = _numeric_rows(lambda moved: forward(moved, gamma, beta, eps)[0], x, dy, direction, STEP * std)
        if not _within((dx * direction).sum(axis=-1), slopes, slack):
            return False
    return True


def _numeric_columns(above: Array, below: Array, dy: Array) -> tuple[Array, Array]:
    """Slope (D,) of sum(dy * y) in each column between -1 and +1, and the rounding (D,) it may carry."""
    slopes = (dy * (above - below)).sum(axis=(0, 1)) / 2
    return slopes, 32 * ROUNDING * (np.abs(dy) * (np.abs(above) + np.abs(below))).sum(axis=(0, 1))


def _numeric_rows(output: Callable[[Array], Array], x: Array, dy: Array, direction: Array, step: Array) -> Array:
    """Slope (B,T) of each row's sum(dy * y) along its direction: central differences at one and two steps, combined."""
    def slopes(times: float) -> Array:
        move = (times * step)[..., None] * direction
        rise: Array = (dy * (output(x + move) - output(x - move))).sum(axis=-1)
        return rise / (2 * times * step)

    return (4 * slopes(1.0) - slopes(2.0)) / 3


def _within(got: Array, wanted: Array, *slacks: Array) -> bool:
    """Whether every entry is within the sum of its slacks; NaN is not."""
    return bool((np.abs(got - wanted) <= sum(slacks)).all())
