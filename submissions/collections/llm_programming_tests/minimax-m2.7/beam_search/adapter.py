"""Serves the beam_search contract with the published MiniMax-M2.7 answer.

The answer takes the model last and asks it for the logits of a block of sequences, filled up with token 0 to one
length; it reads the last slot only, so only that one is computed, for the row as the answer filled it. It applies its
own softmax and logarithm, which leave log-probabilities as they are up to rounding. Its `vocab_size` is read and
never used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import beam_search as original  # noqa: E402


class _Model:
    """The contract's model behind the method the answer calls."""

    vocab_size = None

    def __init__(self, model: Callable) -> None:
        self.model = model

    def forward(self, sequences: np.ndarray) -> np.ndarray:
        rows = [np.asarray(self.model([int(token) for token in row])) for row in sequences]
        block = np.stack(rows)
        block.flags.writeable = all(row.flags.writeable for row in rows)  # a copy, as read-only as what it was made of
        return block[:, np.newaxis, :]


def batched_beam_search(
    model: Callable, prompts: list[list[int]], beam_width: int, max_new_tokens: int, alpha: float, eos_token_id: int
) -> list[list[tuple[list[int], Any]]]:
    return original.batched_beam_search(prompts, beam_width, max_new_tokens, alpha, eos_token_id, _Model(model))
