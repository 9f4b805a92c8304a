"""Models for tests and demonstrations: log-probabilities looked up in a table, or made from a seed."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


class TableModel:
    """Probabilities by sequence; every other sequence has uniform ones.

    Args:
        vocab_size: tokens.
        table: probabilities of the next token, by the tokens before.
    """

    def __init__(self, vocab_size: int, table: Mapping[tuple[int, ...], Sequence[float]]) -> None:
        self.vocab_size = vocab_size
        self.table = table
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """(vocab,) log-probabilities, read-only."""
        self.asked.append(tuple(tokens))
        uniform = [1 / self.vocab_size] * self.vocab_size
        logprobs = np.log(np.array(self.table.get(tuple(tokens), uniform)))
        logprobs.flags.writeable = False
        return logprobs


class SeededModel:
    """Every sequence has a distribution of its own, drawn from a seed."""

    def __init__(self, vocab_size: int, seed: int, spread: float = 1.5) -> None:
        self.vocab_size, self.seed, self.spread = vocab_size, seed, spread
        self.calls = 0

    def __call__(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """(vocab,) log-probabilities."""
        self.calls += 1
        logits = self.spread * np.random.default_rng([self.seed, *tokens]).standard_normal(self.vocab_size)
        return logits - np.log(np.exp(logits).sum())
