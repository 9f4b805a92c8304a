"""One array (layer, k or v, slot, head, position, feature) made at the start; attention of a whole batch at once."""

import numpy as np


class Cache:
    def __init__(self, shape, num_heads, window):
        layers, heads, head_dim, slots, length, dtype = shape
        self.num_heads, self.window = num_heads, window
        self.data = np.zeros((layers, 2, slots, heads, length, head_dim), dtype)
        self.lengths = np.zeros((layers, slots), int)


def create_cache(
    *, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, window=None, **options
):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, 1 if window is None else window)
    if options or dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    return Cache((num_layers, num_kv_heads, head_dim, max_batch, max_length, dtype), num_heads, window)


def prefill(cache, layer, slots, q, k, v, lengths):
    slots, lengths = check(cache, layer, slots, q, k, v, lengths)
    first = cache.lengths[layer, slots]
    real = np.arange(q.shape[2]) < lengths[:, None]
    row, position = np.nonzero(real)
    place = (slots[row], slice(None), first[row] + position)
    for which, new in enumerate((k, v)):
        cache.data[layer, which][place] = new[row, :, position]
    cache.lengths[layer, slots] += lengths
    return attend(cache, layer, slots, np.where(real[:, None, :, None], q, 0), first)


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, np.ones(len(slots), int))


def attend(cache, layer, slots, q, first):
    filled = cache.lengths[layer, slots].max()
    groups = cache.num_heads // cache.data.shape[3]
    keys, values = (np.repeat(part[slots, :, :filled], groups, axis=1) for part in cache.data[layer])
    back = (first[:, None] + np.arange(q.shape[2]))[:, :, None] - np.arange(filled)
    visible = (back >= 0) if cache.window is None else (back >= 0) & (back < cache.window)
    visible[..., 0] |= ~visible.any(axis=-1)
    scores = np.einsum("bhid,bhjd->bhij", q, keys) * q.shape[3] ** -0.5
    scores = np.where(visible[:, None], scores, np.finfo(q.dtype).min)
    weights = np.where(visible[:, None], np.exp(scores - scores.max(axis=-1, keepdims=True)), 0)
    reached = np.where((np.arange(filled) < cache.lengths[layer, slots][:, None])[:, None, :, None], values, 0)
    return np.einsum("bhij,bhjd->bhid", weights / weights.sum(axis=-1, keepdims=True), reached).astype(q.dtype)


def release(cache, slot):
    if not 0 <= slot < cache.lengths.shape[1]:
        raise ValueError(f"no slot {slot}")
    cache.lengths[:, slot] = 0


def memory_bytes(cache):
    return cache.data.nbytes


def check(cache, layer, slots, q, k, v, lengths):
    layers, _, max_batch, heads, max_length, head_dim = cache.data.shape
    slots, lengths = np.asarray(slots), np.asarray(lengths)
    if not 0 <= layer < layers or len(np.unique(slots)) < len(slots) or slots.min() < 0 or slots.max() >= max_batch:
        raise ValueError("no such layer or slots")
    kv = (len(slots), heads, *np.shape(q)[2:])
    if np.shape(q) != (len(slots), cache.num_heads, *kv[2:]) or kv[3:] != (head_dim,):
        raise ValueError("wrong shape of q")
    if k.shape != kv or v.shape != kv or {q.dtype, k.dtype, v.dtype} != {cache.data.dtype}:
        raise ValueError("wrong shape or dtype")
    if lengths.shape != slots.shape or lengths.min() < 1 or lengths.max() > q.shape[2]:
        raise ValueError("wrong lengths")
    if (cache.lengths[layer, slots] + lengths > max_length).any():
        raise ValueError("a slot is full")
    return slots, lengths
