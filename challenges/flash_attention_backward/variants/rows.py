"""Attention one query at a time: slices of the keys that it sees, forward and backward."""

import math

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    o, logarithms = np.empty_like(q), np.empty(q.shape[:3])
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = i + 1 if causal else q.shape[2]
        o[b, h, i], logarithms[b, h, i] = attend(q[b, h, i], k[b, h], v[b, h], tile_size, seen)
    return o, {"O": o, "L": logarithms.astype(q.dtype), "Q": q, "K": k, "V": v}


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
    return total / query.dtype.type(weight), largest + math.log(weight)


def flash_attention_bwd(do, cache, tile_size, causal=True):
    q, k, v = cache["Q"], cache["K"], cache["V"]
    if do.shape != q.shape or tile_size < 1:
        raise ValueError(f"do of shape {do.shape} and tiles of {tile_size} do not go with q of {q.shape}")
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    root = math.sqrt(q.shape[3])
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = i + 1 if causal else q.shape[2]
        row = (b, h, i)
        inside = do[row] @ cache["O"][row]
        for start in range(0, seen, tile_size):
            part = (b, h, slice(start, min(start + tile_size, seen)))
            weights = np.exp(k[part] @ q[row] / root - cache["L"][row])
            dv[part] += np.outer(weights, do[row])
            slopes = weights * (v[part] @ do[row] - inside) / root
            dk[part] += np.outer(slopes, q[row])
            dq[row] += slopes @ k[part]
    return dq, dk, dv
