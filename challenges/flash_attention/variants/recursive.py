"""Attention over halves of the keys, and halves of these, down to single tiles."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or not q.size or k.shape != q.shape or v.shape != q.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    scaled = q * q.dtype.type(1 / np.sqrt(q.shape[3]))
    o = np.empty_like(q)
    for first in range(0, q.shape[2], tile_size):
        last = min(first + tile_size, q.shape[2])
        seen = last if causal else q.shape[2]
        _, weight, total = part(scaled[:, :, first:last], k, v, 0, seen, tile_size, first if causal else None)
        o[:, :, first:last] = total / weight
    return o


def part(queries, k, v, start, stop, most, first):
    """Largest score, sum of weights and weighted sum of values over keys start..stop-1."""
    if stop - start > most:
        middle = start + (stop - start) // 2
        left = part(queries, k, v, start, middle, most, first)
        right = part(queries, k, v, middle, stop, most, first)
        largest = np.maximum(left[0], right[0])
        less, more = np.exp(left[0] - largest), np.exp(right[0] - largest)
        return largest, left[1] * less + right[1] * more, left[2] * less + right[2] * more
    scores = queries @ k[:, :, start:stop].swapaxes(2, 3)
    if first is not None:
        rows = first + np.arange(queries.shape[2])[:, None]
        scores[..., rows < np.arange(start, stop)] = -np.inf
    largest = scores.max(axis=-1, keepdims=True)
    # rows that see nothing of a half have a weight of nothing
    largest = np.maximum(largest, np.finfo(queries.dtype).min)
    weights = np.exp(scores - largest)
    return largest, weights.sum(axis=-1, keepdims=True), weights @ v[:, :, start:stop]
