"""One growing table of token rows for all layers and slots; a sequence is a list of row numbers, freed rows come again.

The table grows by half when no row is free, and is copied then. Attention gathers the rows of a sequence.
"""

import numpy as np


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype):
        self.layers, self.slots, self.heads, self.max_length = layers, slots, heads, max_length
        self.table = np.empty((0, 2, kv_heads, head_dim), dtype)
        self.free, self.rows = [], {}

    def take(self, n):
        if len(self.free) < n:
            old = len(self.table)
            new = max(old + n - len(self.free), old * 3 // 2)
            grown = np.empty((new, *self.table.shape[1:]), self.table.dtype)
            grown[:old] = self.table
            self.table = grown
            self.free += range(new - 1, old - 1, -1)
        return [self.free.pop() for _ in range(n)]


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options:
        raise ValueError(f"no options: {sorted(options)}")
    if dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    return Cache(*sizes, dtype)


def prefill(cache, layer, slots, q, k, v, lengths):
    check(cache, layer, slots, q, k, v, lengths)
    out = np.empty(q.shape, q.dtype)
    for b, slot in enumerate(map(int, slots)):
        n, rows = int(lengths[b]), cache.rows.setdefault((layer, slot), [])
        past = len(rows)
        rows += cache.take(n)
        cache.table[rows[past:]] = np.stack([k[b, :, :n], v[b, :, :n]]).transpose(2, 0, 1, 3)
        keys, values = np.repeat(cache.table[rows].transpose(1, 2, 0, 3), cache.heads // k.shape[1], axis=1)
        scores = np.einsum("hid,hjd->hij", q[b, :, :n], keys, optimize=True) / np.sqrt(float(q.shape[3]))
        scores += np.triu(np.full((n, past + n), -np.inf, q.dtype), past + 1)
        weights = np.exp(scores - scores.max(-1)[..., None])
        out[b, :, :n] = np.einsum("hij,hjd->hid", weights, values, optimize=True) / weights.sum(-1)[..., None]
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, np.ones(len(slots), np.int64))


def release(cache, slot):
    if not 0 <= slot < cache.slots:
        raise ValueError(f"no slot {slot}")
    for layer in range(cache.layers):
        cache.free += cache.rows.pop((layer, int(slot)), [])


def fork(cache, src, dst):
    if not (0 <= src < cache.slots and 0 <= dst < cache.slots):
        raise ValueError("no such slot")
    if src == dst:
        return
    release(cache, dst)
    for layer in range(cache.layers):
        if rows := cache.rows.get((layer, int(src))):
            cache.rows[layer, int(dst)] = copies = cache.take(len(rows))
            cache.table[copies] = cache.table[rows]


def memory_bytes(cache):
    return cache.table.nbytes


def check(cache, layer, slots, q, k, v, lengths):
    if not 0 <= layer < cache.layers:
        raise ValueError(f"no layer {layer}")
    if len(set(map(int, slots))) < len(slots) or min(slots) < 0 or max(slots) >= cache.slots:
        raise ValueError(f"slots {slots}")
    _, _, kv_heads, head_dim = cache.table.shape
    if np.ndim(q) != 4 or (q.shape[0], q.shape[1], q.shape[3]) != (len(slots), cache.heads, head_dim):
        raise ValueError(f"q has shape {np.shape(q)}")
    kv = (len(slots), kv_heads, q.shape[2], head_dim)
    if np.shape(k) != kv or np.shape(v) != kv or any(a.dtype != cache.table.dtype for a in (q, k, v)):
        raise ValueError("q, k and v do not fit")
    if len(lengths) != len(slots) or min(lengths) < 1 or max(lengths) > q.shape[2]:
        raise ValueError(f"lengths {lengths}")
    held = [len(cache.rows.get((layer, int(slot)), ())) for slot in slots]
    if any(before + n > cache.max_length for before, n in zip(held, lengths, strict=True)):
        raise ValueError("a slot is full")
