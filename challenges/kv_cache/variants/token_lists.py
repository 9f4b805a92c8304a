"""A list of single tokens per slot, and attention one head and one query at a time."""

import math

import numpy as np


class Cache:
    def __init__(self, num_layers, num_heads, head_dim, max_batch, max_length, dtype):
        self.num_heads, self.head_dim = num_heads, head_dim
        self.max_batch, self.max_length = max_batch, max_length
        self.dtype = dtype
        self.layers = [{} for _ in range(num_layers)]


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    if options:
        raise NotImplementedError(f"no options here: {sorted(options)}")
    if dtype not in ("float32", "float64") or num_kv_heads != num_heads:
        raise ValueError("dtype or num_kv_heads is not supported")
    if min(num_layers, num_heads, head_dim, max_batch, max_length) < 1:
        raise ValueError("every size must be positive")
    return Cache(num_layers, num_heads, head_dim, max_batch, max_length, dtype)


def prefill(cache, layer, slots, q, k, v, lengths):
    tokens_of = table(cache, layer, slots, q, k, v, lengths)
    out = np.full_like(q, np.nan)
    for b, slot in enumerate(slots):
        tokens, n = tokens_of.setdefault(int(slot), []), int(lengths[b])
        first = len(tokens)
        tokens += [(k[b, :, t].copy(), v[b, :, t].copy()) for t in range(n)]
        keys, values = (np.array(column) for column in zip(*tokens, strict=True))
        for head in range(cache.num_heads):
            for t in range(n):
                seen = slice(first + t + 1)
                out[b, head, t] = average(q[b, head, t], keys[seen, head], values[seen, head])
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) == 4 and q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def average(query, keys, values):
    scores = (keys * query).sum(axis=1) / query.dtype.type(math.sqrt(len(query)))
    weights = np.exp(scores - scores.max())
    return (weights[:, None] * values).sum(axis=0) / weights.sum()


def release(cache, slot):
    if not 0 <= slot < cache.max_batch:
        raise ValueError(f"no slot {slot}")
    for tokens_of in cache.layers:
        tokens_of.pop(int(slot), None)


def memory_bytes(cache):
    tokens = [token for tokens_of in cache.layers for held in tokens_of.values() for token in held]
    return sum(part.nbytes for token in tokens for part in token)


def table(cache, layer, slots, q, k, v, lengths):
    if not 0 <= layer < len(cache.layers):
        raise ValueError(f"no layer {layer}")
    named = [int(slot) for slot in slots]
    if len(set(named)) < len(named) or any(not 0 <= slot < cache.max_batch for slot in named):
        raise ValueError(f"slots {named}")
    if np.ndim(q) != 4 or q.shape[:2] + q.shape[3:] != (len(named), cache.num_heads, cache.head_dim):
        raise ValueError(f"q has shape {np.shape(q)}")
    if k.shape != q.shape or v.shape != q.shape or any(a.dtype != cache.dtype for a in (q, k, v)):
        raise ValueError("q, k and v differ in shape or dtype")
    if len(lengths) != len(named) or any(not 1 <= n <= q.shape[2] for n in lengths):
        raise ValueError(f"lengths {lengths}")
    tokens_of = cache.layers[layer]
    if any(len(tokens_of.get(s, ())) + n > cache.max_length for s, n in zip(named, lengths, strict=True)):
        raise ValueError("a slot is full")
    return tokens_of
