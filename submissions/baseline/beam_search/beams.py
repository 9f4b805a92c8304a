"""What a search holds, and how it is continued and ranked."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Beam:
    """Generated tokens with the sum of their log-probabilities.

    Attributes:
        tokens: without the prompt.
        logprob: of them all.
        finished: whether the last is EOS; then it is never continued.
    """

    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    finished: bool = False

    def score(self, alpha: float) -> float:
        """Log-probability over length ** alpha; the length counts EOS and not the prompt."""
        return float(self.logprob / len(self.tokens) ** alpha)


def successors(beam: Beam, logprobs: Any, count: int, eos: int) -> list[Beam]:
    """The beam with each of its `count` likeliest next tokens, or with all possible ones where there are fewer.

    Args:
        beam: unfinished.
        logprobs: (vocab,) of the next token, -inf where it is impossible; only read.
        count: at least 1.
        eos: the token that finishes a beam.
    """
    values = np.asarray(logprobs, dtype=np.float64)
    likeliest = np.argsort(-values)[:count]
    tokens = likeliest[values[likeliest] > -np.inf]
    return [
        Beam((*beam.tokens, int(token)), beam.logprob + float(values[token]), int(token) == eos) for token in tokens
    ]


def best(pool: Iterable[Beam], width: int, alpha: float) -> list[Beam]:
    """The `width` beams with the best scores, best first."""
    return sorted(pool, key=lambda beam: beam.score(alpha), reverse=True)[:width]
