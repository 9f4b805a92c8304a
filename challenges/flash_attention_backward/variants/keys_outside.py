"""Attention whose backward goes over tiles of keys outside: dk and dv of a tile are held, dq is added to."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    scaled = q * q.dtype.type(q.shape[3] ** -0.5)
    total, weight = np.zeros_like(q), np.zeros((*q.shape[:3], 1), q.dtype)
    largest = np.full_like(weight, -np.inf)
    for start, first, scores in pairs(scaled, k, tile_size, causal):
        rows = np.s_[:, :, first : first + tile_size]
        grown = np.maximum(largest[rows], scores.max(axis=3, keepdims=True))
        kept = np.exp(largest[rows] - grown)
        scores = np.exp(scores - grown)
        weight[rows] = weight[rows] * kept + scores.sum(axis=3, keepdims=True)
        total[rows] = total[rows] * kept + scores @ v[:, :, start : start + tile_size]
        largest[rows] = grown
    total /= weight
    return total, {"Q": q, "K": k, "V": v, "O": total, "L": (np.log(weight) + largest)[..., 0]}


def flash_attention_bwd(do, cache, tile_size, causal=True):
    q, k, v = cache["Q"], cache["K"], cache["V"]
    if do.shape != q.shape or tile_size < 1:
        raise ValueError(f"do of shape {do.shape} and tiles of {tile_size} do not go with q of {q.shape}")
    scale = q.dtype.type(q.shape[3] ** -0.5)
    scaled = q * scale
    inside = np.einsum("bhid,bhid->bhi", do, cache["O"])[..., None]
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for start, first, scores in pairs(scaled, k, tile_size, causal):
        rows, keys = np.s_[:, :, first : first + tile_size], np.s_[:, :, start : start + tile_size]
        weights = np.exp(scores - cache["L"][rows][..., None])
        dv[keys] += np.swapaxes(weights, 2, 3) @ do[rows]
        weights *= do[rows] @ np.swapaxes(v[keys], 2, 3) - inside[rows]
        dk[keys] += np.swapaxes(weights, 2, 3) @ scaled[rows]
        dq[rows] += weights @ k[keys] * scale
    return dq, dk, dv


def pairs(scaled, k, tile_size, causal):
    """Tiles of keys, and for each those of queries that see them, with their scores."""
    length = k.shape[2]
    for start in range(0, length, tile_size):
        for first in range(start if causal else 0, length, tile_size):
            queries = scaled[:, :, first : first + tile_size]
            scores = queries @ np.swapaxes(k[:, :, start : start + tile_size], 2, 3)
            if causal and first == start:
                scores += np.triu(np.full(scores.shape[2:], -np.inf, scores.dtype), 1)
            yield start, first, scores
