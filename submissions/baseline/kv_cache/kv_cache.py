"""A key/value cache for many sequences of different length, with the attention that reads it.

Layout: a layer keeps every token as a row (heads, D) of keys and one of values, in the order of the sequence, so that a
step writes one run of memory and attention reads another from its start to its end. See ANALYSIS.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from attention import attend
from checks import DTYPES, check_array, check_distinct, check_integers
from numpy.typing import NDArray
from quantization import Exact, Scaled
from storage import Contiguous, Paged, Store

Array = NDArray[np.floating[Any]]
Integers = Sequence[int] | NDArray[np.int64]

BITS = {"int8": 8, "int4": 4}


class KVCache:
    """The keys and values of `max_batch` sequences in every layer."""

    def __init__(
        self, heads: int, max_batch: int, max_length: int, window: int | None, codec: Exact | Scaled, blank: Array
    ) -> None:
        self.heads = heads
        self.max_batch = max_batch
        self.max_length = max_length
        self.window = window
        self.codec = codec
        self.blank = blank
        self.layers: list[Store] = []

    def add_layer(self, page_size: int | None) -> None:
        """Add an empty layer, in pages of page_size tokens or, when None, in one array per slot."""
        rows = self.codec.encode(self.blank) * 2
        paged = page_size is not None
        self.layers.append(Paged(self.max_batch, page_size, rows) if paged else Contiguous(self.max_batch, rows))

    def extend(self, layer: Store, slot: int, q: Array, k: Array, v: Array) -> Array:
        """Store the tokens k and v (Hkv, n, D), attend from q (H, n, D) to all of the slot: (H, n, D)."""
        new_keys, new_values = k.swapaxes(0, 1), v.swapaxes(0, 1)
        layer.append(slot, self.codec.encode(new_keys) + self.codec.encode(new_values))
        rows = layer.read(slot)
        half = len(rows) // 2
        keys, values = self.codec.decode(rows[:half]), self.codec.decode(rows[half:])
        if self.codec.lossy:
            # the new tokens are at hand: they need not be read back from their codes
            keys[-len(new_keys) :], values[-len(new_keys) :] = new_keys, new_values
        return attend(q, keys, values, self.window)


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
    **unknown: Any,
) -> KVCache:
    """An empty cache. The options may be combined.

    Args:
        num_layers, num_heads, num_kv_heads, head_dim: the model's; num_kv_heads divides num_heads.
        max_batch: number of slots.
        max_length: tokens a slot may hold in each layer.
        dtype: "float32" or "float64".
        page_size: keep tokens in pages of this many.
        quantization: "int8" or "int4".
        window: a position sees itself and the window - 1 positions before it.

    Raises:
        ValueError: an argument makes no sense or is unknown.
    """
    if unknown:
        raise ValueError(f"unknown options {sorted(unknown)}")
    if dtype not in DTYPES or quantization not in (None, *BITS):
        raise ValueError(f"dtype {dtype!r} with quantization {quantization!r} is not offered")
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    check_integers("sizes", sizes, 1)
    check_integers("page_size and window", [size for size in (page_size, window) if size is not None], 1)
    if num_heads % num_kv_heads:
        raise ValueError(f"{num_kv_heads} key/value heads do not divide {num_heads} heads")
    codec = Exact() if quantization is None else Scaled(BITS[quantization], head_dim)
    blank = np.empty((0, num_kv_heads, head_dim), dtype)
    cache = KVCache(num_heads, max_batch, max_length, window, codec, blank)
    for _ in range(num_layers):
        cache.add_layer(page_size)
    return cache


def prefill(cache: KVCache, layer: int, slots: Integers, q: Array, k: Array, v: Array, lengths: Integers) -> Array:
    """Append lengths[b] tokens to slot slots[b] and attend from each of them.

    Args:
        cache: from create_cache.
        layer: which layer.
        slots: (B,), distinct.
        q: (B, H, S, D). k, v: (B, Hkv, S, D). Positions from lengths[b] on are padding and never looked at.
        lengths: (B,), each 1 .. S.

    Returns:
        (B, H, S, D), zero at padding.

    Raises:
        ValueError: wrong arguments, or a slot has no room; the cache is then as it was.
    """
    store, places = check_call(cache, layer, slots, (q, k, v), lengths)
    out = np.zeros(q.shape, q.dtype)
    for row, (slot, n) in enumerate(places):
        out[row, :, :n] = cache.extend(store, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n])
    return out


def decode(cache: KVCache, layer: int, slots: Integers, q: Array, k: Array, v: Array) -> Array:
    """Append one token to each slot and attend from it.

    Args:
        cache, layer, slots: as for prefill.
        q: (B, H, 1, D). k, v: (B, Hkv, 1, D).

    Returns:
        (B, H, 1, D).

    Raises:
        ValueError: as for prefill.
    """
    if np.ndim(q) != 4 or np.shape(q)[2] != 1:
        raise ValueError(f"decode takes one position a slot, not q of shape {np.shape(q)}")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def release(cache: KVCache, slot: int) -> None:
    """Empty a slot in every layer."""
    check_integers("slot", [slot], 0, cache.max_batch - 1)
    for layer in cache.layers:
        layer.release(slot)


def fork(cache: KVCache, src: int, dst: int) -> None:
    """Make dst a copy of src in every layer; later calls on one leave the other alone."""
    check_integers("slots", [src, dst], 0, cache.max_batch - 1)
    for layer in cache.layers:
        layer.copy(src, dst)


def memory_bytes(cache: KVCache) -> int:
    """Bytes held for keys and values: of every token, with its scales; in a paged cache, of every page in use."""
    return sum(layer.nbytes() for layer in cache.layers)


def check_call(
    cache: KVCache, layer: int, slots: Integers, qkv: tuple[Array, Array, Array], lengths: Integers
) -> tuple[Store, list[tuple[int, int]]]:
    """Check a call and the room for it; return the layer and (slot, tokens) of each row."""
    check_integers("layer", [layer], 0, len(cache.layers) - 1)
    named = check_integers("slots", slots, 0, cache.max_batch - 1)
    check_distinct(named)
    _, kv_heads, head_dim = cache.blank.shape
    longest = np.shape(qkv[0])[2] if np.ndim(qkv[0]) == 4 else 0
    for name, array, heads in zip("qkv", qkv, (cache.heads, kv_heads, kv_heads), strict=True):
        check_array(name, array, (len(named), heads, longest, head_dim), cache.blank.dtype.name)
    counts = check_integers("lengths", lengths, 1, longest)
    if len(counts) != len(named):
        raise ValueError(f"{len(counts)} lengths for {len(named)} slots")
    store = cache.layers[layer]
    for slot, n in zip(named, counts, strict=True):
        if store.length(slot) + n > cache.max_length:
            raise ValueError(f"slot {slot} holds {store.length(slot)} of {cache.max_length} tokens: no room for {n}")
    return store, list(zip(named, counts, strict=True))
