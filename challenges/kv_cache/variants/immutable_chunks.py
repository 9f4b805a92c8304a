"""Chunks that are never written again, joined when they are read, shared by forks; a window forgets what it cannot see.

Each token is a row (heads, 2 D): its key beside its value. Weights are normalised in the exponent, in float64.
"""

import numpy as np


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype, window):
        self.heads, self.max_length, self.window = heads, max_length, window
        self.blank = np.zeros((0, kv_heads, 2 * head_dim), dtype)
        self.layers = [[(0, (self.blank,))] * slots for _ in range(layers)]


def create_cache(
    *, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, window=None, **options
):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or num_heads % max(num_kv_heads, 1):
        raise ValueError("unsupported cache")
    if min(*sizes, 1 if window is None else window) < 1:
        raise ValueError("every size must be positive")
    return Cache(*sizes, dtype, window)


def prefill(cache, layer, slots, q, k, v, lengths):
    check(cache, layer, slots, q, k, v, lengths)
    out = np.zeros(q.shape, q.dtype)
    for b, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
        seen, chunks = cache.layers[layer][slot]
        new = np.concatenate([k[b, :, :n], v[b, :, :n]], axis=-1).swapaxes(0, 1)
        rows = np.concatenate([*chunks, new])
        out[b, :, :n] = attend(q[b, :, :n], rows, seen + n - len(rows), seen, cache.window)
        kept = rows if cache.window is None else rows[max(0, len(rows) - cache.window + 1) :].copy()
        joined = (kept,) if len(chunks) > 8 or cache.window is not None else (*chunks, new.copy())
        cache.layers[layer][slot] = (seen + int(n), joined)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def attend(q, rows, oldest, first, window):
    """q (H, n, D) at positions from `first` on over rows (m, Hkv, 2 D) at positions from `oldest` on."""
    heads, n, head_dim = q.shape
    kv_head = np.arange(heads) // (heads // rows.shape[1])
    wide = rows.astype(np.float64)[:, kv_head].swapaxes(0, 1)
    keys, values = wide[..., :head_dim], wide[..., head_dim:]
    back = (first + np.arange(n))[:, None] - (oldest + np.arange(len(rows)))
    hidden = (back < 0) | (back >= (window or len(rows) + n))
    scores = np.where(hidden, -1e300, (q.astype(np.float64) / np.sqrt(head_dim)) @ keys.swapaxes(1, 2))
    below = scores - scores.max(axis=-1, keepdims=True)
    return np.exp(below - np.log(np.exp(below).sum(axis=-1, keepdims=True))) @ values


def release(cache, slot):
    if slot not in range(len(cache.layers[0])):
        raise ValueError(f"no slot {slot}")
    for slots in cache.layers:
        slots[slot] = (0, (cache.blank,))


def fork(cache, src, dst):
    if not {src, dst} <= set(range(len(cache.layers[0]))):
        raise ValueError("no such slot")
    for slots in cache.layers:
        slots[dst] = slots[src]


def memory_bytes(cache):
    held = {id(chunk): chunk.nbytes for slots in cache.layers for _, chunks in slots for chunk in chunks}
    return sum(held.values())


def check(cache, layer, slots, q, k, v, lengths):
    if not 0 <= layer < len(cache.layers):
        raise ValueError(f"no layer {layer}")
    state, named = cache.layers[layer], set(map(int, slots))
    if len(named) < len(slots) or not named <= set(range(len(state))):
        raise ValueError(f"slots {slots}")
    _, kv_heads, width = cache.blank.shape
    longest = np.shape(q)[2] if np.ndim(q) == 4 else 0
    for array, heads in ((q, cache.heads), (k, kv_heads), (v, kv_heads)):
        if np.shape(array) != (len(slots), heads, longest, width // 2) or array.dtype != cache.blank.dtype:
            raise ValueError(f"an array has shape {np.shape(array)}")
    if len(lengths) != len(slots) or min(lengths) < 1 or max(lengths) > longest:
        raise ValueError(f"lengths {lengths}")
    if any(state[slot][0] + n > cache.max_length for slot, n in zip(slots, lengths, strict=True)):
        raise ValueError("a slot is full")
