"""A small decoder-only transformer that generates with the cache."""

import numpy as np
from attention import build_variable_length_mask, cached_attention, softmax
from cache import BatchedKVCache, CacheConfig


class Transformer:
    """Learned token and position embeddings, attention layers with residuals."""

    def __init__(self, vocab: int = 64, num_layers: int = 2, num_heads: int = 2, head_dim: int = 8, max_len: int = 64):
        rng = np.random.default_rng(0)
        width = num_heads * head_dim
        self.num_heads, self.head_dim, self.num_layers, self.max_len = num_heads, head_dim, num_layers, max_len
        self.tokens = rng.normal(0, 1, (vocab, width))
        self.positions = rng.normal(0, 1, (max_len, width))
        self.weights = rng.normal(0, width**-0.5, (num_layers, 3, width, width))

    def _heads(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def _layer(self, x: np.ndarray, index: int, cache: BatchedKVCache, lengths: np.ndarray | None) -> np.ndarray:
        q, k, v = (self._heads(x @ weight) for weight in self.weights[index])
        layer = cache.layers[index]
        if x.shape[1] > 1:
            layer.write_prompt(k, v)
        else:
            layer.update(k, v)
        keys, values = layer.get()
        mask = None if lengths is None else build_variable_length_mask(lengths, q.shape[2], keys.shape[2])
        out = cached_attention(q, keys, values, mask)
        return x + out.transpose(0, 2, 1, 3).reshape(x.shape)

    def prefill(self, tokens: np.ndarray, cache: BatchedKVCache) -> np.ndarray:
        """Logits (batch, vocab) after a prompt (batch, length)."""
        x = self.tokens[tokens] + self.positions[: tokens.shape[1]]
        lengths = np.full(tokens.shape[0], tokens.shape[1])
        for index in range(self.num_layers):
            x = self._layer(x, index, cache, lengths)
        return x[:, -1] @ self.tokens.T

    def generate_step(self, token: np.ndarray, cache: BatchedKVCache, lengths: np.ndarray | None) -> np.ndarray:
        """Logits after one more token (batch,)."""
        position = cache.layers[0].write_pos - 1
        x = (self.tokens[token] + self.positions[position])[:, None]
        for index in range(self.num_layers):
            x = self._layer(x, index, cache, lengths)
        return x[:, -1] @ self.tokens.T

    def generate(self, tokens: np.ndarray, steps: int) -> np.ndarray:
        """Greedy continuation of a prompt (batch, length)."""
        config = CacheConfig(len(tokens), self.num_heads, self.max_len, self.head_dim, "float64")
        cache = BatchedKVCache(self.num_layers, config)
        self.prefill(tokens, cache)
        for _ in range(steps):
            logits = self.generate_step(tokens[:, -1], cache, cache.layers[0].lengths)
            tokens = np.concatenate([tokens, softmax(logits).argmax(axis=-1)[:, None]], axis=1)
        return tokens
