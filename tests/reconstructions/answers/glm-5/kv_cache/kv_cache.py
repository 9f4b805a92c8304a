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


def multi_head_attention_batched(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention of whole sequences, all of (batch, heads, tokens, head_dim)."""
    out = np.zeros_like(q)
    scale = 1.0 / math.sqrt(q.shape[-1])
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            out[b, h] = softmax(q[b, h] @ k[b, h].T * scale) @ v[b, h]
    return out


class IncrementalDecoder:
    """Attention layers with projections, fed a prompt first and then one token at a time."""

    def __init__(self, num_layers: int, num_heads: int, head_dim: int, max_seq_len: int, seed: int = 0):
        rng = np.random.default_rng(seed)
        width = num_heads * head_dim
        self.num_layers, self.num_heads, self.head_dim = num_layers, num_heads, head_dim
        self.weights = rng.normal(0, width**-0.5, (num_layers, 4, width, width)).astype(np.float32)

    def _init_caches(self, batch_size: int) -> list[KVCache]:
        return [KVCache(batch_size, self.num_heads, self.max_seq_len, self.head_dim) for _ in range(self.num_layers)]

    def _split(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def forward(self, x: np.ndarray, caches: list[KVCache], batch_indices: list[int]) -> np.ndarray:
        """Run x (items, tokens, width) through all layers, appending to their caches."""
        for weight, cache in zip(self.weights, caches, strict=True):
            q, k, v = (self._split(x @ weight[i]) for i in range(3))
            cache.update(batch_indices, k, v)
            out = multi_head_attention_with_cache(q, cache, batch_indices)
            x = x + out.transpose(0, 2, 1, 3).reshape(x.shape) @ weight[3]
        return x


def attention_flops(prompt: int, steps: int) -> tuple[int, int]:
    """Score products with and without a cache for `steps` tokens after a prompt (heads and head_dim left out)."""
    cached = prompt * prompt + sum(prompt + t for t in range(1, steps + 1))
    recomputed = steps * (prompt + steps) ** 2
    return cached, recomputed
