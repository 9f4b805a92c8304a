"""Attention in tiles, forward and backward: the trusted solution of `flash_attention_backward`.

q, k, v, do (B,H,N,D). With s[i,j] = <q[i], k[j]> / sqrt(D) for every j that row i may see,

    L[i] = log sum_j exp(s[i,j])      p[i,j] = exp(s[i,j] - L[i])      o[i] = sum_j p[i,j] v[j]

and for the scalar sum(do * o), by the chain rule through the softmax,

    dv[j] = sum_i p[i,j] do[i]        ds[i,j] = p[i,j] (<do[i], v[j]> - delta[i])        delta[i] = <do[i], o[i]>
    dq[i] = sum_j ds[i,j] k[j] / sqrt(D)                dk[j] = sum_i ds[i,j] q[i] / sqrt(D)

delta is the sum over all keys of p[i,j] <do[i], v[j]>. The backward pass computes p again, tile by tile, from s and L.

k and v may be (B,G,M,D): H / G consecutive heads share them, and under the mask the last query sees the last key. Of
more queries than keys the first see none, and give zeros and an L of -inf.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Cache = dict[str, Array]


def flash_attention_fwd(
    q: Array, k: Array, v: Array, tile_size: int, causal: bool = True
) -> tuple[Array, Cache]:
    """Attention of q (B,H,N,D) and k, v in tiles: o (B,H,N,D), and what the backward pass needs."""
    _check_arguments(q, k, v, tile_size)
    length = q.shape[2]
    o = np.zeros_like(q)
    logsumexp = np.full(q.shape[:3], -np.inf, q.dtype)
    keys, values = (_for_each_head(shared, q.shape[1]) for shared in (k, v))
    ahead = k.shape[2] - length
    for first in range(_blind(ahead, causal), length, tile_size):
        rows = slice(first, min(first + tile_size, length))
        o[:, :, rows], logsumexp[:, :, rows] = _attend(q[:, :, rows], keys, values, first + ahead, tile_size, causal)
    return o, {"O": o, "L": logsumexp, "Q": q, "K": k, "V": v}


def flash_attention_bwd(
    do: Array, cache: Cache, tile_size: int, causal: bool = True
) -> tuple[Array, Array, Array]:
    """Gradients dq, dk, dv, as q, k and v, of sum(do * o), for do (B,H,N,D) and the cache of that forward."""
    q, k, v, o, logsumexp = (cache[name] for name in ("Q", "K", "V", "O", "L"))
    _require(do.shape == q.shape, f"do has shape {do.shape}, q had {q.shape}")
    _require(tile_size >= 1, f"the tile size is {tile_size}, expected at least 1")
    groups, length, ahead = k.shape[1], q.shape[2], k.shape[2] - q.shape[2]
    k, v = (_for_each_head(shared, q.shape[1]) for shared in (k, v))
    scale = 1.0 / math.sqrt(q.shape[3])
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    delta = (do * o).sum(axis=-1, keepdims=True)
    for first in range(_blind(ahead, causal), length, tile_size):
        last = min(first + tile_size, length)
        rows = slice(first, last)
        end = last + ahead if causal else k.shape[2]
        for start in range(0, end, tile_size):
            stop = min(start + tile_size, end)
            keys = slice(start, stop)
            scores = scale * (q[:, :, rows] @ k[:, :, keys].swapaxes(-1, -2))
            if causal and stop > first + ahead:
                hidden = np.arange(start, stop) > np.arange(first, last)[:, None] + ahead
                scores[:, :, hidden] = -np.inf
            weights = np.exp(scores - logsumexp[:, :, rows, None]).astype(q.dtype)
            slopes = do[:, :, rows] @ v[:, :, keys].swapaxes(-1, -2)
            dscores = weights * (slopes - delta[:, :, rows])
            dv[:, :, keys] += weights.swapaxes(-1, -2) @ do[:, :, rows]
            dq[:, :, rows] += scale * (dscores @ k[:, :, keys])
            dk[:, :, keys] += scale * (dscores.swapaxes(-1, -2) @ q[:, :, rows])
    dk, dv = (_over_groups(each, groups) for each in (dk, dv))
    return dq, dk, dv


def _blind(ahead: int, causal: bool) -> int:
    """Return how many queries see no key, where the last key stands `ahead` of the last query's number."""
    return max(0, -ahead) if causal else 0


def _for_each_head(shared: Array, heads: int) -> Array:
    """Return keys or values (B,G,M,D) once for each of the heads: consecutive ones share."""
    return shared if shared.shape[1] == heads else shared.repeat(heads // shared.shape[1], axis=1)


def _over_groups(each: Array, groups: int) -> Array:
    """Add gradients (B,H,M,D) of keys or values up over the heads that share them: (B,G,M,D)."""
    B, H, M, D = each.shape
    return each if groups == H else each.reshape(B, groups, H // groups, M, D).sum(axis=2)


def _attend(queries: Array, k: Array, v: Array, first: int, tile_size: int, causal: bool) -> tuple[Array, Array]:
    """Output (B,H,n,D) and log-sum-exp (B,H,n) of n queries, the first of which sees the keys up to `first`."""
    last = first + queries.shape[2]
    end = last if causal else k.shape[2]
    scale = 1.0 / math.sqrt(queries.shape[3])
    row_max = np.full((*queries.shape[:3], 1), -np.inf, queries.dtype)
    row_sum = np.zeros_like(row_max)
    total = np.zeros_like(queries)
    for start in range(0, end, tile_size):
        stop = min(start + tile_size, end)
        scores = scale * (queries @ k[:, :, start:stop].swapaxes(-1, -2))
        if causal and stop > first:
            scores[:, :, np.arange(start, stop) > np.arange(first, last)[:, None]] = -np.inf
        new_max = np.maximum(row_max, scores.max(axis=-1, keepdims=True))
        raised = np.exp(scores - new_max)
        correction = np.exp(row_max - new_max)
        row_sum = correction * row_sum + raised.sum(axis=-1, keepdims=True)
        total = correction * total + raised @ v[:, :, start:stop]
        row_max = new_max
    return total / row_sum, (row_max + np.log(row_sum))[..., 0]


def _check_arguments(q: Array, k: Array, v: Array, tile_size: int) -> None:
    _require(q.ndim == 4 and q.size > 0, f"q has shape {q.shape}, expected (B,H,N,D) with every size at least 1")
    fits = k.ndim == 4 and k.size > 0 and k.shape[::3] == q.shape[::3] and q.shape[1] % k.shape[1] == 0
    _require(fits, f"k has shape {k.shape}, q has {q.shape}")
    _require(v.shape == k.shape, f"v has shape {v.shape}, k has {k.shape}")
    _require(tile_size >= 1, f"tile_size is {tile_size}, expected at least 1")


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
