"""The function an answer to `beam_search` exposes.

Tokens are Python ints of 0 .. vocab_size - 1. K is the beam width.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Model(Protocol):
    """What scores sequences; the harness supplies it."""

    vocab_size: int

    def __call__(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Log-probabilities of the next token.

        Args:
            tokens: the prompt with what was generated after it, at least one token.

        Returns:
            (vocab_size,), float64, finite; their exponentials sum to 1. The array may be read-only. To an answer that
            claims `impossible_tokens`, -inf says that a token is impossible here; at least one is possible.

        Raises:
            ValueError: anything but a list, tuple or one-dimensional array of tokens was passed.
        """
        ...


def batched_beam_search(
    model: Model, prompts: list[list[int]], beam_width: int, max_new_tokens: int, alpha: float, eos_token_id: int
) -> list[list[tuple[list[int], float]]]:
    """The best continuations of every prompt.

    Prompts are independent of each other. For each the search holds beams: generated tokens with the sum of their
    log-probabilities. It begins with one that is empty. In each step every beam that has not taken EOS is continued
    with its 2 K likeliest tokens (with all where there are fewer). The pool of a step is all these candidates and
    every beam that has taken EOS; the K of the pool with the best scores are the beams of the next step. The score of
    a beam is its log-probability divided by length ** alpha; the length is the number of generated tokens, EOS
    included, the prompt excluded. A prompt ends when all its beams have taken EOS, or after max_new_tokens steps.

    Args:
        model: see `Model`. At most K + 1 calls for each step and prompt.
        prompts: lists of at least one token, of any lengths. May be empty.
        beam_width: K, at least 1.
        max_new_tokens: at least 1.
        alpha: 0 or more.
        eos_token_id: a token.

    Returns:
        For each prompt its beams, best first: pairs of the generated tokens (EOS included where it was taken, the
        prompt excluded) and the score. K of them, and fewer only where fewer exist.

    Raises:
        ValueError: beam_width or max_new_tokens below 1, an empty prompt, an eos_token_id that is no token.
    """
    ...
