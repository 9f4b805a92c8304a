"""Attention one query at a time: a running softmax over slices of the keys that it may see."""

import math

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    o = np.empty_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        o[b, h, i] = attend(q[b, h, i], k[b, h], v[b, h], tile_size, i + 1 if causal else q.shape[2])
    return o


def attend(query, keys, values, tile_size, seen):
    largest, weight, total = -math.inf, 0.0, np.zeros_like(query)
    root = math.sqrt(len(query))
    for start in range(0, seen, tile_size):
        part = slice(start, min(start + tile_size, seen))
        scores = keys[part] @ query / root
        grown = max(largest, float(scores.max()))
        kept = math.exp(largest - grown)
        weights = np.exp(scores - query.dtype.type(grown))
        weight = weight * kept + float(weights.sum())
        total = total * query.dtype.type(kept) + weights @ values[part]
        largest = grown
    return total / query.dtype.type(weight)
