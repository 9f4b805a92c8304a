"""The contract's functions on top of the caches: a slot is a batch index, items of a call are written one by one."""

import math
from collections.abc import Sequence

import numpy as np
from kv_cache import KVCache, multi_head_attention_with_cache
from optimizations import PagedKVCache, QuantizedKVCache

Integers = Sequence[int] | np.ndarray
Layer = KVCache | PagedKVCache


class Handle:
    """One cache per layer."""

    def __init__(
        self, layers: list[Layer], shape: tuple[int, int], max_batch: int, max_length: int, dtype: str
    ) -> None:
        self.layers = layers
        self.shape = shape
        self.max_batch = max_batch
        self.max_length = max_length
        self.dtype = dtype


def create_cache(
    *, num_layers: int, num_heads: int, num_kv_heads: int, head_dim: int, max_batch: int, max_length: int, dtype: str,
    page_size: int | None = None, quantization: str | None = None, **options: object,
) -> Handle:
    """Plain, paged or quantised caches."""
    if options or num_kv_heads != num_heads or quantization not in (None, "int8", "int4"):
        raise ValueError(f"not offered: {sorted(options)}, {num_kv_heads} of {num_heads} heads, {quantization}")
    if page_size is not None and (quantization or page_size < 1):
        raise ValueError("page_size must be positive; quantised pages are not offered")
    if dtype not in ("float32", "float64") or min(num_layers, num_heads, head_dim, max_batch, max_length) < 1:
        raise ValueError("sizes must be positive, dtype float32 or float64")

    def layer() -> Layer:
        if page_size is not None:
            blocks = max_batch * math.ceil(max_length / page_size)
            return PagedKVCache(max_batch, blocks, page_size, num_heads, head_dim, dtype)
        if quantization is not None:
            return QuantizedKVCache(max_batch, num_heads, max_length, head_dim, dtype, int(quantization[3:]))
        return KVCache(max_batch, num_heads, max_length, head_dim, dtype)

    return Handle([layer() for _ in range(num_layers)], (num_heads, head_dim), max_batch, max_length, dtype)


def prefill(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> np.ndarray:
    """Each prompt by itself, at its own length."""
    named = check_call(cache, layer, slots, q, k, v, lengths)
    out = np.zeros_like(q)
    for row, (slot, n) in enumerate(zip(named, lengths, strict=True)):
        item = slice(row, row + 1)
        cache.layers[layer].update([slot], k[item, :, :n], v[item, :, :n])
        out[item, :, :n] = multi_head_attention_with_cache(q[item, :, :n], cache.layers[layer], [slot])
    return out


def decode(cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """One token for every slot named."""
    named = check_call(cache, layer, slots, q, k, v, [1] * len(slots))
    if q.shape[2] != 1:
        raise ValueError("decode takes one position")
    cache.layers[layer].update(named, k, v)
    return multi_head_attention_with_cache(q, cache.layers[layer], named)


def release(cache: Handle, slot: int) -> None:
    """Reset the slot in every layer."""
    for layer in cache.layers:
        layer.reset(*check_slots([slot], cache.max_batch))


def memory_bytes(cache: Handle) -> int:
    """What the caches report."""
    return int(sum(layer.memory_bytes() for layer in cache.layers))


def check_call(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> list[int]:
    """Raise ValueError on arguments the contract does not allow, or without room; return the slots as integers."""
    if not 0 <= layer < len(cache.layers):
        raise ValueError(f"no layer {layer}")
    named = check_slots(slots, cache.max_batch)
    longest = q.shape[2] if np.ndim(q) == 4 else 0
    check_arrays((len(named), cache.shape[0], longest, cache.shape[1]), cache.dtype, q, k, v)
    check_lengths(lengths, len(named), longest)
    held = cache.layers[layer].lengths
    if any(held[slot] + n > cache.max_length for slot, n in zip(named, lengths, strict=True)):
        raise ValueError("a slot is full")
    return named


def check_slots(slots: Integers, max_batch: int) -> list[int]:
    """The slots as plain integers; ValueError unless they are distinct and exist."""
    named = [int(slot) for slot in slots]
    if len(set(named)) != len(named) or any(not 0 <= slot < max_batch for slot in named):
        raise ValueError(f"slots must be distinct and in 0 .. {max_batch - 1}: {named}")
    return named


def check_arrays(shape: tuple[int, ...], dtype: str, *arrays: np.ndarray) -> None:
    """ValueError unless every array has this shape and dtype."""
    if any(np.shape(array) != shape or array.dtype != dtype for array in arrays):
        raise ValueError(f"q, k and v must be {shape} of {dtype}")


def check_lengths(lengths: Integers, rows: int, longest: int) -> None:
    """ValueError unless there is a length of 1 .. longest for every row."""
    if len(lengths) != rows or any(not 1 <= n <= longest for n in lengths):
        raise ValueError(f"lengths must be {rows} integers of 1 .. {longest}")
