"""Every sum one term at a time, in the precision given: the least exact order that an honest loop can have.

Keys and values are stacked feature by feature: a slot is a list of columns, joined when there are many.
"""

import numpy as np


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype):
        self.shape, self.heads, self.max_length = (kv_heads, head_dim), heads, max_length
        self.dtype = np.dtype(dtype)
        self.held = [[np.zeros((2, kv_heads, head_dim, 0), dtype)] * slots for _ in range(layers)]


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or any(size < 1 for size in sizes) or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    return Cache(*sizes, dtype)


def prefill(cache, layer, slots, q, k, v, lengths):
    check(cache, layer, slots, (q, k, v), lengths)
    out = np.zeros_like(q)
    for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
        new = np.stack([k[row, :, :n], v[row, :, :n]]).swapaxes(2, 3)
        past = cache.held[layer][slot].shape[3]
        cache.held[layer][slot] = np.concatenate([cache.held[layer][slot], new], axis=3)
        keys, values = np.repeat(cache.held[layer][slot], cache.heads // k.shape[1], axis=1)
        out[row, :, :n] = attend(q[row, :, :n], keys, values, past)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def attend(q, keys, values, past):
    """Attention of q (H, n, D) over keys and values (H, D, m), the newest n of them their own."""
    scores = np.zeros((*q.shape[:2], keys.shape[2]), q.dtype)
    for feature in range(q.shape[2]):
        scores += q[:, :, feature, None] * keys[:, None, feature]
    scores *= q.dtype.type(q.shape[2] ** -0.5)
    hidden = np.arange(keys.shape[2]) > past + np.arange(q.shape[1])[:, None]
    scores[:, hidden] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    total, out = np.zeros(q.shape[:2], q.dtype), np.zeros_like(q)
    for token in range(keys.shape[2]):
        total += weights[:, :, token]
    for token in range(keys.shape[2]):
        out += (weights[:, :, token] / total)[..., None] * values[:, None, :, token]
    return out


def release(cache, slot):
    if not 0 <= slot < len(cache.held[0]):
        raise ValueError(f"no slot {slot}")
    for held in cache.held:
        held[slot] = np.zeros((2, *cache.shape, 0), cache.dtype)


def memory_bytes(cache):
    return sum(columns.nbytes for held in cache.held for columns in held)


def check(cache, layer, slots, qkv, lengths):
    if layer not in range(len(cache.held)):
        raise ValueError(f"no layer {layer}")
    held, longest = cache.held[layer], np.shape(qkv[0])[2] if np.ndim(qkv[0]) == 4 else 0
    if any(slot not in range(len(held)) for slot in slots) or len(np.unique(slots)) != len(slots):
        raise ValueError(f"slots {slots}")
    for array, heads in zip(qkv, (cache.heads, cache.shape[0], cache.shape[0]), strict=True):
        if np.shape(array) != (len(slots), heads, longest, cache.shape[1]) or array.dtype != cache.dtype:
            raise ValueError(f"an array has shape {np.shape(array)} and dtype {array.dtype}")
    if len(lengths) != len(slots) or not all(1 <= n <= longest for n in lengths):
        raise ValueError(f"lengths {lengths}")
    if any(held[slot].shape[3] + n > cache.max_length for slot, n in zip(slots, lengths, strict=True)):
        raise ValueError("a slot is full")
