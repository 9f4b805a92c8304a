"""The core cache: pre-allocated (batch, heads, positions, head_dim) buffers and a write pointer."""

from dataclasses import dataclass

import numpy as np


@dataclass
class CacheConfig:
    """Sizes of one layer's cache."""

    batch_size: int
    num_heads: int
    max_seq_len: int
    head_dim: int
    dtype: str = "float32"

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the buffers."""
        return (self.batch_size, self.num_heads, self.max_seq_len, self.head_dim)


class KVCache:
    """Keys and values of one layer for a batch."""

    def __init__(self, config: CacheConfig) -> None:
        self.config = config
        self.k = np.zeros(config.shape, config.dtype)
        self.v = np.zeros(config.shape, config.dtype)
        self.write_pos = 0

    @property
    def lengths(self) -> np.ndarray:
        """Tokens held by each batch element."""
        return np.full(self.config.batch_size, self.write_pos, dtype=np.int64)

    def _check_room(self, tokens: int) -> None:
        if self.write_pos + tokens > self.config.max_seq_len:
            raise ValueError(f"cache overflow: {self.write_pos} + {tokens} > {self.config.max_seq_len}")

    def write_prompt(self, k: np.ndarray, v: np.ndarray) -> None:
        """Write a block (batch, heads, tokens, head_dim) at the write pointer."""
        tokens = k.shape[2]
        self._check_room(tokens)
        self.k[:, :, self.write_pos : self.write_pos + tokens] = k
        self.v[:, :, self.write_pos : self.write_pos + tokens] = v
        self.write_pos += tokens

    def update(self, k: np.ndarray, v: np.ndarray) -> None:
        """Write one step (batch, heads, 1, head_dim)."""
        self._check_room(1)
        self.k[:, :, self.write_pos] = k[:, :, 0]
        self.v[:, :, self.write_pos] = v[:, :, 0]
        self.write_pos += 1

    def get(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values written so far."""
        return self.k[:, :, : self.write_pos], self.v[:, :, : self.write_pos]

    def reset(self) -> None:
        """Start a new batch."""
        self.write_pos = 0

    def memory_used(self) -> int:
        """Bytes of the buffers."""
        return self.k.nbytes + self.v.nbytes


class BatchedKVCache:
    """One KVCache per layer."""

    def __init__(self, num_layers: int, config: CacheConfig, layer_class: type = KVCache) -> None:
        self.config = config
        self.layers = [layer_class(config) for _ in range(num_layers)]

    def reset(self) -> None:
        """Start a new batch in every layer."""
        for layer in self.layers:
            layer.reset()

    def memory_used(self) -> int:
        """Bytes of all layers."""
        return sum(layer.memory_used() for layer in self.layers)
