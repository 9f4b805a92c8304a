"""Pages that slots share until one of them writes: a table per slot, a count of users per page, a list of free ones.

A forked slot copies its last page only when it appends to it. Attention goes page by page with a running maximum.
"""

import numpy as np

PLAIN_PAGE = 24


class Pool:
    """Pages (2, Hkv, tokens, D) of one layer: keys and values; a page without users is free."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype
        self.pages, self.users, self.free = [], [], []

    def take(self):
        if not self.free:
            self.pages.append(np.empty(self.shape, self.dtype))
            self.users.append(0)
            self.free.append(len(self.pages) - 1)
        number = self.free.pop()
        self.users[number] = 1
        return number

    def drop(self, number):
        self.users[number] -= 1
        if self.users[number] == 0:
            self.free.append(number)

    def own(self, number):
        """The page itself, or a copy of it where another slot uses it too."""
        if self.users[number] == 1:
            return number
        copy = self.take()
        self.pages[copy][...] = self.pages[number]
        self.drop(number)
        return copy


class Cache:
    def __init__(self, layers, heads, kv_heads, head_dim, slots, max_length, dtype, page_size, window):
        self.heads, self.max_length, self.window, self.page = heads, max_length, window, page_size
        self.pools = [Pool((2, kv_heads, page_size, head_dim), dtype) for _ in range(layers)]
        self.tables = [[[] for _ in range(slots)] for _ in range(layers)]
        self.lengths = np.zeros((layers, slots), int)


def create_cache(
    *, num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length, dtype, page_size=PLAIN_PAGE, window=None,
    **options,
):  # fmt: skip
    sizes = (num_layers, num_heads, num_kv_heads, head_dim, max_batch, max_length)
    if options or dtype not in ("float32", "float64") or min(*sizes, page_size, window or 1) < 1 or window == 0:
        raise ValueError("unsupported cache")
    if num_heads % num_kv_heads:
        raise ValueError("query heads are no multiple of key/value heads")
    return Cache(*sizes, dtype, page_size, window)


def prefill(cache, layer, slots, q, k, v, lengths):
    check(cache, layer, slots, q, k, v, lengths)
    out = np.full_like(q, 7)
    for row, (slot, n) in enumerate(zip(slots, lengths, strict=True)):
        first = int(cache.lengths[layer, slot])
        append(cache, layer, slot, k[row, :, :n], v[row, :, :n])
        for head in range(cache.heads):
            out[row, head, :n] = attend(cache, layer, slot, head, q[row, head, :n], first)
    return out


def decode(cache, layer, slots, q, k, v):
    if np.ndim(q) != 4 or q.shape[2] != 1:
        raise ValueError("decode takes one position")
    return prefill(cache, layer, slots, q, k, v, [1] * len(slots))


def append(cache, layer, slot, k, v):
    pool, table = cache.pools[layer], cache.tables[layer][slot]
    done, end = int(cache.lengths[layer, slot]), int(cache.lengths[layer, slot]) + k.shape[1]
    start = done
    while done < end:
        index, offset = divmod(done, cache.page)
        if index == len(table):
            table.append(pool.take())
        table[index] = pool.own(table[index])
        stop = min(end, (index + 1) * cache.page)
        for part, new in enumerate((k, v)):
            pool.pages[table[index]][part, :, offset : offset + stop - done] = new[:, done - start : stop - start]
        done = stop
    cache.lengths[layer, slot] = end


def attend(cache, layer, slot, head, q, first):
    """Attention of one head's queries (n, D), at positions from `first` on, over its slot's pages."""
    length, position = int(cache.lengths[layer, slot]), first + np.arange(len(q))[:, None]
    top, total, out = np.full((len(q), 1), -np.inf, q.dtype), np.zeros((len(q), 1), q.dtype), np.zeros_like(q)
    kv_head = head // (cache.heads // cache.pools[layer].shape[1])
    for index, number in enumerate(cache.tables[layer][slot]):
        key = np.arange(index * cache.page, min((index + 1) * cache.page, length))
        keys, values = cache.pools[layer].pages[number][:, kv_head, : len(key)]
        seen = key <= position if cache.window is None else (key <= position) & (key > position - cache.window)
        scores = np.where(seen, q @ keys.T / np.sqrt(q.dtype.type(q.shape[1])), -np.inf)
        higher = np.maximum(top, scores.max(axis=1, keepdims=True))
        safe = np.where(np.isfinite(higher), higher, 0)
        weights, fade = np.exp(scores - safe), np.exp(np.where(np.isfinite(top), top - safe, -np.inf))
        total, out, top = total * fade + weights.sum(1, keepdims=True), out * fade + weights @ values, higher
    return out / total


def release(cache, slot):
    if slot not in range(cache.lengths.shape[1]):
        raise ValueError(f"no slot {slot}")
    for pool, tables in zip(cache.pools, cache.tables, strict=True):
        for number in tables[slot]:
            pool.drop(number)
        tables[slot] = []
    cache.lengths[:, slot] = 0


def fork(cache, src, dst):
    if not {src, dst} <= set(range(cache.lengths.shape[1])):
        raise ValueError("no such slot")
    if src == dst:
        return
    release(cache, dst)
    for pool, tables in zip(cache.pools, cache.tables, strict=True):
        tables[dst] = list(tables[src])
        for number in tables[dst]:
            pool.users[number] += 1
    cache.lengths[:, dst] = cache.lengths[:, src]


def memory_bytes(cache):
    return sum((len(pool.pages) - len(pool.free)) * page.nbytes for pool in cache.pools for page in pool.pages[:1])


def check(cache, layer, slots, q, k, v, lengths):
    layers, max_batch = cache.lengths.shape
    if layer not in range(layers):
        raise ValueError(f"no layer {layer}")
    if len(slots) == 0 or len({*slots}) < len(slots) or any(slot not in range(max_batch) for slot in slots):
        raise ValueError(f"slots {slots}")
    _, kv_heads, _, head_dim = cache.pools[layer].shape
    longest = q.shape[2] if np.ndim(q) == 4 else 0
    for array, heads in ((q, cache.heads), (k, kv_heads), (v, kv_heads)):
        if np.shape(array) != (len(slots), heads, longest, head_dim) or array.dtype != cache.pools[layer].dtype:
            raise ValueError(f"an array has shape {np.shape(array)}")
    if len(lengths) != len(slots) or any(not 1 <= n <= longest for n in lengths):
        raise ValueError(f"lengths {lengths}")
    if any(cache.lengths[layer, slot] + n > cache.max_length for slot, n in zip(slots, lengths, strict=True)):
        raise ValueError("a slot is full")
