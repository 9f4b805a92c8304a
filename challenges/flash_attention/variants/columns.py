"""Attention with keys first: scores (heads, keys, queries), every statistic along the first axis of a tile."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    heads, length, features = q.shape[0] * q.shape[1], *q.shape[2:]
    columns = q.reshape(heads, length, features).transpose(0, 2, 1)
    keys, values = k.reshape(heads, length, features), v.reshape(heads, length, features).transpose(0, 2, 1)
    o = np.empty((heads, features, length), q.dtype)
    for first in range(0, length, tile_size):
        last = min(first + tile_size, length)
        parts = [slice(start, min(start + tile_size, last if causal else length))
                 for start in range(0, last if causal else length, tile_size)]  # fmt: skip
        o[:, :, first:last] = tile(columns[:, :, first:last], keys, values, parts, first, causal)
    return np.ascontiguousarray(o.transpose(0, 2, 1)).reshape(q.shape)


def tile(queries, keys, values, parts, first, causal):
    """Output (heads, features, queries) of one tile of queries."""
    root = queries.dtype.type(np.sqrt(queries.shape[1]))
    total, weight, largest = 0.0, 0.0, queries.dtype.type(-np.inf)
    for part in parts:
        scores = (keys[:, part] / root) @ queries
        if causal:
            below = np.arange(part.start, part.stop)[:, None] <= first + np.arange(queries.shape[2])
            scores = np.where(below, scores, queries.dtype.type(-np.inf))
        grown = np.maximum(largest, scores.max(axis=1, keepdims=True))
        weights = np.exp(scores - grown)
        kept = np.exp(largest - grown)
        weight = weight * kept + weights.sum(axis=1, keepdims=True)
        total = total * kept + values[:, :, part] @ weights
        largest = grown
    return total / weight
