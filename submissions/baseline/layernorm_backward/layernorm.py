"""Layer normalisation over the last axis of x (B,T,D), with gradients derived by hand (see ANALYSIS.md)."""

from typing import Any

import numpy as np
from gradcheck import check_gradients
from numpy.typing import NDArray

__all__ = ["backward", "check_gradients", "forward"]

Array = NDArray[np.floating[Any]]


def forward(x: Array, gamma: Array, beta: Array, eps: float) -> tuple[Array, dict[str, Array]]:
    """Standardise every row of x (B,T,D), scale by gamma (D,) and shift by beta (D,).

    Returns y (B,T,D) and the cache: xhat (B,T,D), rstd (B,T,1) and gamma (D,), which is all that `backward` needs.
    Raises ValueError for wrong shapes or an eps that is not positive.
    """
    if x.ndim != 3 or x.size == 0:
        raise ValueError(f"x must be (B,T,D) and not empty, not {x.shape}")
    if gamma.shape != x.shape[2:] or beta.shape != x.shape[2:]:
        raise ValueError(f"gamma {gamma.shape} and beta {beta.shape} must be {x.shape[2:]}, as x is {x.shape}")
    if not eps > 0:
        raise ValueError(f"eps must be positive, not {eps}")
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + float(eps))
    xhat = np.multiply(centred, rstd, out=centred)
    return xhat * gamma + beta, {"xhat": xhat, "rstd": rstd, "gamma": gamma.copy()}


def backward(dy: Array, cache: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Gradients dx (B,T,D), dgamma (D,) and dbeta (D,) of sum(dy * y), for dy (B,T,D) and the cache of that forward.

    Raises ValueError when dy has another shape than x had.
    """
    xhat = cache["xhat"]
    if dy.shape != xhat.shape:
        raise ValueError(f"dy must be {xhat.shape}, as x was, not {dy.shape}")
    dxhat = dy * cache["gamma"]
    dx = dxhat - dxhat.mean(axis=-1, keepdims=True)
    dx -= xhat * (dxhat * xhat).mean(axis=-1, keepdims=True)
    dx *= cache["rstd"]
    return dx, (dy * xhat).sum(axis=(0, 1)), dy.sum(axis=(0, 1))
