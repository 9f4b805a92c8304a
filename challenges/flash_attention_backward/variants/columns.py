"""Attention with keys first: scores (heads, keys, queries), statistics along the first axis of a tile."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    heads = (q.shape[0] * q.shape[1], *q.shape[2:])
    o, logarithm = np.empty(heads, q.dtype), np.empty(heads[:2], q.dtype)
    queries, keys, values = (a.reshape(heads) for a in (q, k, v))
    for rows in tiles(heads[1], tile_size):
        total, weight, largest = 0.0, 0.0, q.dtype.type(-np.inf)
        for part in tiles(rows.stop if causal else heads[1], tile_size):
            scores = scored(queries, keys, rows, part, causal)
            grown = np.maximum(largest, scores.max(axis=1, keepdims=True))
            weights, kept = np.exp(scores - grown), np.exp(largest - grown)
            weight = weight * kept + weights.sum(axis=1, keepdims=True)
            total = total * kept + values[:, part].swapaxes(1, 2) @ weights
            largest = grown
        o[:, rows] = (total / weight).swapaxes(1, 2)
        logarithm[:, rows] = (largest + np.log(weight))[:, 0]
    o = o.reshape(q.shape)
    return o, {"O": o, "L": logarithm.reshape(q.shape[:3]), "Q": q, "K": k, "V": v}


def flash_attention_bwd(do, cache, tile_size, causal=True):
    if do.shape != cache["Q"].shape or tile_size < 1:
        raise ValueError(f"do of shape {do.shape} and tiles of {tile_size} do not go with q of {cache['Q'].shape}")
    heads = (do.shape[0] * do.shape[1], *do.shape[2:])
    q, k, v, o, flow = (a.reshape(heads) for a in (cache["Q"], cache["K"], cache["V"], cache["O"], do))
    logarithm = cache["L"].reshape(heads[:2])
    inside = np.multiply(o, flow).sum(axis=2)
    dq, dk, dv = (np.zeros(heads, do.dtype) for _ in range(3))
    root = do.dtype.type(np.sqrt(heads[2]))
    for rows in tiles(heads[1], tile_size):
        for part in tiles(rows.stop if causal else heads[1], tile_size):
            weights = np.exp(scored(q, k, rows, part, causal) - logarithm[:, None, rows])
            dv[:, part] += weights @ flow[:, rows]
            slopes = v[:, part] @ flow[:, rows].swapaxes(1, 2) - inside[:, None, rows]
            slopes = slopes * weights / root
            dk[:, part] += slopes @ q[:, rows]
            dq[:, rows] += slopes.swapaxes(1, 2) @ k[:, part]
    return dq.reshape(do.shape), dk.reshape(do.shape), dv.reshape(do.shape)


def scored(queries, keys, rows, part, causal):
    """Scores (heads, keys, queries) of a pair of tiles."""
    scores = (keys[:, part] @ queries[:, rows].swapaxes(1, 2)) / queries.dtype.type(np.sqrt(queries.shape[2]))
    if causal and part.stop > rows.start:
        later = np.arange(part.start, part.stop)[:, None] > np.arange(rows.start, rows.stop)
        scores[:, later] = -np.inf
    return scores


def tiles(length, tile_size):
    return [slice(first, min(first + tile_size, length)) for first in range(0, length, tile_size)]
