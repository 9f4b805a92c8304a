"""The functions an answer to `flash_attention_backward` exposes.

Arrays are NumPy arrays of any layout, float32 or float64, one dtype within a call; results have that dtype (L may be
float64). B, H, N and D are at least 1 and any whole number; scores may be a few million, in float32 some ten thousand.
Wrong arguments raise ValueError. No call changes its inputs or a cache, and a returned array belongs to the caller: no
later call may change it. What the forward was given stays as it was until the last backward of its cache. Calls may
come in any order and any number.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Cache = dict[str, Array]


def flash_attention_fwd(
    q: Array, k: Array, v: Array, tile_size: int, causal: bool = True
) -> tuple[Array, Cache]:
    """Scaled dot-product attention, computed tile by tile with an online softmax.

    o[b,h,i] = sum_j p[i,j] v[b,h,j], where p[i] is the softmax over j of s[i,j] = <q[b,h,i], k[b,h,j]> / sqrt(D), and j
    runs over 0..i when `causal`, else over all N positions. Each (b, h) stands for itself.

    Args:
        q, k, v: (B,H,N,D). Where the submission claims it, k and v have another shape (B,G,M,D): fewer heads (`gqa`),
            of which H is a multiple, more positions (`fewer_queries`) or less (`blind_rows`). Then j runs over 0..M-1,
            when `causal` over 0..i+M-N; of a row that sees nothing, o is zero and L is minus infinity.
        tile_size: rows of q, and of k and v, that are worked on at once; any whole number from 1 on, also one that
            does not divide N, and one larger than N.
        causal: whether a position sees only itself and those before it.

    Returns:
        o: (B,H,N,D), dtype of q.
        cache: a dict with exactly these arrays: "O", the output; "L" (B,H,N), the logarithm of sum_j exp(s[i,j]);
            "Q", "K" and "V", which may be the arrays given. "O" may be the array returned.

    Raises:
        ValueError: q is not (B,H,N,D), k or v has a shape that does not fit, or tile_size is less than 1.
    """
    ...


def flash_attention_bwd(
    do: Array, cache: Cache, tile_size: int, causal: bool = True
) -> tuple[Array, Array, Array]:
    """Gradients of the scalar sum(do * o) for the forward call that made `cache`.

    Args:
        do: (B,H,N,D), the gradient that arrives at o.
        cache: what that forward returned.
        tile_size: as for the forward; it may be another one.
        causal: what that forward was called with.

    Returns:
        dq, dk, dv: the shapes of q, k and v, dtype of do.

    Raises:
        ValueError: do has another shape than that forward's q, or tile_size is less than 1.
    """
    ...
