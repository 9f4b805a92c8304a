"""Causal attention and its gradients, tile by tile (see ANALYSIS.md): no array of all scores is ever made."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from online_softmax import OnlineSoftmax

Array = NDArray[np.floating[Any]]
Cache = dict[str, Array]


def flash_attention_fwd(
    q: Array, k: Array, v: Array, tile_size: int, causal: bool = True
) -> tuple[Array, Cache]:
    """Attention of q over k and v, all (B,H,N,D), in tiles of `tile_size` queries and keys.

    Returns o (B,H,N,D) and the cache for `flash_attention_bwd`: O, L (B,H,N), Q, K and V. With `causal` a position sees
    itself and those before it. Raises ValueError for shapes that do not match and a tile of less than one row.
    """
    if q.ndim != 4 or q.size == 0:
        raise ValueError(f"q must be (B,H,N,D) and not empty, not {q.shape}")
    if k.shape != q.shape or v.shape != q.shape:
        raise ValueError(f"k {k.shape} and v {v.shape} must have the shape of q, {q.shape}")
    _require_tile(tile_size)
    o, logsumexp = np.empty_like(q), np.empty(q.shape[:3], q.dtype)
    for rows in _tiles(q.shape[2], tile_size):
        softmax = OnlineSoftmax(q[:, :, rows])
        for keys in _seen(rows, q.shape[2], tile_size, causal):
            softmax.add(_scores(q, k, rows, keys, causal), v[:, :, keys])
        o[:, :, rows], logsumexp[:, :, rows] = softmax.mean(), softmax.logsumexp()
    return o, {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}


def flash_attention_bwd(
    do: Array, cache: Cache, tile_size: int, causal: bool = True
) -> tuple[Array, Array, Array]:
    """Gradients dq, dk, dv (B,H,N,D) of sum(do * o), for do (B,H,N,D) and the cache of that forward.

    `tile_size` need not be the forward's; `causal` must be. Raises ValueError when do has another shape than q had.
    """
    q, k, v = cache["Q"], cache["K"], cache["V"]
    if do.shape != q.shape:
        raise ValueError(f"do must be {q.shape}, as q was, not {do.shape}")
    _require_tile(tile_size)
    scale = 1.0 / math.sqrt(q.shape[3])
    row_sum = (do * cache["O"]).sum(axis=-1, keepdims=True)    # of weight times slope, over all keys
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for rows in _tiles(q.shape[2], tile_size):
        for keys in _seen(rows, q.shape[2], tile_size, causal):
            weights = _scores(q, k, rows, keys, causal)
            weights -= cache["L"][:, :, rows, None]
            np.exp(weights, out=weights)
            dv[:, :, keys] += weights.swapaxes(-1, -2) @ do[:, :, rows]
            slopes = do[:, :, rows] @ v[:, :, keys].swapaxes(-1, -2)
            slopes -= row_sum[:, :, rows]
            slopes *= weights
            slopes *= scale
            dq[:, :, rows] += slopes @ k[:, :, keys]
            dk[:, :, keys] += slopes.swapaxes(-1, -2) @ q[:, :, rows]
    return dq, dk, dv


def _tiles(stop: int, tile_size: int) -> Iterator[slice]:
    """Slices of up to `tile_size` positions that cover 0..stop-1."""
    for start in range(0, stop, tile_size):
        yield slice(start, min(start + tile_size, stop))


def _seen(rows: slice, positions: int, tile_size: int, causal: bool) -> Iterator[slice]:
    """The tiles of keys that some query of `rows` sees: with `causal`, up to the diagonal."""
    return _tiles(rows.stop if causal else positions, tile_size)


def _scores(q: Array, k: Array, rows: slice, keys: slice, causal: bool) -> Array:
    """Scaled scores (B,H,n,m) of a pair of tiles, -inf where a key lies in the future."""
    scores = q[:, :, rows] @ k[:, :, keys].swapaxes(-1, -2)
    scores *= 1.0 / math.sqrt(q.shape[3])
    if causal and keys.stop > rows.start + 1:
        future = np.arange(keys.start, keys.stop) > np.arange(rows.start, rows.stop)[:, None]
        scores[:, :, future] = -np.inf
    return scores


def _require_tile(tile_size: int) -> None:
    if tile_size < 1:
        raise ValueError(f"tile_size must be at least 1, not {tile_size}")
