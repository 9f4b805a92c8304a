"""Attention over cached keys and values, with the masks it needs."""

import math

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """Stable softmax over the last axis."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def build_causal_mask(query_len: int, key_len: int, offset: int = 0) -> np.ndarray:
    """True where query i, at position offset + i, may attend: (query_len, key_len)."""
    return np.arange(key_len)[None, :] <= offset + np.arange(query_len)[:, None]


def build_variable_length_mask(lengths: np.ndarray, query_len: int, max_len: int) -> np.ndarray:
    """Causal mask for sequences of different length: (batch, 1, query_len, max_len)."""
    key = np.arange(max_len)[None, None, :]
    query = np.arange(query_len)[None, :, None]
    visible = (key <= query) & (key < lengths[:, None, None])
    return visible[:, None]


def cached_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """q (batch, heads, queries, head_dim) over k and v (batch, heads, keys, head_dim)."""
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    return np.matmul(softmax(scores), v).astype(q.dtype)
