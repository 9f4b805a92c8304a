"""The function an answer to `flash_attention` exposes.

Arrays are NumPy arrays of any layout, float32 or float64, one dtype within a call; the result has that dtype. B, H, N
and D are at least 1 and any whole number. Entries are 0 or from 1e-12 to 1e12 in size (float64: 1e-100 to 1e100), and
scores as large as that makes them. Wrong arguments raise ValueError. No call changes its inputs, and a returned
array belongs to the caller: no later call may change it. Calls may come in any order and any number.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def flash_attention_fwd(q: Array, k: Array, v: Array, tile_size: int, causal: bool = True) -> Array:
    """Scaled dot-product attention, computed tile by tile with an online softmax.

    o[b,h,i] = sum_j w[j] v[b,h,j], where w is the softmax over j of <q[b,h,i], k[b,h,j]> / sqrt(D), and j runs over
    0..i when `causal`, else over all N positions. Each (b, h) stands for itself.

    Args:
        q, k, v: (B,H,N,D). Where the submission claims it, k and v have another shape (B,G,M,D): fewer heads (`gqa`),
            of which H is a multiple, more positions (`fewer_queries`) or less (`blind_rows`). Then j runs over 0..M-1,
            when `causal` over 0..i+M-N; a row that sees nothing gives zeros.
        tile_size: rows of q, and of k and v, that are worked on at once; any whole number from 1 on, also one that
            does not divide N, and one larger than N.
        causal: whether a position sees only itself and those before it.

    Returns:
        o: (B,H,N,D), dtype of q.

    Raises:
        ValueError: q is not (B,H,N,D), k or v has a shape that does not fit, or tile_size is less than 1.
    """
    ...
