"""Oracle: greedy decoding token by token, and who sees whom by walking up from each node.

Every decision is between whole numbers of a hash, so nothing here rounds and no precision has to be chosen.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mask(prompt_len: int, parents: Sequence[int]) -> NDArray[np.bool_]:
    """Who may attend to whom."""
    size = prompt_len + len(parents)
    seen = np.zeros((size, size), dtype=bool)
    for row in range(size):
        if row < prompt_len:
            seen[row, : row + 1] = True
            continue
        node = row - prompt_len
        while node >= 0:
            seen[row, prompt_len + node] = True
            node = parents[node]
        seen[row, :prompt_len] = True
    return seen


def greedy(model: Callable[..., Any], prompt: Sequence[int], count: int) -> list[int]:
    """The first `count` tokens of greedy decoding, each by a pass over the plain sequence before it."""
    tokens = list(prompt)
    for _ in range(count):
        causal = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
        tokens.append(int(np.argmax(model(tokens, causal, list(range(len(tokens))))[-1])))
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
