"""Attention of each pair of tiles by itself, merged by the logarithms of the sums."""

import numpy as np


def flash_attention_fwd(q, k, v, tile_size, causal=True):
    if q.ndim != 4 or min(q.shape) < 1 or not q.shape == k.shape == v.shape or tile_size < 1:
        raise ValueError(f"shapes {q.shape}, {k.shape}, {v.shape} and tiles of {tile_size} do not go together")
    length = q.shape[2]
    rows = []
    for first in range(0, length, tile_size):
        queries = q[:, :, first : first + tile_size]
        o, logarithm = 0.0, None
        for start in range(0, first + 1 if causal else length, tile_size):
            tile, of_tile = plain(queries, k, v, slice(start, start + tile_size), causal and start == first)
            if logarithm is None:
                o, logarithm = tile, of_tile
            else:
                both = np.logaddexp(logarithm, of_tile)
                # what is lost of `both` where it is large must not be missing in the mean
                old, new = np.exp(logarithm - both), np.exp(of_tile - both)
                o, logarithm = (o * old + tile * new) / (old + new), both
        rows.append(o)
    return np.concatenate(rows, axis=2)


def plain(queries, k, v, part, hidden):
    """Finished attention over some keys, and the logarithm of the sum of its exponentials."""
    scores = queries @ k[:, :, part].transpose(0, 1, 3, 2) / queries.dtype.type(np.sqrt(queries.shape[3]))
    if hidden:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, queries.dtype.type(-np.inf))
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - largest)
    weight = weights.sum(axis=-1, keepdims=True)
    return weights @ v[:, :, part] / weight, largest + np.log(weight)
