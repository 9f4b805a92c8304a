"""KV cache for incremental decoding: (batch, heads, positions, head_dim) buffers with a length per sequence."""

import math

import numpy as np


def softmax(x: np.ndarray) -> np.ndarray:
    """Numerically stable softmax over the last axis."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


class KVCache:
    """Keys and values of one layer."""

    def __init__(self, batch_size: int, num_heads: int, max_seq_len: int, head_dim: int, dtype: str = "float32"):
        self.max_seq_len = max_seq_len
        self.k = np.zeros((batch_size, num_heads, max_seq_len, head_dim), dtype)
        self.v = np.zeros((batch_size, num_heads, max_seq_len, head_dim), dtype)
        self.lengths = np.zeros(batch_size, dtype=np.int64)

    def update(self, batch_indices: list[int], k: np.ndarray, v: np.ndarray) -> None:
        """Append k and v (items, heads, tokens, head_dim): the same number of tokens to every item named."""
        tokens = k.shape[2]
        for item, b in enumerate(batch_indices):
            start = self.lengths[b]
            if start + tokens > self.max_seq_len:
                raise ValueError(f"sequence {b}: {start} + {tokens} tokens exceed {self.max_seq_len}")
            self.k[b, :, start : start + tokens] = k[item]
            self.v[b, :, start : start + tokens] = v[item]
            self.lengths[b] += tokens

    def get(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values (heads, length, head_dim) of one sequence."""
        return self.k[b, :, : self.lengths[b]], self.v[b, :, : self.lengths[b]]

    def reset(self, b: int) -> None:
        """Forget one sequence."""
        self.lengths[b] = 0

    def memory_bytes(self) -> int:
        """Bytes of the buffers."""
        return self.k.nbytes + self.v.nbytes


def multi_head_attention_with_cache(q: np.ndarray, cache: KVCache, batch_indices: list[int]) -> np.ndarray:
    """Attention of q (items, heads, tokens, head_dim) over everything cached for each item."""
    out = np.zeros_like(q)
    scale = 1.0 / math.sqrt(q.shape[-1])
    for item, b in enumerate(batch_indices):
        k, v = cache.get(b)
        for h in range(q.shape[1]):
            scores = q[item, h] @ k[h].T * scale
            out[item, h] = softmax(scores) @ v[h]
    return out
