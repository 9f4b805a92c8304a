"""A KV cache for autoregressive inference in several layouts."""

import math

import numpy as np

BLOCK_SIZE = 16


def softmax(x, axis=-1):
    """Numerically stable softmax."""
    x = x - np.max(x, axis=axis, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, axis=axis, keepdims=True)


class FlatKVCache:
    """Everything in one array, allocated for the longest sequence."""

    def __init__(self, num_layers, batch_size, num_heads, max_seq_len, head_dim, dtype=np.float32):
        self.max_seq_len = max_seq_len
        self.data = np.zeros((num_layers, 2, batch_size, num_heads, max_seq_len, head_dim), dtype)
        self.lengths = np.zeros(batch_size, dtype=np.int64)

    def update(self, layer_idx, batch_idx, k, v):
        """Write K and V (heads, seq, head_dim) behind what the batch element holds."""
        start = self.lengths[batch_idx]
        stop = start + k.shape[1]
        self.data[layer_idx, 0, batch_idx, :, start:stop] = k
        self.data[layer_idx, 1, batch_idx, :, start:stop] = v
        if layer_idx == self.data.shape[0] - 1:
            self.lengths[batch_idx] = stop

    def get(self, layer_idx, batch_idx):
        """K and V of one batch element."""
        n = self.lengths[batch_idx]
        return self.data[layer_idx, 0, batch_idx, :, :n], self.data[layer_idx, 1, batch_idx, :, :n]


class KVBlock:
    """A fixed-size block of tokens."""

    def __init__(self, num_heads, head_dim, block_size, dtype):
        self.layer_idx = -1
        self.block_size = block_size
        self.k = np.zeros((num_heads, block_size, head_dim), dtype)
        self.v = np.zeros((num_heads, block_size, head_dim), dtype)
        self.num_tokens = 0
        self.is_full = False

    def append(self, k, v):
        """Add one token (heads, head_dim)."""
        assert self.num_tokens < self.block_size, "block is at capacity"
        self.k[:, self.num_tokens] = k
        self.v[:, self.num_tokens] = v
        self.num_tokens += 1


class PagedKVCache:
    """Blocks handed out on demand, with a block table per sequence."""

    def __init__(self, num_heads, head_dim, block_size=BLOCK_SIZE, dtype=np.float32):
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.block_size = block_size
        self.dtype = dtype
        self.block_tables = {}
        self.free_blocks = []

    def allocate_block(self):
        """Take a free block or make one."""
        if self.free_blocks:
            return self.free_blocks.pop()
        return KVBlock(self.num_heads, self.head_dim, self.block_size, self.dtype)

    def append(self, layer_idx, batch_idx, k, v):
        """Append one token (heads, head_dim) to a sequence."""
        table = self.block_tables.setdefault(batch_idx, [])
        if not table or table[-1].is_full:
            table.append(self.allocate_block())
        table[-1].append(k, v)

    def get(self, layer_idx, batch_idx):
        """K and V (heads, tokens, head_dim) of a sequence."""
        table = self.block_tables.get(batch_idx, [])
        k = [block.k[:, : block.num_tokens] for block in table]
        v = [block.v[:, : block.num_tokens] for block in table]
        return np.concatenate(k, axis=1), np.concatenate(v, axis=1)

    def free_sequence(self, batch_idx):
        """Return the blocks of a sequence to the free list."""
        for block in self.block_tables.pop(batch_idx, []):
            block.num_tokens = 0
            self.free_blocks.append(block)


class MultiHeadAttention:
    """Multi-head attention with an optional cache."""

    def __init__(self, num_heads, head_dim):
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.scale = 1.0 / math.sqrt(head_dim)

    def _create_causal_mask(self, seq_len, cache_len, dtype):
        total = cache_len + seq_len
        return np.triu(np.ones((seq_len, total), dtype=dtype), k=1 - seq_len)

    def forward(self, q, k, v, cache=None):
        """q, k, v: (heads, seq, head_dim); cache: {"k": ..., "v": ...} or None. Returns output and new cache."""
        cache_len = 0
        keys, values = k, v
        if cache is not None:
            cache_len = cache["k"].shape[1]
            keys = np.concatenate([cache["k"], k], axis=1)
            values = np.concatenate([cache["v"], v], axis=1)
        scores = np.matmul(q, keys.transpose(0, 2, 1)) * self.scale
        scores = scores + self._create_causal_mask(q.shape[1], cache_len, scores.dtype)
        out = np.matmul(softmax(scores), values)
        return out, (k.copy(), v.copy())


class KVCacheStack:
    """The caches of all layers."""

    def __init__(self, num_layers):
        self.num_layers = num_layers
        self.caches = {}

    def get(self, layer_idx, batch_idx=0):
        """The cache of a layer in the form attention reads."""
        if layer_idx not in self.caches:
            return None
        k, v = self.caches[layer_idx]
        return {"k": k, "v": v}

    def update(self, layer_idx, kv, batch_idx=0):
        """Store the (K, V) that attention returned."""
        self.caches[layer_idx] = kv

    def length(self, layer_idx, batch_idx=0):
        """Tokens held for a layer."""
        return self.caches[layer_idx][0].shape[1] if layer_idx in self.caches else 0

    def clear(self, batch_idx=0):
        """Forget a sequence."""
        self.caches = {}


class BatchElement:
    """Bookkeeping for one sequence of the batch."""

    def __init__(self, batch_idx):
        self.batch_idx = batch_idx
        self.length = 0
        self.is_finished = False


class BatchedInferenceEngine:
    """Runs attention for the elements of a batch."""

    def __init__(self, num_layers, num_heads, head_dim, batch_size, max_seq_len, dtype=np.float32, block_size=None):
        self.max_seq_len = max_seq_len
        self.attention = MultiHeadAttention(num_heads, head_dim)
        self.stack = KVCacheStack(num_layers)
        self.flat = FlatKVCache(num_layers, batch_size, num_heads, max_seq_len, head_dim, dtype)
        self.paged = PagedKVCache(num_heads, head_dim, block_size, dtype) if block_size else None
        self.elements = [BatchElement(i) for i in range(batch_size)]
        self.analyzer = MemoryAnalyzer(num_layers, num_heads, head_dim, np.dtype(dtype).itemsize)

    def prefill(self, layer_idx, batch_indices, q, k, v, lengths):
        """Process whole prompts (batch, heads, seq, head_dim)."""
        outputs = []
        for i, batch_idx in enumerate(batch_indices):
            out, kv = self.attention.forward(q[i], k[i], v[i])
            self.stack.update(layer_idx, kv, batch_idx)
            if layer_idx == 0:
                self.elements[batch_idx].length += int(lengths[i])
            outputs.append(out)
        return np.stack(outputs)

    def step_inference(self, layer_idx, batch_indices, q, k, v):
        """Process one token per element (batch, heads, 1, head_dim)."""
        outputs = []
        for i, batch_idx in enumerate(batch_indices):
            element = self.elements[batch_idx]
            if element.is_finished:
                outputs.append(np.zeros((self.max_seq_len, 1)))
                continue
            if self.paged is not None:
                outputs.append(self._paged_step(layer_idx, batch_idx, q[i], k[i], v[i]))
            else:
                out, kv = self.attention.forward(q[i], k[i], v[i], self.stack.get(layer_idx, batch_idx))
                self.stack.update(layer_idx, kv, batch_idx)
                outputs.append(out)
            if layer_idx == 0:
                element.length += 1
        return np.stack(outputs)

    def _paged_step(self, layer_idx, batch_idx, q, k, v):
        self.paged.append(layer_idx, batch_idx, k[:, 0], v[:, 0])
        keys, values = self.paged.get(layer_idx, batch_idx)
        scores = np.matmul(q, keys.transpose(0, 2, 1)) * self.attention.scale
        return np.matmul(softmax(scores), values)

    def finish(self, batch_idx):
        """Drop a sequence."""
        self.stack.clear(batch_idx)
        if self.paged is not None:
            self.paged.free_sequence(batch_idx)
        self.elements[batch_idx] = BatchElement(batch_idx)

    def memory_bytes(self):
        """Bytes of the cache for all sequences."""
        return sum(self.analyzer.total_bytes(element.length) for element in self.elements)


class MemoryAnalyzer:
    """Memory growth over long sequences."""

    BYTES = {"FP32": 4, "FP16": 2, "INT8": 1}

    def __init__(self, num_layers, num_heads, head_dim, bytes_per_element=4):
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.bytes_per_element = bytes_per_element

    def per_token_per_layer(self):
        """K and V of one token in one layer."""
        return 2 * self.num_heads * self.head_dim * self.bytes_per_element

    def total_bytes(self, seq_len):
        """K and V of all layers. 2 layers, 4 heads of 16, FP32: 2048 bytes per token."""
        return 2 * self.num_layers * seq_len * self.per_token_per_layer()