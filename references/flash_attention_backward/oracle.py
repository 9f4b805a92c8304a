"""Oracle of attention and its gradients, in long double where nothing else is asked: all scores at once.

q, do (B,H,N,D), k, v (B,H,M,D): the last query stands at the last key. x86 long double carries 64 mantissa bits.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Long = NDArray[np.longdouble]
AnyArray = NDArray[np.floating[Any]]


class Exact(NamedTuple):
    """The outputs o (B,H,N,D), L (B,H,N) and gradients, as q, k and v, and what they are made of (B,H,N,M)."""

    o: Long
    logsumexp: Long
    dq: Long
    dk: Long
    dv: Long
    scores: Long
    weights: Long
    slopes: Long
    dscores: Long


def attention(
    q: AnyArray, k: AnyArray, v: AnyArray, do: AnyArray, causal: bool, wide: type = np.longdouble
) -> Exact:
    """Everything about one forward and its backward."""
    q, k, v, do = (values.astype(wide) for values in (q, k, v, do))
    scale = 1 / np.sqrt(wide(q.shape[3]))
    scores = _multiply(q, k)
    scores *= scale
    if causal:
        ahead = k.shape[2] - q.shape[2]
        np.copyto(scores, -np.inf, where=np.arange(k.shape[2]) > np.arange(q.shape[2])[:, None] + ahead)
    largest = scores.max(axis=-1, keepdims=True)
    weights = scores - largest
    np.exp(weights, out=weights)
    total = weights.sum(axis=-1, keepdims=True)
    weights /= total
    o = _multiply(weights, v.swapaxes(-1, -2))
    slopes = _multiply(do, v)
    dscores = slopes - (do * o).sum(axis=-1, keepdims=True)
    dscores *= weights
    return Exact(
        o, (largest + np.log(total))[..., 0], scale * _multiply(dscores, k.swapaxes(-1, -2)),
        scale * _multiply(dscores.swapaxes(-1, -2), q.swapaxes(-1, -2)),
        _multiply(weights.swapaxes(-1, -2), do.swapaxes(-1, -2)), scores, weights, slopes, dscores,
    )  # fmt: skip


def _multiply(a: AnyArray, b: AnyArray) -> Any:
    """Return all products of rows of a (B,H,R,D) and b (B,H,C,D): (B,H,R,C).

    In long double, which BLAS does not have, `matmul` takes up to three times as long to add up the same.
    """
    if a.dtype == np.longdouble:
        return np.vecdot(a[:, :, :, None], b[:, :, None])
    return a @ b.swapaxes(-1, -2)


def tangent(
    q: AnyArray, k: AnyArray, v: AnyArray, causal: bool, move_q: AnyArray, move_k: AnyArray, move_v: AnyArray
) -> Long:
    """Directional derivative of o (B,H,N,D) when q, k and v move along move_q, move_k and move_v."""
    exact = attention(q, k, v, np.zeros_like(v), causal)
    q, k, v, move_q, move_k, move_v = (a.astype(np.longdouble) for a in (q, k, v, move_q, move_k, move_v))
    moved = (move_q @ k.swapaxes(-1, -2) + q @ move_k.swapaxes(-1, -2)) / np.sqrt(np.longdouble(q.shape[3]))
    mean = (exact.weights * moved).sum(axis=-1, keepdims=True)
    return (exact.weights * (moved - mean)) @ v + exact.weights @ move_v
