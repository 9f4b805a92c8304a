"""Causal attention in tiles with an online softmax (see ANALYSIS.md): no array of all scores is ever made."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def flash_attention_fwd(q: Array, k: Array, v: Array, tile_size: int, causal: bool = True) -> Array:
    """Attention of q over k and v, all (B,H,N,D), in tiles of `tile_size` queries and keys.

    Returns o (B,H,N,D) in the dtype of q. With `causal` a position sees itself and those before it.
    Raises ValueError for shapes that do not match and a tile of less than one row.
    """
    _require_arguments(q, k, v, tile_size)
    positions = q.shape[2]
    scale = 1.0 / math.sqrt(q.shape[3])
    o = np.empty_like(q)
    for first in range(0, positions, tile_size):
        last = min(first + tile_size, positions)
        softmax = OnlineSoftmax(q[:, :, first:last])
        for start in range(0, last if causal else positions, tile_size):
            stop = min(start + tile_size, positions)
            scores = q[:, :, first:last] @ k[:, :, start:stop].swapaxes(-1, -2)
            scores *= scale
            if causal and start == first:
                scores[:, :, _future(last - first)] = -np.inf
            softmax.add(scores, v[:, :, start:stop])
        o[:, :, first:last] = softmax.mean()
    return o


class OnlineSoftmax:
    """The weighted mean of the values met so far, for each of some queries.

    `peak` is the largest score so far; `weight` and `total` are sums of exp(score - peak) and of that times the value.
    """

    def __init__(self, queries: Array) -> None:
        self.peak = np.full((*queries.shape[:3], 1), -np.inf, queries.dtype)
        self.weight = np.zeros_like(self.peak)
        self.total = np.zeros_like(queries)

    def add(self, scores: Array, values: Array) -> None:
        """Meet a tile: scores (B,H,n,m), which are used up, and values (B,H,m,D). Every row sees a key of it."""
        peak = np.maximum(self.peak, scores.max(axis=-1, keepdims=True))
        shrink = np.exp(self.peak - peak)    # 0 in the first tile, where the peak was -inf
        np.exp(np.subtract(scores, peak, out=scores), out=scores)
        self.weight = self.weight * shrink + scores.sum(axis=-1, keepdims=True)
        self.total *= shrink
        self.total += scores @ values
        self.peak = peak

    def mean(self) -> Array:
        """The output (B,H,n,D)."""
        return self.total / self.weight


def _future(rows: int) -> NDArray[np.bool_]:
    """Pairs (query, key) of a tile on the diagonal in which the key comes later."""
    return np.triu(np.ones((rows, rows), dtype=np.bool_), 1)


def _require_arguments(q: Array, k: Array, v: Array, tile_size: int) -> None:
    if q.ndim != 4 or q.size == 0:
        raise ValueError(f"q must be (B,H,N,D) and not empty, not {q.shape}")
    if k.shape != q.shape or v.shape != q.shape:
        raise ValueError(f"k {k.shape} and v {v.shape} must have the shape of q, {q.shape}")
    if tile_size < 1:
        raise ValueError(f"tile_size must be at least 1, not {tile_size}")
