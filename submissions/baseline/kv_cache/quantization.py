"""How keys and values are written down: as they are, or as small integers with a scale."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Rows = tuple[NDArray[Any], ...]


class Exact:
    """Numbers as they are."""

    lossy = False

    def encode(self, x: Array) -> Rows:
        """Rows to store for x (tokens, heads, D)."""
        return (x,)

    def decode(self, rows: Rows) -> Array:
        """What the rows stand for, (tokens, heads, D)."""
        return rows[0]


class Scaled:
    """Signed integer codes of 8 or 4 bits, with one scale for the D numbers of a token's head.

    The scale is the largest magnitude divided by the largest code, so no code overflows and an error is at most half
    a scale: 1/254 of the largest magnitude for 8 bits, 1/14 for 4.
    """

    lossy = True

    def __init__(self, bits: int, head_dim: int) -> None:
        self.bits = bits
        self.head_dim = head_dim
        self.top = 2 ** (bits - 1) - 1

    def encode(self, x: Array) -> Rows:
        """Codes and scales for x (tokens, heads, D)."""
        scale = np.abs(x).max(axis=-1, keepdims=True) / self.top
        codes = np.divide(x, scale, out=np.zeros_like(x), where=scale > 0)
        whole = np.rint(codes).astype(np.int8)
        return (whole if self.bits == 8 else pack(whole)), scale

    def decode(self, rows: Rows) -> Array:
        """Codes times scales, (tokens, heads, D)."""
        codes, scale = rows
        return (codes if self.bits == 8 else unpack(codes, self.head_dim)) * scale


def pack(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Pairs of 4-bit codes in one byte, the first in the low half; an odd last code has a byte of its own."""
    low = codes[..., 0::2] & 15
    low[..., : codes.shape[-1] // 2] |= codes[..., 1::2] << 4
    return low.view(np.uint8)


def unpack(packed: NDArray[np.uint8], head_dim: int) -> NDArray[np.int8]:
    """The codes that were packed; shifting left and back right extends the sign."""
    codes = np.empty((*packed.shape[:-1], head_dim), np.int8)
    both = packed.view(np.int8)
    codes[..., 0::2] = (both << 4) >> 4
    codes[..., 1::2] = both[..., : head_dim // 2] >> 4
    return codes
