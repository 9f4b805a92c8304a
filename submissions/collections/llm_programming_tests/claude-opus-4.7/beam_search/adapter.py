"""Serves the beam_search contract with the published Claude Opus 4.7 answer.

The answer takes the model first and asks it for the last position's logits, one sequence a call; it applies its own
log-softmax to them, which leaves log-probabilities as they are. Its results are dicts: tokens and score are taken
out.
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

    def __init__(self, model: Callable) -> None:
        self.model = model

    def forward(self, sequences: np.ndarray) -> np.ndarray:
        rows = [np.asarray(self.model([int(token) for token in row])) for row in sequences]
        block = np.stack(rows)
        block.flags.writeable = all(row.flags.writeable for row in rows)  # a copy, as read-only as what it was made of
        return block


def batched_beam_search(
    model: Callable, prompts: list[list[int]], beam_width: int, max_new_tokens: int, alpha: float, eos_token_id: int
) -> list[list[tuple[list[int], Any]]]:
    items = original.batched_beam_search(_Model(model), prompts, beam_width, max_new_tokens, alpha, eos_token_id)
    return [[(beam["tokens"], beam["score"]) for beam in item] for item in items]
