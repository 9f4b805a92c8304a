"""Where one layer keeps the rows of its slots: in an array per slot, or in pages of a common pool.

Rows are a tuple of arrays with a leading token axis, as a codec writes them. Both stores take the same calls.
"""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from quantization import Rows


class Store(Protocol):
    """The tokens of every slot in one layer."""

    def length(self, slot: int) -> int:
        """Tokens in the slot."""

    def append(self, slot: int, rows: Rows) -> None:
        """Write rows behind the slot's last token."""

    def read(self, slot: int) -> Rows:
        """All rows of the slot, oldest first; valid until the next append to it."""

    def release(self, slot: int) -> None:
        """Empty the slot."""

    def copy(self, src: int, dst: int) -> None:
        """Let dst hold what src holds, independently of it."""

    def nbytes(self) -> int:
        """Bytes held."""


class Contiguous:
    """Arrays exactly as long as the sequence, one set per slot: attention reads them where they are.

    An append lets the allocator extend them in place, which it can for most of them; nothing is reserved.
    """

    def __init__(self, max_batch: int, blank: Rows) -> None:
        self._blank = blank
        self._slots = [self._empty() for _ in range(max_batch)]

    def _empty(self) -> Rows:
        return tuple(part.copy() for part in self._blank)

    def length(self, slot: int) -> int:
        """Tokens in the slot."""
        return len(self._slots[slot][0])

    def append(self, slot: int, rows: Rows) -> None:
        """Write rows behind the slot's last token."""
        for held, new in zip(self._slots[slot], rows, strict=True):
            end = len(held)
            # no reference check: what read() gave out is not used after the call it was read for
            held.resize((end + len(new), *held.shape[1:]), refcheck=False)
            held[end:] = new

    def read(self, slot: int) -> Rows:
        """The slot's own arrays."""
        return self._slots[slot]

    def release(self, slot: int) -> None:
        """Give the slot's memory back."""
        self._slots[slot] = self._empty()

    def copy(self, src: int, dst: int) -> None:
        """Copy every array of src."""
        self._slots[dst] = tuple(part.copy() for part in self._slots[src])

    def nbytes(self) -> int:
        """Bytes of all tokens."""
        return sum(part.nbytes for rows in self._slots for part in rows)


class Paged:
    """Pages of a pool that all slots of the layer share; a slot has a table of page numbers.

    A page is taken when a token needs one and is free again when no table names it. Slots copied from one another share
    their pages; a shared page is copied when one of them writes into it.
    """

    def __init__(self, max_batch: int, page_size: int, blank: Rows) -> None:
        self._page_size = page_size
        self._pool = tuple(np.empty((0, page_size, *part.shape[1:]), part.dtype) for part in blank)
        self._users: list[int] = []
        self._free: list[int] = []
        self._tables: list[list[int]] = [[] for _ in range(max_batch)]
        self._lengths = [0] * max_batch

    def length(self, slot: int) -> int:
        """Tokens in the slot."""
        return self._lengths[slot]

    def append(self, slot: int, rows: Rows) -> None:
        """Write rows behind the slot's last token, on pages no other slot uses."""
        table, start = self._tables[slot], self._lengths[slot]
        stop = start + len(rows[0])
        if start % self._page_size and self._users[table[-1]] > 1:
            table[-1] = self._copied(table[-1])
        while len(table) * self._page_size < stop:
            table.append(self._take())
        index, offset = np.divmod(np.arange(start, stop), self._page_size)
        page = np.array(table)[index]
        for pool, part in zip(self._pool, rows, strict=True):
            pool[page, offset] = part
        self._lengths[slot] = stop

    def read(self, slot: int) -> Rows:
        """The slot's rows gathered from its pages, the unwritten end of the last one left out."""
        table = np.array(self._tables[slot], dtype=np.int64)
        return tuple(self._in_order(pool[table], self._lengths[slot]) for pool in self._pool)

    @staticmethod
    def _in_order(pages: NDArray[Any], length: int) -> NDArray[Any]:
        return pages.reshape(-1, *pages.shape[2:])[:length]

    def release(self, slot: int) -> None:
        """Leave the slot's pages; those without another user are free."""
        self._leave(self._tables[slot])
        self._tables[slot], self._lengths[slot] = [], 0

    def copy(self, src: int, dst: int) -> None:
        """Let dst use the pages of src."""
        if src == dst:
            return
        self.release(dst)
        for page in self._tables[src]:
            self._users[page] += 1
        self._tables[dst], self._lengths[dst] = list(self._tables[src]), self._lengths[src]

    def nbytes(self) -> int:
        """Bytes of the pages in use, a shared one counted once."""
        page = sum(pool.nbytes for pool in self._pool) // max(len(self._users), 1)
        return page * (len(self._users) - len(self._free))

    def _take(self) -> int:
        if self._free:
            self._users[self._free[-1]] = 1
            return self._free.pop()
        self._users.append(1)
        for pool in self._pool:
            pool.resize((len(self._users), *pool.shape[1:]), refcheck=False)
        return len(self._users) - 1

    def _copied(self, page: int) -> int:
        copy = self._take()
        for pool in self._pool:
            pool[copy] = pool[page]
        self._leave([page])
        return copy

    def _leave(self, pages: Iterable[int]) -> None:
        for page in pages:
            self._users[page] -= 1
            if self._users[page] == 0:
                self._free.append(page)
