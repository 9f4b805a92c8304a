"""The form of a tree behind a prompt: rows, families, who sees whom, how deep."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class TokenTree:
    """Nodes that continue a prompt or each other.

    Args:
        prompt_len: P, tokens of the prompt.
        parents: of each node an earlier one, or -1 for the prompt.

    Raises:
        ValueError: there is no prompt, or a parent is neither.
    """

    def __init__(self, prompt_len: int, parents: Sequence[int]) -> None:
        if prompt_len < 1:
            raise ValueError(f"a prompt has at least one token, not {prompt_len}")
        for node, parent in enumerate(parents):
            if parent < -1 or parent >= node:
                raise ValueError(f"parents[{node}] is {parent}; it must be -1 or an earlier node")
        self.prompt_len = prompt_len
        self.parents = tuple(parents)

    def row(self, node: int) -> int:
        """The row of a node among prompt and tree; of -1 that of the last prompt token."""
        return self.prompt_len + node

    def children(self, node: int) -> list[int]:
        """The nodes that continue one, or the prompt for -1, wherever they lie in the list."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def mask(self) -> NDArray[np.bool_]:
        """(P + N, P + N): each token sees what the one before it sees, and itself."""
        size = self.prompt_len + len(self.parents)
        mask = np.zeros((size, size), dtype=bool)
        mask[: self.prompt_len, : self.prompt_len] = np.tri(self.prompt_len, dtype=bool)
        for node, parent in enumerate(self.parents):
            mask[self.row(node)] = mask[self.row(parent)]
            mask[self.row(node), self.row(node)] = True
        return mask

    def positions(self) -> list[int]:
        """Of each token the number of tokens before it in its own sequence."""
        found = list(range(self.prompt_len))
        for parent in self.parents:
            found.append(found[self.row(parent)] + 1)
        return found
