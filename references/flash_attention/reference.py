"""Attention in tiles with an online softmax: the trusted solution of `flash_attention`.

q, k, v (B,H,N,D). With s[i,j] = <q[i], k[j]> / sqrt(D) for every j that row i may see, the output of the row is

    o[i] = sum_j exp(s[i,j] - m[i]) v[j] / sum_j exp(s[i,j] - m[i])        m[i] = max_j s[i,j]

Keys come in tiles. After each of them a row holds the largest score so far, and both sums relative to it; where a tile
raises the maximum from m to m', what was summed before is multiplied by exp(m - m'), which is at most 1.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def flash_attention_fwd(q: Array, k: Array, v: Array, tile_size: int, causal: bool = True) -> Array:
    """Attention of q, k, v (B,H,N,D) over tiles of `tile_size` queries and keys: o (B,H,N,D)."""
    _check_arguments(q, k, v, tile_size)
    length = q.shape[2]
    o = np.empty_like(q)
    for first in range(0, length, tile_size):
        last = min(first + tile_size, length)
        o[:, :, first:last] = _attend(q[:, :, first:last], k, v, first, tile_size, causal)
    return o


def _attend(queries: Array, k: Array, v: Array, first: int, tile_size: int, causal: bool) -> Array:
    """Output (B,H,n,D) of the n queries from position `first` on."""
    last = first + queries.shape[2]
    end = last if causal else k.shape[2]
    scale = 1.0 / math.sqrt(queries.shape[3])
    row_max = np.full((*queries.shape[:3], 1), -np.inf, queries.dtype)
    row_sum = np.zeros_like(row_max)
    total = np.zeros_like(queries)
    for start in range(0, end, tile_size):
        stop = min(start + tile_size, end)
        keys, values = k[:, :, start:stop], v[:, :, start:stop]
        scores = scale * (queries @ keys.swapaxes(-1, -2))
        if causal and stop > first:
            hidden = np.arange(start, stop) > np.arange(first, last)[:, None]
            scores[:, :, hidden] = -np.inf
        new_max = np.maximum(row_max, scores.max(axis=-1, keepdims=True))
        weights = np.exp(scores - new_max)
        correction = np.exp(row_max - new_max)
        row_sum = correction * row_sum + weights.sum(axis=-1, keepdims=True)
        total = correction * total + weights @ values
        row_max = new_max
    return total / row_sum


def _check_arguments(q: Array, k: Array, v: Array, tile_size: int) -> None:
    _require(q.ndim == 4 and q.size > 0, f"q has shape {q.shape}, expected (B,H,N,D) with every size at least 1")
    _require(k.shape == q.shape, f"k has shape {k.shape}, q has {q.shape}")
    _require(v.shape == q.shape, f"v has shape {v.shape}, q has {q.shape}")
    _require(tile_size >= 1, f"tile_size is {tile_size}, expected at least 1")


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
