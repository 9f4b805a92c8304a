"""Oracle: greedy decoding token by token, and who sees whom.

Every decision is between whole numbers of a hash, so nothing here rounds and no precision has to be chosen.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


def mask(prompt_len: int, parents: Sequence[int]) -> NDArray[np.bool_]:
    """Who may attend to whom."""
    size = prompt_len + len(parents)
    seen = np.eye(size, dtype=bool)
    for row, before in enumerate([*range(prompt_len - 1), *(prompt_len + parent for parent in parents)], 1):
        seen[row] |= seen[before]
    return seen


def greedy(ranked: Callable[[list[int]], list[int]], prompt: Sequence[int], count: int) -> list[int]:
    """The first `count` tokens of greedy decoding; `ranked` gives all tokens, the likeliest after a sequence first."""
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(ranked(tokens)[0])
    return tokens[len(prompt) :]


def ended(tokens: Sequence[int], eos: int) -> list[int]:
    """The tokens up to the first that ends the sequence, itself included; all where none does."""
    found: list[int] = []
    for token in tokens:
        found.append(token)
        if token == eos:
            break
    return found


def longest(tokens: Sequence[int], parents: Sequence[int], wanted: Sequence[int]) -> int:
    """How many nodes the path of the tree has that starts with the most of `wanted`."""
    found = 0
    for node in range(len(tokens)):
        path = []
        while node >= 0:
            path.append(tokens[node])
            node = parents[node]
        if path[::-1] == list(wanted[: len(path)]):
            found = max(found, len(path))
    return found
