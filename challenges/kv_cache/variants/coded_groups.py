"""Tokens are held as given until a group of 32 is full, which is then coded; a cut may end inside a coded group."""

import numpy as np

GROUP = 32
TOPS = {None: 0, "int8": 127, "int4": 7}


class Slot:
    def __init__(self, shape, dtype, top):
        self.top, self.groups, self.count = top, [], 0
        self.last = np.empty((GROUP, *shape), dtype)

    def append(self, rows):
        while len(rows):
            n = min(GROUP - self.count, len(rows))
            self.last[self.count : self.count + n] = rows[:n]
            self.count, rows = self.count + n, rows[n:]
            if self.count == GROUP:
                self.groups.append(code(self.last, self.top))
                self.count = 0

    def read(self):
        coded = [decode_rows(group, self.top, self.last.shape[-1]) for group in self.groups]
        return np.concatenate([*coded, self.last[: self.count]])

    def length(self):
        return sum(len(group[0]) for group in self.groups) + self.count

    def truncate(self, length):
        kept = []
        for group in self.groups:
            n = min(length, len(group[0]))
            length -= n
            if n:
                kept.append([part[:n] for part in group])
        self.groups, self.count = kept, min(self.count, length)

    def copy(self):
        other = Slot(self.last.shape[1:], self.last.dtype, self.top)
        other.groups, other.count = list(self.groups), self.count
        other.last[:] = self.last
        return other


class Cache:
    def __init__(self, heads, layers, slots, room, new_slot):
        self.heads, self.room, self.new_slot = heads, room, new_slot
        self.slots = [[new_slot() for _ in range(slots)] for _ in range(layers)]


def create_cache(
    *, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, quantization=None, **options
):
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or min(sizes) < 1 or num_heads % num_kv_heads:
        raise ValueError("unsupported cache")
    if quantization not in TOPS:
        raise ValueError("unsupported codes")
    shape, top = (2, num_kv_heads, head_dim), TOPS[quantization]
    return Cache(num_heads, num_layers, max_batch, max_length, lambda: Slot(shape, np.dtype(dtype), top))


def prefill(cache, layer, slots, q, k, v, lengths):
    check(cache, layer, slots, q, k, v, lengths)
    out = np.zeros(q.shape, q.dtype)
    for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
        held = cache.slots[layer][slot]
        past, new = held.read(), np.stack([k[row, :, :n], v[row, :, :n]]).transpose(2, 0, 1, 3)
        out[row, :, :n] = attend(q[row, :, :n], np.concatenate([past, new]), len(past))
        held.append(new)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def attend(q, rows, first):
    keys, values = np.repeat(rows.transpose(1, 2, 0, 3), len(q) // rows.shape[2], axis=1)
    scores = q @ keys.swapaxes(-1, -2) / np.sqrt(q.dtype.type(q.shape[-1]))
    scores[:, np.arange(len(rows)) > first + np.arange(q.shape[1])[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ values / weights.sum(axis=-1, keepdims=True)


def release(cache, slot):
    check_slots(cache, [slot])
    for layer in cache.slots:
        layer[slot] = cache.new_slot()


def fork(cache, src, dst):
    check_slots(cache, [src])
    check_slots(cache, [dst])
    for layer in cache.slots:
        layer[dst] = layer[src].copy()


def truncate(cache, slot, length):
    check_slots(cache, [slot])
    if length < 0:
        raise ValueError("negative length")
    for layer in cache.slots:
        layer[slot].truncate(length)


def memory_bytes(cache):
    held = [slot for layer in cache.slots for slot in layer]
    coded = sum(part.nbytes for slot in held for group in slot.groups for part in group)
    return coded + sum(slot.last[: slot.count].nbytes for slot in held)


def code(rows, top):
    if not top:
        return [rows.copy()]
    scale = np.abs(rows).max(axis=-1, keepdims=True) / top
    codes = np.rint(np.divide(rows, scale, out=np.zeros_like(rows), where=scale > 0)).astype(np.int8)
    if top == 7:
        codes = np.concatenate([codes, codes[..., : codes.shape[-1] % 2]], axis=-1)
        codes = codes[..., ::2] << 4 | codes[..., 1::2] & 15
    return [codes, scale]


def decode_rows(group, top, head_dim):
    if not top:
        return group[0]
    codes, scale = group
    if top == 7:
        codes = np.stack([codes >> 4, (codes << 4) >> 4], axis=-1).reshape(*codes.shape[:-1], -1)[..., :head_dim]
    return codes * scale


def check(cache, layer, slots, q, k, v, lengths):
    check_slots(cache, slots)
    if not 0 <= layer < len(cache.slots):
        raise ValueError("no such layer")
    first = cache.slots[layer][slots[0]].last
    kv = (len(slots), first.shape[2], *np.shape(q)[2:])
    if np.shape(q) != (kv[0], cache.heads, *kv[2:]) or kv[3:] != (first.shape[3],) or k.shape != kv or v.shape != kv:
        raise ValueError("wrong shape")
    if {q.dtype, k.dtype, v.dtype} != {first.dtype}:
        raise ValueError("wrong dtype")
    if np.shape(lengths) != (kv[0],) or min(lengths) < 1 or max(lengths) > kv[2]:
        raise ValueError("wrong lengths")
    if any(cache.slots[layer][slot].length() + n > cache.room for slot, n in zip(slots, lengths, strict=True)):
        raise ValueError("a slot is full")


def check_slots(cache, slots):
    if np.ndim(slots) != 1 or len(set(map(int, slots))) < len(slots):
        raise ValueError("slots must be distinct integers")
    if not all(0 <= slot < len(cache.slots[0]) for slot in slots):
        raise ValueError("no such slot")
