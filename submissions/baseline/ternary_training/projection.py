"""The ternary form of a matrix, and the linear layer that uses it with straight-through gradients."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class LinearCache(NamedTuple):
    """What `linear_backward` needs: x (rows,in) and the ternary weights used (out,in)."""

    x: Array
    used: Array


def project(w: Array, group_size: int = 32) -> tuple[Array, Array]:
    """Signs t (out,in) int8 and scales s (out,groups) of w (out,in): s is the mean |w| of a group's real entries.

    Raises ValueError where w is no matrix or group_size is below 1.
    """
    if w.ndim != 2 or w.size == 0:
        raise ValueError(f"w must be (out,in) and not empty, not {w.shape}")
    if group_size < 1:
        raise ValueError(f"group_size must be 1 or more, not {group_size}")
    sizes = np.abs(w)
    bounds = range(0, w.shape[1], group_size)
    s = np.stack([sizes[:, first : first + group_size].mean(axis=1) for first in bounds], axis=1)
    # |w| above half its scale rounds to one: no division, so a group of zeros needs no care
    t = np.sign(w) * (sizes > entries_of(s, w.shape[1], group_size) / 2)
    return t.astype(np.int8), s


def entries_of(s: Array, columns: int, group_size: int) -> Array:
    """The scale of every entry (out,columns), from one for every group (out,groups)."""
    return np.repeat(s, group_size, axis=1)[:, :columns] if group_size < columns else np.repeat(s, columns, axis=1)


def ternary(w: Array, group_size: int) -> Array:
    """t * s (out,in), in the dtype of w."""
    t, s = project(w, group_size)
    return t * entries_of(s, w.shape[1], group_size)


def linear_forward(x: Array, w: Array, group_size: int) -> tuple[Array, LinearCache]:
    """y (rows,out) of x (rows,in) and the ternary form of w (out,in), with the cache of `linear_backward`.

    Raises ValueError where x and w do not fit.
    """
    used = ternary(w, group_size)
    if x.ndim != 2 or x.shape[1] != w.shape[1]:
        raise ValueError(f"x must be (rows,{w.shape[1]}), as w is {w.shape}, not {x.shape}")
    return x @ used.T, LinearCache(x, used)


def linear_backward(dy: Array, cache: LinearCache) -> tuple[Array, Array]:
    """dx (rows,in) through the ternary weights and dw (out,in) straight through, for dy (rows,out).

    Raises ValueError where dy has another shape than y had.
    """
    x, used = cache
    if dy.shape != (len(x), len(used)):
        raise ValueError(f"dy must be {(len(x), len(used))}, as y was, not {dy.shape}")
    return dy @ used, dy.T @ x
