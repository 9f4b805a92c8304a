"""A key/value cache for autoregressive attention: the trusted solution of `kv_cache`.

Each layer keeps its tokens as rows of pages. A page is made when a token needs one and returns to the pool on release,
so memory grows with what is filled: max_length reserves nothing. A paged cache has pages of `page_size` tokens and
counts whole pages as held; any other cache has pages of PAGE tokens and counts the tokens in them.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Rows = list[NDArray[Any]]

DTYPES = ("float32", "float64")
BITS = {None: None, "int8": 8, "int4": 4}
PAGE = 64


class Store:
    """One layer's tokens: for every slot its length and the pages that hold its rows, in order."""

    def __init__(self, max_batch: int, page_size: int | None, blank: Rows) -> None:
        self.paged = page_size is not None
        self.page_size = page_size or PAGE
        self.blank = blank
        self.made = 0
        self.free: list[Rows] = []
        self.tables: list[list[Rows]] = [[] for _ in range(max_batch)]
        self.lengths = [0] * max_batch

    def append(self, slot: int, rows: Rows) -> None:
        """Write rows (arrays with a leading token axis) behind the slot's last token."""
        table, done = self.tables[slot], 0
        while done < len(rows[0]):
            index, offset = divmod(self.lengths[slot], self.page_size)
            if index == len(table):
                table.append(self.take_page())
            n = min(self.page_size - offset, len(rows[0]) - done)
            for page, part in zip(table[index], rows, strict=True):
                page[offset : offset + n] = part[done : done + n]
            self.lengths[slot] += n
            done += n

    def read(self, slot: int) -> Rows:
        """Copy the slot's rows, oldest token first."""
        parts = zip(self.blank, *self.tables[slot], strict=True)
        return [np.concatenate(part)[: self.lengths[slot]] for part in parts]

    def release(self, slot: int) -> None:
        """Give the slot's pages back to the pool."""
        self.free.extend(self.tables[slot])
        self.tables[slot] = []
        self.lengths[slot] = 0

    def truncate(self, slot: int, length: int) -> None:
        """Keep the slot's first rows; pages without any go back to the pool."""
        self.lengths[slot] = min(self.lengths[slot], length)
        kept = -(-self.lengths[slot] // self.page_size)
        self.free.extend(self.tables[slot][kept:])
        del self.tables[slot][kept:]

    def nbytes(self) -> int:
        """Bytes held: of the pages in use when paged, else of the tokens."""
        row = sum(part.itemsize * math.prod(part.shape[1:]) for part in self.blank)
        pages_in_use = self.made - len(self.free)
        return row * (pages_in_use * self.page_size if self.paged else sum(self.lengths))

    def take_page(self) -> Rows:
        """Return a free page, or a new one when there is none."""
        if self.free:
            return self.free.pop()
        self.made += 1
        return [np.empty((self.page_size, *part.shape[1:]), part.dtype) for part in self.blank]


class Cache:
    """The handle create_cache returns: one Store a layer, and the settings that every call is checked against."""

    def __init__(
        self, heads: tuple[int, int, int], max_length: int, dtype: str, bits: int | None, window: int | None
    ) -> None:
        self.num_heads, self.num_kv_heads, self.head_dim = heads
        self.max_length = max_length
        self.dtype = np.dtype(dtype)
        self.bits = bits
        self.window = window
        self.stores: list[Store] = []


def create_cache(
    *,
    num_layers: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    max_batch: int,
    max_length: int,
    dtype: str,
    page_size: int | None = None,
    quantization: str | None = None,
    window: int | None = None,
    **unsupported: object,
) -> Cache:
    """Return an empty cache. Raises ValueError on an argument or option that makes no sense here."""
    if unsupported:
        raise ValueError(f"unsupported options: {', '.join(sorted(unsupported))}")
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {DTYPES}, not {dtype!r}")
    if quantization not in BITS:
        raise ValueError(f"quantization must be int8 or int4, not {quantization!r}")
    check_sizes(num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    check_sizes(*(option for option in (page_size, window) if option is not None))
    if num_heads % num_kv_heads:
        raise ValueError(f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}")
    cache = Cache((num_heads, num_kv_heads, head_dim), max_length, dtype, BITS[quantization], window)
    blank = to_rows(np.empty((0, 2, num_kv_heads, head_dim), dtype), cache.bits)
    cache.stores = [Store(max_batch, page_size, blank) for _ in range(num_layers)]
    return cache


def prefill(
    cache: Cache, layer: int, slots: Sequence[int], q: Array, k: Array, v: Array, lengths: Sequence[int]
) -> Array:
    """Append lengths[b] tokens to slots[b], attend from each of them; q (B, H, S, D), k and v (B, Hkv, S, D)."""
    store = check_call(cache, layer, slots, (q, k, v), lengths)
    out = np.zeros(q.shape, q.dtype)
    for row, slot in enumerate(slots):
        n = int(lengths[row])
        out[row, :, :n] = attend_slot(cache, store, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n])
        store.append(slot, to_rows(pair(k[row, :, :n], v[row, :, :n]), cache.bits))
    return out


def decode(cache: Cache, layer: int, slots: Sequence[int], q: Array, k: Array, v: Array) -> Array:
    """Append one token to each slot, attend from it; q (B, H, 1, D), k and v (B, Hkv, 1, D)."""
    if np.ndim(q) != 4 or np.shape(q)[2] != 1:
        raise ValueError(f"decode takes one token a slot, q (B, H, 1, D), not {np.shape(q)}")
    store = check_call(cache, layer, slots, (q, k, v), [1] * len(slots))
    out = np.zeros(q.shape, q.dtype)
    for row, slot in enumerate(slots):
        out[row] = attend_slot(cache, store, slot, q[row], k[row], v[row])
        store.append(slot, to_rows(pair(k[row], v[row]), cache.bits))
    return out


def release(cache: Cache, slot: int) -> None:
    """Empty the slot in every layer."""
    check_slots(cache, [slot])
    for store in cache.stores:
        store.release(slot)


def fork(cache: Cache, src: int, dst: int) -> None:
    """Make slot dst an independent copy of slot src, in every layer."""
    check_slots(cache, [src])
    check_slots(cache, [dst])
    for store in cache.stores:
        rows = store.read(src)
        store.release(dst)
        store.append(dst, rows)


def truncate(cache: Cache, slot: int, length: int) -> None:
    """Leave the slot its first `length` tokens in every layer."""
    check_slots(cache, (slot,))
    if not is_integer(length) or length < 0:
        raise ValueError(f"length must be an integer of 0 or more, not {length!r}")
    for store in cache.stores:
        store.truncate(slot, length)


def memory_bytes(cache: Cache) -> int:
    """Bytes held for keys and values: every token's, in a paged cache every page's in use."""
    return sum(store.nbytes() for store in cache.stores)


def attend_slot(cache: Cache, store: Store, slot: int, q: Array, k: Array, v: Array) -> Array:
    """Attend from new tokens q (H, n, D) to those in the slot and to themselves, k and v (Hkv, n, D): (H, n, D)."""
    past = from_rows(store.read(slot), cache.bits, cache.head_dim)
    both = np.concatenate([past, pair(k, v)])
    return attend(q, both[:, 0], both[:, 1], len(past), cache.window)


def attend(q: Array, k: Array, v: Array, first: int, window: int | None) -> Array:
    """Softmax attention of q (H, n, D), at positions first, first + 1, ..., over k and v (m, Hkv, D): (H, n, D)."""
    num_heads, n, head_dim = q.shape
    groups = q.reshape(k.shape[1], num_heads // k.shape[1], n, head_dim)
    k, v = k.transpose(1, 0, 2)[:, None], v.transpose(1, 0, 2)[:, None]
    scores = (groups @ k.swapaxes(-1, -2)) * head_dim**-0.5
    position, key = first + np.arange(n)[:, None], np.arange(k.shape[2])
    hidden = key > position
    if window is not None:
        hidden |= key <= position - window
    np.copyto(scores, -np.inf, where=hidden)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ v).reshape(q.shape)


def pair(k: Array, v: Array) -> Array:
    """Keys and values (Hkv, n, D) as token rows (n, 2, Hkv, D)."""
    return np.stack([k, v]).transpose(2, 0, 1, 3)


def to_rows(kv: Array, bits: int | None) -> Rows:
    """Encode token rows for the store: as they are, or as codes with one scale per token, key or value, and head."""
    if bits is None:
        return [kv]
    top = 2 ** (bits - 1) - 1
    scale = np.abs(kv).max(axis=-1, keepdims=True) / top
    codes = np.rint(np.divide(kv, scale, out=np.zeros_like(kv), where=scale > 0)).astype(np.int8)
    return [codes if bits == 8 else pack(codes), scale]


def from_rows(rows: Rows, bits: int | None, head_dim: int) -> Array:
    """Decode what to_rows encoded: token rows (n, 2, Hkv, D)."""
    if bits is None:
        return rows[0]
    codes = rows[0] if bits == 8 else unpack(rows[0], head_dim)
    return codes * rows[1]


def pack(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two codes of -8..7 a byte along the last axis, the first in the low half."""
    nibbles = (codes + 8).astype(np.uint8)
    nibbles = np.pad(nibbles, [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)])
    return nibbles[..., 0::2] | nibbles[..., 1::2] << 4


def unpack(packed: NDArray[np.uint8], head_dim: int) -> NDArray[np.int8]:
    """The inverse of pack."""
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], 2 * packed.shape[-1])
    return nibbles[..., :head_dim].astype(np.int8) - np.int8(8)


def check_call(
    cache: Cache, layer: int, slots: Sequence[int], qkv: tuple[Array, Array, Array], lengths: Sequence[int]
) -> Store:
    """Check a call's arguments and its room before anything is written; return the layer's store."""
    if not (is_integer(layer) and 0 <= layer < len(cache.stores)):
        raise ValueError(f"layer must be 0..{len(cache.stores) - 1}, not {layer!r}")
    check_slots(cache, slots)
    longest = check_arrays(cache, len(slots), qkv)
    if np.ndim(lengths) != 1 or len(lengths) != len(slots):
        raise ValueError(f"lengths must be one integer a slot, {len(slots)}, not {lengths}")
    if not all(is_integer(n) and 1 <= n <= longest for n in lengths):
        raise ValueError(f"lengths must be integers of 1..{longest}, not {lengths}")
    store = cache.stores[layer]
    for slot, n in zip(slots, lengths, strict=True):
        if store.lengths[slot] + n > cache.max_length:
            raise ValueError(f"slot {slot} holds {store.lengths[slot]} of {cache.max_length} tokens: no room for {n}")
    return store


def check_arrays(cache: Cache, batch: int, qkv: tuple[Array, Array, Array]) -> int:
    """Raise ValueError unless q, k and v have the cache's dtype and agree in shape; return their S."""
    longest = qkv[0].shape[2] if np.ndim(qkv[0]) == 4 else 0
    if longest < 1:
        raise ValueError(f"q must be (B, H, S, D) with S >= 1, not {np.shape(qkv[0])}")
    for name, array, heads in zip("qkv", qkv, (cache.num_heads, cache.num_kv_heads, cache.num_kv_heads), strict=True):
        expected = (batch, heads, longest, cache.head_dim)
        if np.shape(array) != expected or array.dtype != cache.dtype:
            raise ValueError(f"{name} must be {expected} of {cache.dtype}, not {np.shape(array)} of {array.dtype}")
    return longest


def check_slots(cache: Cache, slots: Sequence[int]) -> None:
    """Raise ValueError unless slots are distinct integers of 0..max_batch-1."""
    max_batch = len(cache.stores[0].lengths)
    if np.ndim(slots) != 1 or len(slots) == 0 or not all(is_integer(s) and 0 <= s < max_batch for s in slots):
        raise ValueError(f"slots must be integers of 0..{max_batch - 1}, not {slots}")
    if len(set(map(int, slots))) != len(slots):
        raise ValueError(f"a slot occurs twice in {slots}")


def check_sizes(*sizes: int) -> None:
    """Raise ValueError unless every size is a positive integer."""
    for size in sizes:
        if not is_integer(size) or size < 1:
            raise ValueError(f"a size must be a positive integer, not {size!r}")


def is_integer(value: object) -> bool:
    """True for Python and NumPy integers, not for booleans."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
