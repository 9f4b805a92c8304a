"""All slots of a layer in one growing array, head by head; a call attends for every slot of the cache at once.

Rows that a call does not name take part with a query of zeros and are thrown away. Values lie feature by feature.
"""

import numpy as np


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype):
        self.heads, self.max_length = heads, max_length
        self.lengths = np.zeros((layers, slots), np.int32)
        self.keys = [np.zeros((kv_heads, slots, 0, head_dim), dtype) for _ in range(layers)]
        self.values = [np.zeros((kv_heads, slots, head_dim, 0), dtype) for _ in range(layers)]

    def reserve(self, layer, length):
        more = min(self.max_length, -(-length // 16) * 16) - self.keys[layer].shape[2]
        if more > 0:
            self.keys[layer] = np.pad(self.keys[layer], [(0, 0), (0, 0), (0, more), (0, 0)])
            self.values[layer] = np.pad(self.values[layer], [(0, 0), (0, 0), (0, 0), (0, more)])


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    return Cache(*sizes, dtype)


def prefill(cache, layer, slots, q, k, v, lengths):
    slots, lengths = check(cache, layer, slots, q, k, v, lengths)
    first = cache.lengths[layer].copy()
    cache.reserve(layer, int((first[slots] + lengths).max()))
    queries = np.zeros((cache.heads, first.size, *q.shape[2:]), q.dtype)
    for row, slot in enumerate(slots):
        n, at = lengths[row], slice(first[slot], first[slot] + lengths[row])
        cache.keys[layer][:, slot, at] = k[row, :, :n]
        cache.values[layer][:, slot, :, at] = v[row, :, :n].swapaxes(1, 2)
        queries[:, slot, :n] = q[row, :, :n]
    cache.lengths[layer, slots] += lengths
    return np.ascontiguousarray(attend(cache, layer, queries, first)[:, slots].swapaxes(0, 1))


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, np.ones(len(slots), np.int64))


def attend(cache, layer, q, first):
    """Attention of q (H, slots, n, D), at positions from `first` (slots,) on: (H, slots, n, D)."""
    keys, values = (np.repeat(a, cache.heads // len(a), axis=0) for a in (cache.keys[layer], cache.values[layer]))
    last = np.maximum(np.minimum(first[:, None] + np.arange(q.shape[2]), cache.lengths[layer][:, None] - 1), 0)
    scores = (q * q.dtype.type(q.shape[3] ** -0.5)) @ keys.swapaxes(2, 3)
    scores = np.where(np.arange(keys.shape[2]) <= last[..., None], scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    return (weights / weights.sum(axis=3, keepdims=True)) @ values.swapaxes(2, 3)


def release(cache, slot):
    if slot not in range(cache.lengths.shape[1]):
        raise ValueError(f"no slot {slot}")
    cache.lengths[:, slot] = 0
    for keys, values in zip(cache.keys, cache.values, strict=True):
        keys[:, slot] = 0
        values[:, slot] = 0


def memory_bytes(cache):
    return sum(a.nbytes for a in (*cache.keys, *cache.values))


def check(cache, layer, slots, q, k, v, lengths):
    slots, lengths = np.array(slots), np.array(lengths)
    layers, count = cache.lengths.shape
    if not 0 <= layer < layers or len(set(slots.tolist())) < len(slots) or slots.min() < 0 or slots.max() >= count:
        raise ValueError("no such layer or slots")
    kv_heads, _, _, head_dim = cache.keys[layer].shape
    longest = np.shape(q)[2] if np.ndim(q) == 4 else 0
    for array, heads in ((q, cache.heads), (k, kv_heads), (v, kv_heads)):
        if np.shape(array) != (len(slots), heads, longest, head_dim) or array.dtype != cache.keys[layer].dtype:
            raise ValueError("wrong shape or dtype")
    if lengths.shape != slots.shape or lengths.min() < 1 or lengths.max() > longest:
        raise ValueError("wrong lengths")
    if (cache.lengths[layer, slots] + lengths > cache.max_length).any():
        raise ValueError("a slot is full")
    return slots, lengths
