"""A model for tests: what it says after a token depends on exactly the tokens seen and their positions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class HashedModel:
    """Logits drawn anew for every set of pairs of token and position.

    Attributes:
        calls: passes so far.
    """

    def __init__(self, vocab: int, seed: int) -> None:
        self.vocab, self.seed, self.calls = vocab, seed, 0

    def __call__(
        self, tokens: Sequence[int], mask: NDArray[np.bool_], positions: Sequence[int]
    ) -> NDArray[np.float64]:
        """(n, vocab) logits, read-only."""
        self.calls += 1
        rows = []
        for seen in mask:
            pairs = sorted((positions[i], tokens[i]) for i in np.flatnonzero(seen))
            flat = [number for pair in pairs for number in pair]
            rows.append(np.random.default_rng([self.seed, *flat]).standard_normal(self.vocab))
        logits = np.array(rows)
        logits.flags.writeable = False
        return logits


def greedy(model: HashedModel, prompt: Sequence[int], count: int) -> list[int]:
    """`count` tokens of plain greedy decoding, a pass each."""
    text = list(prompt)
    for _ in range(count):
        logits = model(text, np.tri(len(text), dtype=bool), range(len(text)))
        text.append(int(logits[-1].argmax()))
    return text[len(prompt) :]
