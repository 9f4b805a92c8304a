"""Long prompts in chunks: bounds the score matrix to chunk x context."""

import numpy as np
from attention import build_causal_mask, cached_attention
from cache import KVCache


def prefill_chunk(cache: KVCache, q: np.ndarray, k: np.ndarray, v: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Append one chunk (batch, heads, tokens, head_dim), attend from `rows` of it to everything cached."""
    offset = cache.write_pos
    cache.write_prompt(k, v)
    keys, values = cache.get()
    mask = build_causal_mask(q.shape[2], keys.shape[2], offset)
    return cached_attention(q, keys[rows], values[rows], mask)
