"""The functions an answer to `kv_cache` exposes.

Arrays are NumPy arrays of any layout and of the cache's dtype; outputs have that dtype. Slots, lengths and layers are
integers (int64 arrays where there are several). B is the number of rows in a call, H of query heads, Hkv of key/value
heads, S of positions in a prefill, D is the head dimension; all are at least 1 and any whole number.

A slot holds one sequence. Slots are numbered 0 .. max_batch - 1; row b of a call belongs to slot slots[b]. A call names
any subset of the slots in any order, none of them twice. Every layer holds its own tokens for every slot and is filled
by its own calls.

Wrong arguments raise ValueError: a layer or slot that does not exist, a slot named twice, a shape, dtype or length that
does not fit. No call changes its inputs, and a returned array belongs to the caller, who may write to it: no later call
may change it.
Inputs may be read-only, and the caller may overwrite or reuse its arrays once a call has returned.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Integers = NDArray[np.int64] | Sequence[int]
Cache = Any

OPTIONAL = ("memory_bytes", "fork", "truncate")
"""Functions an answer may leave out. `fork` and `truncate` are called only where the answer claims the capability of
that name."""


def create_cache(
    *,
    num_layers: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    max_batch: int,
    max_length: int,
    dtype: str,
    **options: Any,
) -> Cache:
    """Make an empty cache: every slot of every layer holds nothing.

    Args:
        num_layers: layers, each with its own keys and values.
        num_heads: H, query heads.
        num_kv_heads: Hkv, key/value heads. Equal to num_heads, or, for an answer that claims `gqa`, a divisor of it.
        head_dim: D.
        max_batch: number of slots.
        max_length: tokens that fit into one slot of one layer.
        dtype: "float32" or "float64".
        options: what is claimed under [capabilities], and only that:
            page_size: int (`paged = { page_size = N }`): keys and values live in pages of this many tokens, taken
                when a slot needs one and given back when it is released.
            quantization: "int8" or "int4" (`quantized = ["int8", "int4"]`): keys and values are stored in that many
                bits. A decode may then be off by 0.03 (int8) or 0.2 (int4) of the largest |v| that it sees.
            window: int W (`sliding_window = true`): a position attends to itself and the W - 1 positions before it.
                max_length counts every token since the slot was empty, those out of sight included.
            An answer that claims several takes them together, or refuses the combination.

    Returns:
        An opaque handle that the other functions take. Several caches may live at once.

    Raises:
        ValueError: an argument makes no sense; or an option is not supported (NotImplementedError will do as well).
    """
    ...


def prefill(cache: Cache, layer: int, slots: Integers, q: Array, k: Array, v: Array, lengths: Integers) -> Array:
    """Append lengths[b] tokens to each slot and compute the attention of each of them.

    A slot that already holds tokens keeps them: the new ones follow (a prompt given in chunks). Position i < lengths[b]
    of row b attends to every token that was in the slot before the call and to positions 0 .. i of its own row, with
    softmax(q k^T / sqrt(D)) v in each head. Query head h uses key/value head h // (H // Hkv).

    Args:
        cache: from create_cache.
        layer: 0 .. num_layers - 1.
        slots: (B,), distinct.
        q: (B, H, S, D).
        k, v: (B, Hkv, S, D).
        lengths: (B,), each 1 .. S. What q, k and v hold at positions from lengths[b] on is padding: it may be anything,
            infinities and NaN included, and has no influence on anything.

    Returns:
        (B, H, S, D); what it holds at padding is ignored.

    Raises:
        ValueError: wrong arguments, or a slot would come to hold more than max_length tokens in this layer. The cache
            is then exactly as it was before the call.
    """
    ...


def decode(cache: Cache, layer: int, slots: Integers, q: Array, k: Array, v: Array) -> Array:
    """Append one token to each slot and compute its attention to the whole slot, itself included.

    An empty slot is as good as any: its first token attends to itself alone.

    Args:
        cache: from create_cache.
        layer: 0 .. num_layers - 1.
        slots: (B,), distinct.
        q: (B, H, 1, D).
        k, v: (B, Hkv, 1, D).

    Returns:
        (B, H, 1, D).

    Raises:
        ValueError: as for prefill.
    """
    ...


def release(cache: Cache, slot: int) -> None:
    """Empty a slot in every layer: the sequence is finished, the slot free for another one.

    Releasing an empty slot does nothing.

    Raises:
        ValueError: there is no such slot.
    """
    ...


def memory_bytes(cache: Cache) -> int:
    """Bytes the cache holds for keys and values at this moment, over all layers and slots; optional.

    Whatever is needed to read them back counts too: the scales of quantised values, the unused end of a page.
    """
    ...


def fork(cache: Cache, src: int, dst: int) -> None:
    """Make slot dst a copy of slot src in every layer; optional, claimed as `fork = true`.

    What dst held before is gone. From then on both go their own ways: no later call on one shows in the other. A fork
    of an empty slot empties dst; a fork onto itself changes nothing.

    Raises:
        ValueError: there is no such slot.
    """
    ...


def truncate(cache: Cache, slot: int, length: int) -> None:
    """Leave a slot its first `length` tokens in every layer; optional, claimed as `truncate = true`.

    A layer that holds no more than that stays as it is; a length of 0 empties the slot. The next tokens follow those
    that are left. Under a window it need not be offered: tokens out of sight may be gone.

    Raises:
        ValueError: there is no such slot, or length is negative.
    """
    ...
