"""The functions an answer to `layernorm_backward` exposes.

Arrays are NumPy arrays, float32 or float64, one dtype within a call; results have that dtype. Those passed may be views
of other memory, not contiguous and not writeable. B, T and D are at least 1 and any whole number. Wrong arguments raise
ValueError. No call changes its inputs, which stay as they are until the last backward of their cache. A returned array
belongs to the caller, who may write to it: it shares memory with nothing else, and no later call may change it. Calls
may come in any order and any number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Cache = dict[str, Any] | tuple[Any, ...]
Forward = Callable[[Array, Array, Array, float], tuple[Array, Cache]]
Backward = Callable[[Array, Cache], tuple[Array, Array, Array]]


def forward(x: Array, gamma: Array, beta: Array, eps: float) -> tuple[Array, Cache]:
    """Standardise each row of x over its last axis, then scale by gamma and shift by beta.

    y[b,t] = gamma * (x[b,t] - mean) / sqrt(var + eps) + beta, with mean and var (the biased one, divided by D) taken
    over the D features of x[b,t] alone.

    Args:
        x: (B,T,D).
        gamma: (D,), the scale.
        beta: (D,), the shift.
        eps: positive number added to the variance.

    Returns:
        y: (B,T,D), dtype of x.
        cache: what `backward` needs, as data: a dict or tuple of arrays and scalars. It may be stored, measured and
            carried to another process before `backward` sees it, and other forwards may run in between.

    Raises:
        ValueError: x is not (B,T,D), gamma or beta is not (D,), or eps is not positive.
    """
    ...


def backward(dy: Array, cache: Cache) -> tuple[Array, Array, Array]:
    """Gradients of the scalar sum(dy * y) for the forward call that made `cache`.

    Args:
        dy: (B,T,D), the gradient that arrives at y.
        cache: what that forward returned.

    Returns:
        dx: (B,T,D), dgamma: (D,), dbeta: (D,), each of the dtype of dy.

    Raises:
        ValueError: dy has another shape than that forward's x.
    """
    ...


def check_gradients(
    forward: Forward, backward: Backward, x: Array, gamma: Array, beta: Array, dy: Array, eps: float
) -> bool:
    """Compare the gradients of any forward and backward pair with finite differences of that same forward.

    Args:
        forward, backward: a pair with the signatures above, not necessarily yours and not necessarily right. Use
            these arguments, not your own functions; the pair's cache is its own affair.
        x: (B,T,D). gamma, beta: (D,). dy: (B,T,D). eps: positive number. The point at which to compare.

    Returns:
        True when dx, dgamma and dbeta all agree with the differences, False when any of them does not.
    """
    ...
