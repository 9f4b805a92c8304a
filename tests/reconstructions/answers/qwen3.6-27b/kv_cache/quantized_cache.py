"""Int8 cache: per-position affine quantisation of keys and values."""

import numpy as np
from cache import CacheConfig, KVCache


def quantize(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, scales and zero points of x (..., head_dim), one range per position."""
    low = x.min(axis=-1, keepdims=True)
    high = x.max(axis=-1, keepdims=True)
    scale = np.maximum((high - low) / 255.0, 1e-8)
    codes = np.round((x - low) / scale).astype(np.int32).astype(np.int8)
    codes = np.clip(codes, -128, 127)
    return codes, np.broadcast_to(scale, x.shape), np.broadcast_to(low, x.shape)


def dequantize(codes: np.ndarray, scale: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Back to floating point."""
    return codes.astype(np.float32) * scale + low


class QuantizedKVCache(KVCache):
    """The core cache with int8 buffers and float32 scales and zero points beside them."""

    def __init__(self, config: CacheConfig) -> None:
        self.config = config
        self.write_pos = 0
        self.codes = np.zeros((2, *config.shape), np.int8)
        self.scale = np.zeros((2, *config.shape), np.float32)
        self.low = np.zeros((2, *config.shape), np.float32)

    def write_prompt(self, k: np.ndarray, v: np.ndarray) -> None:
        """Quantise and write a block at the write pointer."""
        tokens = k.shape[2]
        self._check_room(tokens)
        place = slice(self.write_pos, self.write_pos + tokens)
        for which, x in enumerate((k, v)):
            self.codes[which, :, :, place], self.scale[which, :, :, place], self.low[which, :, :, place] = quantize(x)
        self.write_pos += tokens

    def update(self, k: np.ndarray, v: np.ndarray) -> None:
        """Quantise and write one step."""
        self.write_prompt(k[:, :, :1], v[:, :, :1])

    def get(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values, dequantised."""
        place = slice(0, self.write_pos)
        whole = dequantize(self.codes[:, :, :, place], self.scale[:, :, :, place], self.low[:, :, :, place])
        k, v = whole.astype(self.config.dtype)
        return k, v

    def memory_used(self) -> int:
        """Bytes of codes, scales and zero points."""
        return self.codes.nbytes + self.scale.nbytes + self.low.nbytes
