"""The functions an answer to `ternary_training` exposes.

Arrays are NumPy arrays of any layout. In the first three functions they are float32 or float64, one dtype within a
call, and results have that dtype. All sizes are at least 1 and any whole number; a group size need not divide a row,
and may be larger than it. Wrong arguments raise ValueError. No call changes its inputs, and a returned array belongs
to the caller: no later call may change it. Calls may come in any order and any number.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPTIONAL = ("gradients",)
"""Functions an answer may leave out."""

Array = NDArray[np.floating[Any]]
Cache = dict[str, Any] | tuple[Any, ...]


def project(w: Array, group_size: int = 32) -> tuple[NDArray[np.int8], Array]:
    """The ternary form of w: signs and one scale for every `group_size` neighbours of a row.

    s[i,g] = mean |w[i,j]| over the entries j of group g that exist; the last group of a row may be short.
    t = clip(round(w / s), -1, 1), halves to even; zeros where a whole group is zero.

    Args:
        w: (out,in).
        group_size: entries of a group.

    Returns:
        t: (out,in) int8, of {-1, 0, 1}.
        s: (out, ceil(in / group_size)), dtype of w.

    Raises:
        ValueError: w is not (out,in), or group_size is less than 1.
    """
    ...


def linear_forward(x: Array, w: Array, group_size: int) -> tuple[Array, Cache]:
    """y = x @ (t * s).T, with t and s those of `project(w, group_size)`.

    Args:
        x: (rows,in).
        w: (out,in), latent.
        group_size: entries of a group.

    Returns:
        y: (rows,out), dtype of x.
        cache: what `linear_backward` needs; other forwards may run in between.

    Raises:
        ValueError: x is not (rows,in), w is not (out,in), or group_size is less than 1.
    """
    ...


def linear_backward(dy: Array, cache: Cache) -> tuple[Array, Array]:
    """Gradients of the scalar sum(dy * y) for the forward call that made `cache`.

    Args:
        dy: (rows,out), the gradient that arrives at y.
        cache: what that forward returned.

    Returns:
        dx: (rows,in), through the ternary weights t * s that the forward used.
        dw: (out,in), straight through: the gradient for t * s, given to the latent w as it is.

    Raises:
        ValueError: dy has another shape than that forward's y.
    """
    ...


def train(tokens: NDArray[np.int16], config: dict[str, Any], seed: int) -> dict[str, NDArray[np.float32]]:
    """Train the model of PROMPT.md on a text, and return its latent weights.

    Args:
        tokens: (n,) int16, n >= 2: bytes, 0 to vocab - 1, and -1 for padding, which is no text.
        config: `layers`, `heads`, `width`, `context`, `vocab`, `group_size`, `steps`, `batch` (ints >= 1, width a
            multiple of heads) and `learning_rate` (a float that suits Adam).
        seed: of everything random. Equal calls give equal weights.

    Returns:
        A dict of float32 arrays, latent (not projected), with exactly these names and shapes:
        `embed` (vocab,width); `position` (context,width); `norm` (width,); and for each layer i from 0 on
        `layer{i}.norm1`, `layer{i}.norm2` (width,), `layer{i}.wq`, `.wk`, `.wv`, `.wo` (width,width),
        `layer{i}.w_up` (4 width,width), `layer{i}.w_down` (width,4 width).
    """
    ...


def gradients(weights: dict[str, Array], tokens: NDArray[np.int16], config: dict[str, Any]) -> dict[str, Array]:
    """The gradients of the mean cross entropy of windows for all latent weights; optional.

    Each window is taken without its padding: the bytes that are left stand at positions 0, 1, ... The mean is over all
    bytes of all windows that follow another byte of theirs, whatever window they are in. A window with no such byte
    adds nothing.

    Args:
        weights: latent, with the names and shapes that `train` returns, all float32 or all float64.
        tokens: (batch,T+1) int16, T from 1 to `context`, batch at least 1: bytes, and -1 for padding anywhere.
        config: as of `train`; `steps`, `batch` and `learning_rate` mean nothing here.

    Returns:
        A dict of arrays with the names, shapes and dtype of the weights: for matrices in ternary form what is found for
        t * s, straight through; `embed` has the sum of what comes in its two places, and of all its uses.

    Raises:
        ValueError: tokens is not (batch,T+1), T is less than 1 or more than `context`, or no byte follows another.
    """
    ...
