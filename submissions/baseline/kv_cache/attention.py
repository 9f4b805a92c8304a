"""Causal softmax attention of new tokens over everything a sequence holds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

QUERY_BLOCK = 64
"""Queries attended at once: bounds the scores held to QUERY_BLOCK rows a head, however long the prompt."""


def attend(q: Array, k: Array, v: Array, window: int | None = None) -> Array:
    """Attend from the last n of m positions to what each of them may see.

    Args:
        q: (H, n, D), queries of positions m - n .. m - 1.
        k, v: (m, Hkv, D), keys and values of positions 0 .. m - 1. Query head h uses head h // (H // Hkv).
        window: a position sees itself and the window - 1 positions before it; everything before it when None.

    Returns:
        (H, n, D) in the dtype of q: softmax(q k^T / sqrt(D)) v over the visible positions.
    """
    heads, n, head_dim = q.shape
    length, kv_heads, _ = k.shape
    groups = q.reshape(kv_heads, heads // kv_heads, n, head_dim) * head_dim**-0.5
    columns, rows = k.transpose(1, 2, 0)[:, None], v.transpose(1, 0, 2)[:, None]
    out = np.empty_like(groups)
    for start in range(0, n, QUERY_BLOCK):
        block = slice(start, min(start + QUERY_BLOCK, n))
        positions = np.arange(length - n + block.start, length - n + block.stop)
        oldest = 0 if window is None else max(0, int(positions[0]) - window + 1)
        seen = slice(oldest, int(positions[-1]) + 1)
        scores = groups[:, :, block] @ columns[..., seen]
        np.copyto(scores, -np.inf, where=hidden(positions, np.arange(seen.start, seen.stop), window))
        out[:, :, block] = softmax(scores) @ rows[:, :, seen]
    return out.reshape(q.shape)


def hidden(positions: NDArray[np.int64], keys: NDArray[np.int64], window: int | None) -> NDArray[np.bool_]:
    """Which of the keys' positions each query's position must not see: (queries, keys)."""
    back = positions[:, None] - keys
    future = back < 0
    return future if window is None else future | (back >= window)


def softmax(scores: Array) -> Array:
    """Softmax over the last axis; subtracting the maximum keeps the largest exponential at 1."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights
