"""The contract's functions on top of `kv_cache.BatchedInferenceEngine`: a slot is a batch index of the engine."""

from collections.abc import Sequence

import numpy as np
from kv_cache import BatchedInferenceEngine

Integers = Sequence[int] | np.ndarray


class Handle:
    """An engine and the shapes that calls are checked against."""

    def __init__(
        self, engine: BatchedInferenceEngine, num_layers: int, num_heads: int, head_dim: int, dtype: str
    ) -> None:
        self.engine = engine
        self.num_layers = num_layers
        self.shape = (num_heads, head_dim)
        self.dtype = dtype


def create_cache(
    *, num_layers: int, num_heads: int, num_kv_heads: int, head_dim: int, max_batch: int, max_length: int, dtype: str,
    page_size: int | None = None, **options: object,
) -> Handle:
    """An engine for `max_batch` sequences; page_size makes its steps use the paged cache."""
    if options or num_kv_heads != num_heads:
        raise ValueError(f"not offered: {sorted(options) or 'num_kv_heads < num_heads'}")
    if dtype not in ("float32", "float64") or min(num_layers, num_heads, head_dim, max_batch, max_length) < 1:
        raise ValueError("sizes must be positive, dtype float32 or float64")
    engine = BatchedInferenceEngine(num_layers, num_heads, head_dim, max_batch, max_length, dtype, page_size)
    return Handle(engine, num_layers, num_heads, head_dim, dtype)


def prefill(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> np.ndarray:
    """The engine's prefill."""
    named = check_call(cache, layer, slots, q, k, v, lengths)
    out = cache.engine.prefill(layer, named, q, k, v, lengths)
    for row, n in enumerate(lengths):
        out[row, :, n:] = 0    # the contract ignores outputs at padding
    return out


def decode(cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The engine's step."""
    named = check_call(cache, layer, slots, q, k, v, [1] * len(slots))
    if q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return cache.engine.step_inference(layer, named, q, k, v)


def release(cache: Handle, slot: int) -> None:
    """The engine drops the sequence."""
    cache.engine.finish(*check_slots([slot], len(cache.engine.elements)))


def memory_bytes(cache: Handle) -> int:
    """What the engine's analyzer says."""
    return int(cache.engine.memory_bytes())


def check_call(
    cache: Handle, layer: int, slots: Integers, q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: Integers
) -> list[int]:
    """Raise ValueError on arguments the contract does not allow; return the slots as plain integers."""
    if not 0 <= layer < cache.num_layers:
        raise ValueError(f"no layer {layer}")
    named = check_slots(slots, len(cache.engine.elements))
    longest = q.shape[2] if np.ndim(q) == 4 else 0
    check_arrays((len(named), cache.shape[0], longest, cache.shape[1]), cache.dtype, q, k, v)
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
