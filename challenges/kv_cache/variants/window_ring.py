"""Rings: a slot keeps the last W tokens under a window, all of them without one, at position modulo the ring's size.

A prompt goes through the ring token by token, so a token is in place before it is seen, and none is kept for long.
"""

import numpy as np


class Ring:
    """Keys and values (2, Hkv, size, D); the token at position p lies at p modulo size."""

    def __init__(self, kv_heads, head_dim, dtype, most):
        self.most, self.seen = most, 0
        self.rows = np.zeros((2, kv_heads, min(2, most), head_dim), dtype)

    def put(self, k, v):
        size = self.rows.shape[2]
        if self.seen == size < self.most:  # it has not gone round yet
            room = np.zeros((*self.rows.shape[:2], min(size, self.most - size), self.rows.shape[3]), self.rows.dtype)
            self.rows = np.concatenate([self.rows, room], axis=2)
            size = self.rows.shape[2]
        self.rows[0, :, self.seen % size] = k
        self.rows[1, :, self.seen % size] = v
        self.seen += 1

    def tokens(self):
        """Keys and values (Hkv, tokens, D) in the order in which they lie."""
        return self.rows[:, :, : min(self.seen, self.rows.shape[2])]


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype, window):
        self.heads, self.max_length = heads, max_length
        self.ring = lambda: Ring(kv_heads, head_dim, dtype, min(window or max_length, max_length))
        self.slots = {(layer, slot): self.ring() for layer in range(layers) for slot in range(slots)}


def create_cache(
    *, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, window=None, **options
):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    if window is not None and window < 1:
        raise ValueError("a window of nothing")
    return Cache(*sizes, dtype, window)


def prefill(cache, layer, slots, q, k, v, lengths):
    rings = check(cache, layer, slots, q, k, v, lengths)
    out = np.zeros(q.shape, q.dtype)
    for b, ring in enumerate(rings):
        for t in range(int(lengths[b])):
            ring.put(k[b, :, t], v[b, :, t])
            keys, values = ring.tokens()
            for head in range(cache.heads):
                shared = head * len(keys) // cache.heads
                scores = keys[shared] @ (q[b, head, t] / np.sqrt(len(q[b, head, t])).astype(q.dtype))
                weights = np.exp(scores - scores.max())
                out[b, head, t] = weights @ values[shared] / weights.sum()
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def release(cache, slot):
    check_slot(cache, slot)
    for layer, other in cache.slots:
        if other == slot:
            cache.slots[layer, other] = cache.ring()


def fork(cache, src, dst):
    check_slot(cache, src)
    check_slot(cache, dst)
    if src == dst:
        return
    for layer, slot in list(cache.slots):
        if slot == src:
            copy = cache.slots[layer, dst] = cache.ring()
            copy.seen, copy.rows = cache.slots[layer, src].seen, cache.slots[layer, src].rows.copy()


def memory_bytes(cache):
    return sum(ring.rows.nbytes for ring in cache.slots.values())


def check_slot(cache, slot):
    if (0, slot) not in cache.slots:
        raise ValueError(f"no slot {slot}")


def check(cache, layer, slots, q, k, v, lengths):
    if len({int(slot) for slot in slots}) < len(slots) or any((layer, slot) not in cache.slots for slot in slots):
        raise ValueError(f"layer {layer}, slots {slots}")
    rings = [cache.slots[layer, slot] for slot in slots]
    _, kv_heads, _, head_dim = rings[0].rows.shape
    longest = q.shape[2] if np.ndim(q) == 4 else 0
    wanted = [(len(slots), heads, longest, head_dim) for heads in (cache.heads, kv_heads, kv_heads)]
    if [np.shape(a) for a in (q, k, v)] != wanted or any(a.dtype != rings[0].rows.dtype for a in (q, k, v)):
        raise ValueError("arrays do not fit")
    if len(lengths) != len(slots) or any(not 1 <= n <= longest for n in lengths):
        raise ValueError(f"lengths {lengths}")
    if any(ring.seen + n > cache.max_length for ring, n in zip(rings, lengths, strict=True)):
        raise ValueError("a slot is full")
    return rings
