"""Paged cache: fixed-size blocks, a page table per sequence, a free list."""

import numpy as np


class PagedKVCache:
    """Blocks of one layer."""

    def __init__(self, num_blocks: int, block_size: int, num_heads: int, head_dim: int, dtype: str = "float32") -> None:
        self.block_size = block_size
        self.k_pool = np.zeros((num_blocks, block_size, num_heads, head_dim), dtype)
        self.v_pool = np.zeros((num_blocks, block_size, num_heads, head_dim), dtype)
        self.page_tables: dict[int, list[int]] = {}
        self._free_list = list(range(num_blocks))[::-1]

    def _allocate_block(self, seq_id: int) -> None:
        if not self._free_list:
            raise RuntimeError("out of blocks")
        self.page_tables.setdefault(seq_id, []).append(self._free_list.pop())

    def append_token(self, seq_id: int, block: int, offset: int, k: np.ndarray, v: np.ndarray) -> None:
        """Write k and v (heads, head_dim) at `offset` of the sequence's block number `block`."""
        while len(self.page_tables.get(seq_id, [])) <= block:
            self._allocate_block(seq_id)
        page = self.page_tables[seq_id][block]
        self.k_pool[page, offset] = k
        self.v_pool[page, offset] = v

    def get_sequence(self, seq_id: int, num_tokens: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values (tokens, heads, head_dim) of a sequence, gathered block by block."""
        keys, values = [], []
        for page in self.page_tables[seq_id]:
            keys.append(self.k_pool[page].copy())
            values.append(self.v_pool[page].copy())
        return np.concatenate(keys), np.concatenate(values)

    def memory_used(self) -> int:
        """Bytes of the blocks in use."""
        used = len(self.k_pool) - len(self._free_list)
        return used * (self.k_pool[:1].nbytes + self.v_pool[:1].nbytes)
