"""Attention in tiles with an online softmax: the trusted solution of `flash_attention`.

q, k, v (B,H,N,D). With s[i,j] = <q[i], k[j]> / sqrt(D) for every j that row i may see, the output of the row is

    o[i] = sum_j exp(s[i,j] - m[i]) v[j] / sum_j exp(s[i,j] - m[i])        m[i] = max_j s[i,j]

Keys come in tiles. After each of them a row holds the largest score so far, and both sums relative to it; where a tile
raises the maximum from m to m', what was summed before is multiplied by exp(m - m'), which is at most 1.

k and v may be (B,G,M,D): H / G consecutive heads share them, and under the mask the last query sees the last key. Of
more queries than keys the first see none, and give zeros.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def flash_attention_fwd(q: Array, k: Array, v: Array, tile_size: int, causal: bool = True) -> Array:
    """Attention of q (B,H,N,D) and k, v over tiles of `tile_size` queries and keys: o (B,H,N,D)."""
    _check_arguments(q, k, v, tile_size)
    length = q.shape[2]
    o = np.empty_like(q)
    k, v = (_for_each_head(shared, q.shape[1]) for shared in (k, v))
    ahead = k.shape[2] - length
    blind = max(0, -ahead) if causal else 0
    o[:, :, :blind] = 0.0
    for first in range(blind, length, tile_size):
        last = min(first + tile_size, length)
        o[:, :, first:last] = _attend(q[:, :, first:last], k, v, first + ahead, tile_size, causal)
    return o


def _for_each_head(shared: Array, heads: int) -> Array:
    """Return keys or values (B,G,M,D) once for each of the heads: consecutive ones share."""
    return shared if shared.shape[1] == heads else shared.repeat(heads // shared.shape[1], axis=1)


def _attend(queries: Array, k: Array, v: Array, first: int, tile_size: int, causal: bool) -> Array:
    """Output (B,H,n,D) of n queries, the first of which sees the keys up to `first`."""
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
    fits = k.ndim == 4 and k.size > 0 and k.shape[::3] == q.shape[::3] and q.shape[1] % k.shape[1] == 0
    _require(fits, f"k has shape {k.shape}, q has {q.shape}")
    _require(v.shape == k.shape, f"v has shape {v.shape}, k has {k.shape}")
    _require(tile_size >= 1, f"tile_size is {tile_size}, expected at least 1")


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
