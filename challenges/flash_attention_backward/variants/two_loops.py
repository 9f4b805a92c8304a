"""Attention head by head; one loop of the backward makes dq, another one dk and dv."""

import math

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    o, logarithms = np.empty_like(q), np.empty(q.shape[:3], q.dtype)
    for head in np.ndindex(q.shape[:2]):
        for rows in tiles(q.shape[2], tile_size):
            o[head][rows], logarithms[head][rows] = attend(q[head], k[head], v[head], rows, tile_size, causal)
    return o, {"O": o, "L": logarithms, "Q": q, "K": k, "V": v}


def attend(q, k, v, rows, tile_size, causal):
    o, logarithm = 0.0, None
    for keys in tiles(rows.stop if causal else len(q), tile_size):
        scores = scored(q, k, rows, keys, causal)
        largest = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - largest)
        weight = weights.sum(axis=1, keepdims=True)
        part, of_part = weights @ v[keys] / weight, largest + np.log(weight)
        if logarithm is None:
            o, logarithm = part, of_part
            continue
        both = np.logaddexp(logarithm, of_part)
        o, logarithm = o * np.exp(logarithm - both) + part * np.exp(of_part - both), both
    return o, logarithm[:, 0]


def flash_attention_bwd(do, cache, tile_size, causal=True):
    q = cache["Q"]
    if do.shape != q.shape or tile_size < 1:
        raise ValueError(f"do of shape {do.shape} and tiles of {tile_size} do not go with q of {q.shape}")
    gradients = np.zeros((3, *q.shape), q.dtype)
    for head in np.ndindex(q.shape[:2]):
        of_head = {name: values[head] for name, values in cache.items()}
        one_head(gradients[(slice(None), *head)], do[head], of_head, tile_size, causal)
    return tuple(np.ascontiguousarray(gradient) for gradient in gradients)


def one_head(gradients, do, cache, tile_size, causal):
    dq, dk, dv = gradients
    q, k, scale = cache["Q"], cache["K"], 1 / math.sqrt(do.shape[1])
    for rows in tiles(len(q), tile_size):
        for keys in tiles(rows.stop if causal else len(q), tile_size):
            _, slopes = again(do, cache, rows, keys, causal)
            dq[rows] += slopes @ k[keys] * scale
    for keys in tiles(len(q), tile_size):
        for rows in tiles(len(q), tile_size):
            if causal and rows.stop <= keys.start:
                continue
            weights, slopes = again(do, cache, rows, keys, causal)
            dv[keys] += weights.T @ do[rows]
            dk[keys] += slopes.T @ q[rows] * scale


def again(do, cache, rows, keys, causal):
    """The weights of a pair of tiles, and the gradients of its scores."""
    scores = scored(cache["Q"], cache["K"], rows, keys, causal)
    weights = np.exp(scores - cache["L"][rows, None])
    inside = (do[rows] * cache["O"][rows]).sum(axis=1, keepdims=True)
    return weights, weights * (do[rows] @ cache["V"][keys].T - inside)


def scored(q, k, rows, keys, causal):
    scores = q[rows] @ k[keys].T / q.dtype.type(math.sqrt(q.shape[1]))
    if causal:
        later = np.arange(keys.start, keys.stop) > np.arange(rows.start, rows.stop)[:, None]
        scores = np.where(later, q.dtype.type(-np.inf), scores)
    return scores


def tiles(length, tile_size):
    return [slice(first, min(first + tile_size, length)) for first in range(0, length, tile_size)]
