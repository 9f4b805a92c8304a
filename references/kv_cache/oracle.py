"""Attention in long double, and a cache of plain arrays that answers every call of the contract with it."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Long = NDArray[np.longdouble]
Floats = NDArray[np.float64]
HIDDEN = -1e300
"""A score so far below all others that its weight is 0, with room left to compute with."""


def attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, first: int, window: int | None = None) -> Long:
    """Softmax attention over a slot's whole history.

    q (H, n, D) are the queries at positions first .. first + n - 1, k and v (Hkv, m, D) the keys and values at
    positions 0 .. m - 1. Position p sees positions <= p; with a window only the last `window` of them, itself included.
    Query head h uses key/value head h // (H // Hkv). Returns (H, n, D).
    """
    q, k, v = (np.asarray(array, np.longdouble) for array in (q, k, v))
    num_heads, n, head_dim = q.shape
    kv_heads, m, _ = k.shape
    groups = q.reshape(kv_heads, num_heads // kv_heads, n, head_dim)
    scores = np.matmul(groups, k[:, None].swapaxes(-1, -2)) / np.sqrt(np.longdouble(head_dim))
    back = first + np.arange(n)[:, None] - np.arange(m)
    visible = back >= 0
    if window is not None:
        visible &= back < window
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.matmul(weights, v[:, None]).reshape(num_heads, n, head_dim)


def attention_with_rounding(
    q: Floats, k: Floats, v: Floats, first: int, window: int | None, dtype: str
) -> tuple[Floats, Floats]:
    """As `attention`, in float64, and what rounding may cost the sum of the values in `dtype`, element by element.

    That is a part of the bound of `attention_with_bound`, in a third of its time: an answer that is so near is within
    the whole.
    """
    _, n, head_dim = q.shape
    groups, k, v = q.reshape(len(k), -1, n, head_dim), k[:, None], v[:, None]
    scores = groups @ k.swapaxes(-1, -2)
    scores *= head_dim**-0.5
    _hide(scores, first, window)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    out = weights @ v
    rounding = weights @ np.abs(v)
    rounding += np.abs(out)
    rounding *= _unit(dtype) * (3 * k.shape[2] + 12)
    return out.reshape(q.shape), rounding.reshape(q.shape)


def attention_with_bound(
    q: Floats, k: Floats, v: Floats, first: int, window: int | None, dtype: str
) -> tuple[Floats, Floats]:
    """As `attention`, in float64, and how far an honest answer in `dtype` may be from it, element by element.

    The bound holds for sums in any order, a scale on either side, blocks of any size with a running maximum, parts
    merged by their log-sum-exp, and exp by powers of two. With u the unit roundings of `dtype` and of float64 together
    and s* the largest score: a sum of n terms is off by at most n u times the sum of their sizes (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.1), so score j, of absolute products A_j >= |s_j|, by (D + 10) u A_j.
    Against the weight of s*, that of j is then off by a factor of exp(+-d_j) at most, where d_j collects both scores'
    errors, those of the exponents' arguments, 8 u |s_j - s*| + 4 u (A_j + A*), and 6 n + 20 roundings after them. With
    e_j = exp(s_j - s* + d_j) - exp(s_j - s*), 0 for s* itself, and Z the sum of the weights, the mean is off by at most
    sum e_j (|v_j| + |out|) / max(1, Z - sum e_j), and never by more than twice the largest |v_j|. Summing the values
    adds 3 n + 12 roundings, and n + 4 of the smallest numbers where weights or products underflow.
    """
    _, n, head_dim = q.shape
    groups, k, v = q.reshape(len(k), -1, n, head_dim), k[:, None], v[:, None]
    unit, m = _unit(dtype), k.shape[2]
    scale, heights = head_dim**-0.5, np.abs(v)
    scores, sizes = groups @ k.swapaxes(-1, -2) * scale, np.abs(groups) @ np.abs(k).swapaxes(-1, -2) * scale
    _hide(scores, first, window)
    best = scores.reshape(-1, m).argmax(axis=-1)
    best += m * np.arange(best.size)  # in the flat array
    top, most = (a.ravel()[best].reshape(*scores.shape[:-1], 1) for a in (scores, sizes))
    below = scores - top
    spread = unit * ((head_dim + 14) * (sizes + most) - 8 * below + 6 * m + 20)
    weights = np.exp(below)
    moved = np.exp(np.minimum(below + spread, 40.0)) - weights
    moved.reshape(-1)[best] = 0.0
    total, slack = weights.sum(axis=-1, keepdims=True), moved.sum(axis=-1, keepdims=True)
    out, shares = weights @ v / total, np.maximum(1.0, total - slack)
    height = np.abs(out)
    if n == 1 == m - first:  # the newest token sees all there is
        largest = heights.max(axis=-2, keepdims=True)
    else:
        largest = np.maximum.accumulate(heights, axis=-2)[..., first : first + n, :]
    drift = moved @ heights / shares
    size = np.minimum(weights @ heights / total + drift, largest)
    tiny = float(np.finfo(dtype).smallest_subnormal) * (m + 4) * (1 + largest)
    bound = np.minimum(drift + slack * height / shares, 2 * largest)
    bound += unit * (3 * m + 12) * (size + height) + tiny
    return out.reshape(q.shape), bound.reshape(q.shape)


@lru_cache
def _unit(dtype: str) -> float:
    """The unit roundings of `dtype` and of float64 together."""
    return float(np.finfo(dtype).eps + np.finfo(np.float64).eps) / 2


def _hide(scores: Floats, first: int, window: int | None) -> None:
    """Lower the scores (..., n, m) of the tokens that a position must not see."""
    n, m = scores.shape[-2:]
    if n > 1 or window is not None:
        back = first + np.arange(n)[:, None] - np.arange(m)
        np.copyto(scores, HIDDEN, where=(back < 0) if window is None else (back < 0) | (back >= window))


class OracleCache:
    """The contract in long double: the same calls as an answer's cache, driven beside it.

    Inputs are float32, float64 or long double arrays; prefill positions at or past a row's length may hold anything and
    give zeros. `history[layer][slot]` is the pair (k, v), each (Hkv, n, D), of everything the slot holds.
    """

    def __init__(
        self,
        *,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        max_batch: int,
        max_length: int,
        window: int | None = None,
    ) -> None:
        self.max_length = max_length
        self.window = window
        self._empty = np.zeros((num_kv_heads, 0, head_dim), np.longdouble)
        self.history = [[(self._empty, self._empty)] * max_batch for _ in range(num_layers)]

    def length(self, layer: int, slot: int) -> int:
        """Tokens the slot holds in this layer."""
        return self.history[layer][slot][0].shape[1]

    def prefill(
        self, layer: int, slots: Sequence[int], q: ArrayLike, k: ArrayLike, v: ArrayLike, lengths: Sequence[int]
    ) -> Long:
        """Append lengths[b] tokens to slots[b]: q (B, H, S, D), k and v (B, Hkv, S, D); the outputs (B, H, S, D).

        Raises ValueError, and changes nothing, when a slot has no room.
        """
        q, k, v = (np.asarray(array, np.longdouble) for array in (q, k, v))
        for slot, n in zip(slots, lengths, strict=True):
            if self.length(layer, slot) + n > self.max_length:
                raise ValueError(f"slot {slot} has no room for {n} more tokens")
        out = np.zeros(q.shape, np.longdouble)
        for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
            first = self.length(layer, slot)
            new = (k[row, :, :n], v[row, :, :n])
            past = self.history[layer][slot]
            keys, values = (np.concatenate(parts, axis=1) for parts in zip(past, new, strict=True))
            out[row, :, :n] = attention(q[row, :, :n], keys, values, first, self.window)
            self.history[layer][slot] = (keys, values)
        return out

    def decode(self, layer: int, slots: Sequence[int], q: ArrayLike, k: ArrayLike, v: ArrayLike) -> Long:
        """Append one token to each slot: q (B, H, 1, D), k and v (B, Hkv, 1, D); the outputs (B, H, 1, D)."""
        return self.prefill(layer, slots, q, k, v, [1] * len(slots))

    def release(self, slot: int) -> None:
        """Empty the slot in every layer."""
        for layer in self.history:
            layer[slot] = (self._empty, self._empty)

    def fork(self, src: int, dst: int) -> None:
        """Make dst an independent copy of src in every layer."""
        for layer in self.history:
            layer[dst] = layer[src]
