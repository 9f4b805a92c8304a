"""Paged storage, int8 and int4 storage, chunked prefill."""

import math

import numpy as np
from kv_cache import KVCache, softmax


class PagedKVCache:
    """One layer in blocks of a pool; a block table per sequence and a free list."""

    def __init__(self, batch_size: int, num_blocks: int, block_size: int, num_heads: int, head_dim: int,
                 dtype: str = "float32"):
        self.block_size = block_size
        self.k_pool = np.zeros((num_blocks, num_heads, block_size, head_dim), dtype)
        self.v_pool = np.zeros((num_blocks, num_heads, block_size, head_dim), dtype)
        self.free_blocks = list(range(num_blocks))
        self.block_tables: list[list[int]] = [[] for _ in range(batch_size)]
        self.lengths = np.zeros(batch_size, dtype=np.int64)

    def update(self, batch_indices: list[int], k: np.ndarray, v: np.ndarray) -> None:
        """Append k and v (items, heads, tokens, head_dim)."""
        for item, b in enumerate(batch_indices):
            for t in range(k.shape[2]):
                block, offset = divmod(int(self.lengths[b]), self.block_size)
                if block == len(self.block_tables[b]):
                    self.block_tables[b].append(self.free_blocks.pop())
                page = self.block_tables[b][block]
                self.k_pool[page, :, offset] = k[item, :, t]
                self.v_pool[page, :, offset] = v[item, :, t]
                self.lengths[b] += 1

    def get(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values (heads, length, head_dim) of one sequence."""
        if not self.block_tables[b]:
            return self.k_pool[0, :, :0], self.v_pool[0, :, :0]
        pools = (self.k_pool, self.v_pool)
        k, v = (np.concatenate([pool[page] for page in self.block_tables[b]], axis=1) for pool in pools)
        return k[:, : self.lengths[b]], v[:, : self.lengths[b]]

    def reset(self, b: int) -> None:
        """Return a sequence's blocks."""
        self.free_blocks.extend(self.block_tables[b])
        self.block_tables[b] = []
        self.lengths[b] = 0

    def memory_bytes(self) -> int:
        """Bytes of the blocks in use."""
        used = len(self.k_pool) - len(self.free_blocks)
        return used * (self.k_pool[:1].nbytes + self.v_pool[:1].nbytes)


class QuantizedKVCache(KVCache):
    """One layer in int8 or int4 codes, with a scale and a minimum per token and head."""

    def __init__(self, batch_size: int, num_heads: int, max_seq_len: int, head_dim: int, dtype: str = "float32",
                 bits: int = 8):
        self.max_seq_len, self.head_dim, self.dtype, self.bits = max_seq_len, head_dim, dtype, bits
        width = head_dim if bits == 8 else (head_dim + 1) // 2
        self.codes = np.zeros((2, batch_size, num_heads, max_seq_len, width), np.uint8)
        self.scale = np.zeros((2, batch_size, num_heads, max_seq_len, 1), np.float64)
        self.minimum = np.zeros((2, batch_size, num_heads, max_seq_len, 1), np.float64)
        self.lengths = np.zeros(batch_size, dtype=np.int64)

    def update(self, batch_indices: list[int], k: np.ndarray, v: np.ndarray) -> None:
        """Quantise and append k and v (items, heads, tokens, head_dim)."""
        tokens = k.shape[2]
        for item, b in enumerate(batch_indices):
            start = self.lengths[b]
            if start + tokens > self.max_seq_len:
                raise ValueError(f"sequence {b}: {start} + {tokens} tokens exceed {self.max_seq_len}")
            place = slice(start, start + tokens)
            for which, x in enumerate((k[item], v[item])):
                codes, scale, minimum = quantize(x, self.bits)
                self.codes[which, b, :, place] = codes if self.bits == 8 else pack_int4(codes)
                self.scale[which, b, :, place] = scale
                self.minimum[which, b, :, place] = minimum
            self.lengths[b] += tokens

    def get(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values (heads, length, head_dim) of one sequence, dequantised."""
        place = slice(0, self.lengths[b])
        codes = self.codes[:, b, :, place]
        if self.bits == 4:
            codes = unpack_int4(codes, self.head_dim)
        k, v = (codes * self.scale[:, b, :, place] + self.minimum[:, b, :, place]).astype(self.dtype)
        return k, v

    def memory_bytes(self) -> int:
        """Bytes of codes and metadata."""
        return self.codes.nbytes + self.scale.nbytes + self.minimum.nbytes


def quantize(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes 0 .. 2^bits - 1 of x (..., head_dim), with scale and minimum of each vector."""
    x = x.astype(np.float64)
    minimum = x.min(axis=-1, keepdims=True)
    scale = (x.max(axis=-1, keepdims=True) - minimum) / (2**bits - 1)
    codes = np.round((x - minimum) / np.where(scale == 0, 1.0, scale))
    return codes.astype(np.uint8), scale, minimum


def pack_int4(codes: np.ndarray) -> np.ndarray:
    """Two codes per byte."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros_like(codes[..., :1])], axis=-1)
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack_int4(packed: np.ndarray, head_dim: int) -> np.ndarray:
    """The codes of pack_int4."""
    codes = np.stack([packed & 0x0F, packed >> 4], axis=-1)
    return codes.reshape(*packed.shape[:-1], 2 * packed.shape[-1])[..., :head_dim]
