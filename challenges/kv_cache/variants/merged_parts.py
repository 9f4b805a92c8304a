"""What a slot held and what a call brings are attended apart, and merged by their log-sum-exp.

A handle is a dict from (layer, slot) to a tuple of keys and values (Hkv, n, D), replaced at every call.
"""

import numpy as np


def create_cache(*, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, **options):
    sizes = dict(layers=num_layers, heads=num_heads, kv_heads=num_kv_heads, features=head_dim, slots=max_batch)
    if options or dtype not in ("float32", "float64") or min(max_length, *sizes.values()) < 1:
        raise ValueError("unsupported cache")
    if num_heads % num_kv_heads:
        raise ValueError("query heads are no multiple of key/value heads")
    return {"sizes": sizes, "most": max_length, "dtype": np.dtype(dtype), "held": {}}


def prefill(cache, layer, slots, q, k, v, lengths):
    slots = check(cache, layer, slots, q, k, v, lengths)
    out, state = np.ones(q.shape, q.dtype), {}
    for row, slot in enumerate(slots):
        new = tuple(np.array(a[row, :, : lengths[row]]) for a in (k, v))
        past = cache["held"].get((layer, slot))
        queries = q[row, :, : lengths[row]]
        parts = [part(queries, *new, np.tri(lengths[row], dtype=bool))]
        if past is not None:
            parts.append(part(queries, *past, True))
            new = tuple(np.concatenate(pair, axis=1) for pair in zip(past, new, strict=True))
        out[row, :, : lengths[row]] = merged(parts)
        state[layer, slot] = new
    cache["held"].update(state)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def part(q, k, v, seen):
    """Attention of q (H, n, D) over k and v (Hkv, m, D) where `seen` (n, m), and the log-sum-exp of the scores."""
    groups = q.reshape(len(k), -1, *q.shape[1:])
    scores = np.where(seen, np.matmul(groups, k[:, None].swapaxes(2, 3)) / q.dtype.type(q.shape[2]) ** 0.5, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    return (weights @ v[:, None] / total).reshape(q.shape), (top + np.log(total)).reshape(*q.shape[:2], 1)


def merged(parts):
    outs, logs = (np.stack(column) for column in zip(*parts, strict=True))
    shares = np.exp(logs - logs.max(axis=0))
    return (outs * shares).sum(axis=0) / shares.sum(axis=0)


def release(cache, slot):
    if not 0 <= slot < cache["sizes"]["slots"]:
        raise ValueError(f"no slot {slot}")
    cache["held"] = {key: tokens for key, tokens in cache["held"].items() if key[1] != slot}


def fork(cache, src, dst):
    if not all(0 <= slot < cache["sizes"]["slots"] for slot in (src, dst)):
        raise ValueError("no such slot")
    copies = {(layer, dst): tokens for (layer, slot), tokens in cache["held"].items() if slot == src}
    release(cache, dst)
    cache["held"].update(copies)


def memory_bytes(cache):
    return sum(array.nbytes for tokens in cache["held"].values() for array in tokens)


def check(cache, layer, slots, q, k, v, lengths):
    sizes, slots = cache["sizes"], [int(slot) for slot in slots]
    if not 0 <= layer < sizes["layers"] or len(set(slots)) < len(slots):
        raise ValueError("no such layer, or a slot twice")
    if min(slots) < 0 or max(slots) >= sizes["slots"] or np.ndim(q) != 4:
        raise ValueError("no such slot, or no q")
    for array, heads in ((q, sizes["heads"]), (k, sizes["kv_heads"]), (v, sizes["kv_heads"])):
        if np.shape(array) != (len(slots), heads, q.shape[2], sizes["features"]) or array.dtype != cache["dtype"]:
            raise ValueError("wrong shape or dtype")
    if len(lengths) != len(slots) or not all(1 <= n <= q.shape[2] for n in lengths):
        raise ValueError(f"lengths {lengths}")
    held = (cache["held"].get((layer, slot)) for slot in slots)
    if any(n + (tokens[0].shape[1] if tokens else 0) > cache["most"] for tokens, n in zip(held, lengths, strict=True)):
        raise ValueError("a slot is full")
    return slots
