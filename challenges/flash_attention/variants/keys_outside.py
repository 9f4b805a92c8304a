"""Attention with the loop over keys outside: the state of all rows is held, and queries are met tile by tile inside."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    length, features = q.shape[2:]
    scale = q.dtype.type(features**-0.5)
    total = np.zeros_like(q)
    weight = np.zeros((*q.shape[:3], 1), q.dtype)
    largest = np.full_like(weight, -np.inf)
    for start in range(0, length, tile_size):
        keys = k[:, :, start : start + tile_size] * scale
        values = v[:, :, start : start + tile_size]
        for first in range(start if causal else 0, length, tile_size):
            rows = np.s_[:, :, first : first + tile_size]
            scores = np.matmul(q[rows], np.swapaxes(keys, 2, 3))
            if causal and first == start:
                scores += np.triu(np.full(scores.shape[2:], -np.inf, q.dtype), 1)
            grown = np.maximum(largest[rows], scores.max(axis=3, keepdims=True))
            with np.errstate(invalid="ignore"):
                kept = np.where(np.isneginf(largest[rows]), q.dtype.type(0), np.exp(largest[rows] - grown))
            np.exp(scores - grown, out=scores)
            weight[rows] = weight[rows] * kept + scores.sum(axis=3, keepdims=True)
            total[rows] = total[rows] * kept + scores @ values
            largest[rows] = grown
    total /= weight
    return total
