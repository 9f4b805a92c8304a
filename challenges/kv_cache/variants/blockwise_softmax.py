"""Keys stored as columns in buffers that double, attention in blocks of keys with a running maximum and sum."""

import numpy as np

BLOCK = 5


class Slot:
    """Keys (Hkv, D, room) and values (Hkv, room, D) of one sequence in one layer."""

    def __init__(self, heads, head_dim, dtype):
        self.length = 0
        self.keys = np.zeros((heads, head_dim, 1), dtype)
        self.values = np.zeros((heads, 1, head_dim), dtype)

    def append(self, k, v):
        end = self.length + k.shape[1]
        while self.keys.shape[2] < end:
            self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)], axis=2)
            self.values = np.concatenate([self.values, np.zeros_like(self.values)], axis=1)
        self.keys[:, :, self.length : end] = k.swapaxes(1, 2)
        self.values[:, self.length : end] = v
        self.length = end


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype):
        self.heads, self.max_length = heads, max_length
        self.empty = lambda: Slot(kv_heads, head_dim, dtype)
        self.layers = [[self.empty() for _ in range(slots)] for _ in range(layers)]


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    return Cache(*sizes[:4], max_batch, max_length, dtype)


def prefill(cache, layer, slots, q, k, v, lengths):
    chosen = check(cache, layer, slots, q, k, v, lengths)
    out = np.zeros_like(q)
    for b, (slot, n) in enumerate(zip(chosen, lengths, strict=True)):
        first = slot.length
        slot.append(k[b, :, :n], v[b, :, :n])
        for head in range(cache.heads):
            kv_head = head * len(slot.keys) // cache.heads
            keys, values = slot.keys[kv_head, :, : slot.length], slot.values[kv_head, : slot.length]
            out[b, head, :n] = running(q[b, head, :n], keys, values, first)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def running(q, keys, values, first):
    """Attention of q (n, D) over keys (D, m) and values (m, D), a block at a time."""
    position = first + np.arange(len(q))[:, None]
    top = np.full((len(q), 1), -np.inf, q.dtype)
    total = np.zeros((len(q), 1), q.dtype)
    out = np.zeros_like(q)
    block = max(BLOCK, len(values) // 16)
    for start in range(0, len(values), block):
        index = np.arange(start, min(start + block, len(values)))
        scores = (q @ keys[:, index]) * q.shape[1] ** -0.5
        scores = np.where(index <= position, scores, -np.inf)
        higher = np.maximum(top, scores.max(axis=1, keepdims=True))
        weights, fade = np.exp(scores - higher), np.exp(top - higher)
        total = total * fade + weights.sum(axis=1, keepdims=True)
        out = out * fade + weights @ values[index]
        top = higher
    return out / total


def release(cache, slot):
    if not 0 <= slot < len(cache.layers[0]):
        raise ValueError(f"no slot {slot}")
    for slots in cache.layers:
        slots[slot] = cache.empty()


def memory_bytes(cache):
    return sum(slot.keys.nbytes + slot.values.nbytes for slots in cache.layers for slot in slots)


def check(cache, layer, slots, q, k, v, lengths):
    if layer not in range(len(cache.layers)) or len(set(slots)) < len(slots):
        raise ValueError("no such layer, or a slot twice")
    if any(slot not in range(len(cache.layers[0])) for slot in slots):
        raise ValueError("no such slot")
    kv_heads, head_dim, _ = cache.layers[0][0].keys.shape
    batch, length = len(slots), q.shape[2] if np.ndim(q) == 4 else 0
    shapes = [(batch, heads, length, head_dim) for heads in (cache.heads, kv_heads, kv_heads)]
    if [np.shape(array) for array in (q, k, v)] != shapes:
        raise ValueError("wrong shapes")
    if any(array.dtype != cache.layers[0][0].keys.dtype for array in (q, k, v)):
        raise ValueError("wrong dtype")
    if len(lengths) != batch or not all(1 <= n <= length for n in lengths):
        raise ValueError("wrong lengths")
    chosen = [cache.layers[layer][slot] for slot in slots]
    if any(slot.length + n > cache.max_length for slot, n in zip(chosen, lengths, strict=True)):
        raise ValueError("a slot is full")
    return chosen
