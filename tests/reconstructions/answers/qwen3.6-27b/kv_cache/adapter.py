"""The contract's functions on top of the caches: a slot is a row of the batch, or a sequence of the paged cache."""

import math
from collections.abc import Sequence

import numpy as np
from attention import build_causal_mask, build_variable_length_mask, cached_attention
from cache import BatchedKVCache, CacheConfig, KVCache
from chunked_prefill import prefill_chunk
from paged_cache import PagedKVCache
from quantized_cache import QuantizedKVCache

Integers = Sequence[int] | np.ndarray


class BatchHandle:
    """A cache for the whole batch. It has one write pointer a layer, and only `reset` empties it."""

    def __init__(self, num_layers: int, config: CacheConfig, quantized: bool) -> None:
        self.num_layers = num_layers
        self.config = config
        self.cache = BatchedKVCache(num_layers, config, QuantizedKVCache if quantized else KVCache)
        self.in_use: set[int] = set()

    def whole_batch(self, slots: list[int], x: np.ndarray) -> np.ndarray:
        """x for the rows `slots` of the batch, zeros for the others."""
        full = np.zeros((self.config.batch_size, *x.shape[1:]), x.dtype)
        full[slots] = x
        return full

    def prefill(
        self, layer: int, slots: list[int], q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
    ) -> np.ndarray:
        """A first prompt goes through the variable-length mask, a later piece through chunked prefill."""
        cache = self.cache.layers[layer]
        k_all, v_all = self.whole_batch(slots, k), self.whole_batch(slots, v)
        if cache.write_pos:
            out = prefill_chunk(cache, q, k_all, v_all, np.array(slots))
            self.in_use.update(slots)
            return out
        cache.write_prompt(k_all, v_all)
        self.in_use.update(slots)
        return cached_attention(q, k, v, build_variable_length_mask(np.asarray(lengths), q.shape[2], k.shape[2]))

    def decode(self, layer: int, slots: list[int], q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """One step as `Transformer.generate` does it, with the lengths the cache reports."""
        cache = self.cache.layers[layer]
        cache.update(self.whole_batch(slots, k), self.whole_batch(slots, v))
        self.in_use.update(slots)
        keys, values = cache.get()
        mask = build_variable_length_mask(cache.lengths[slots], 1, keys.shape[2])
        return cached_attention(q, keys[slots], values[slots], mask)

    def release(self, slot: int) -> None:
        """Reset once no slot is in use."""
        self.in_use.discard(slot)
        if not self.in_use:
            self.cache.reset()

    def memory_bytes(self) -> int:
        """Bytes of all buffers."""
        return self.cache.memory_used()


class PagedHandle:
    """A paged cache per layer; the caller keeps counts and works out block and offset, as the class asks."""

    def __init__(self, num_layers: int, config: CacheConfig, page_size: int) -> None:
        self.num_layers = num_layers
        self.config = config
        blocks = config.batch_size * math.ceil(config.max_seq_len / page_size)
        self.page_size = page_size
        self.layers = [
            PagedKVCache(blocks, page_size, config.num_heads, config.head_dim, config.dtype) for _ in range(num_layers)
        ]
        self.counts = [[0] * config.batch_size for _ in range(num_layers)]
        self.sequence = list(range(config.batch_size))

    def extend(
        self, layer: int, slot: int, q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool
    ) -> np.ndarray:
        """Append k and v (heads, tokens, head_dim) and attend from q to what the cache returns."""
        cache, first = self.layers[layer], self.counts[layer][slot]
        for i in range(k.shape[1]):
            block, offset = divmod(first + i, self.page_size)
            cache.append_token(self.sequence[slot], block, offset, k[:, i], v[:, i])
        self.counts[layer][slot] += k.shape[1]
        keys, values = cache.get_sequence(self.sequence[slot], self.counts[layer][slot])
        mask = build_causal_mask(q.shape[1], len(keys), first) if causal else None
        return cached_attention(q[None], keys.swapaxes(0, 1)[None], values.swapaxes(0, 1)[None], mask)[0]

    def prefill(
        self, layer: int, slots: list[int], q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
    ) -> np.ndarray:
        """Each prompt token by token."""
        self.check_room(layer, slots, lengths)
        out = np.zeros(q.shape, q.dtype)
        for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
            out[row, :, :n] = self.extend(layer, slot, q[row, :, :n], k[row, :, :n], v[row, :, :n], True)
        return out

    def decode(self, layer: int, slots: list[int], q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """One token each; a single query needs no mask."""
        self.check_room(layer, slots, [1] * len(slots))
        return np.stack([self.extend(layer, slot, q[b], k[b], v[b], False) for b, slot in enumerate(slots)])

    def check_room(self, layer: int, slots: list[int], lengths: Integers) -> None:
        """Raise ValueError when a sequence would exceed max_seq_len."""
        if any(self.counts[layer][s] + n > self.config.max_seq_len for s, n in zip(slots, lengths, strict=True)):
            raise ValueError("cache overflow")

    def release(self, slot: int) -> None:
        """The class cannot free a sequence: the slot goes on with a new one."""
        self.sequence[slot] = max(self.sequence) + 1
        for counts in self.counts:
            counts[slot] = 0

    def memory_bytes(self) -> int:
        """Bytes of all blocks in use."""
        return sum(layer.memory_used() for layer in self.layers)


Handle = BatchHandle | PagedHandle


def create_cache(
    *, num_layers: int, num_heads: int, num_kv_heads: int, head_dim: int, max_batch: int, max_length: int, dtype: str,
    page_size: int | None = None, quantization: str | None = None, **options: object,
) -> Handle:
    """The batched cache, its int8 form, or the paged one."""
    if options or num_kv_heads != num_heads or quantization not in (None, "int8"):
        raise ValueError(f"not offered: {sorted(options)}, {num_kv_heads} of {num_heads} heads, {quantization}")
    if page_size is not None and (quantization or page_size < 1):
        raise ValueError("page_size must be positive; int8 pages are not offered")
    if dtype not in ("float32", "float64") or min(num_layers, num_heads, head_dim, max_batch, max_length) < 1:
        raise ValueError("sizes must be positive, dtype float32 or float64")
    config = CacheConfig(max_batch, num_heads, max_length, head_dim, dtype)
    if page_size is not None:
        return PagedHandle(num_layers, config, page_size)
    return BatchHandle(num_layers, config, quantization is not None)


def prefill(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> np.ndarray:
    """Append prompts."""
    named = check_call(cache, layer, slots, q, k, v, lengths)
    out = cache.prefill(layer, named, q, k, v, lengths)
    for row, n in enumerate(lengths):
        out[row, :, n:] = 0    # the contract ignores outputs at padding
    return out


def decode(cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Append one token each."""
    named = check_call(cache, layer, slots, q, k, v, [1] * len(slots))
    if q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return cache.decode(layer, named, q, k, v)


def release(cache: Handle, slot: int) -> None:
    """Give a slot up."""
    cache.release(*check_slots([slot], cache.config.batch_size))


def memory_bytes(cache: Handle) -> int:
    """What the caches report."""
    return int(cache.memory_bytes())


def check_call(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> list[int]:
    """Raise ValueError on arguments the contract does not allow; return the slots as plain integers."""
    config = cache.config
    if not 0 <= layer < cache.num_layers:
        raise ValueError(f"no layer {layer}")
    named = check_slots(slots, config.batch_size)
    longest = q.shape[2] if np.ndim(q) == 4 else 0
    check_arrays((len(named), config.num_heads, longest, config.head_dim), config.dtype, q, k, v)
    check_lengths(lengths, len(named), longest)
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
