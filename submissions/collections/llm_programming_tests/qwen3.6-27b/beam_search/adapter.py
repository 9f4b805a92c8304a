"""Serves the beam_search contract with the published Qwen3.6-27B answer.

The answer takes the model last and asks it for log-probabilities, one sequence a call, and for its vocabulary's size:
the contract's model has both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import beam_search as original  # noqa: E402


class _Model:
    """The contract's model behind the method and the attribute the answer uses."""

    def __init__(self, model: Callable) -> None:
        self.model = model
        self.vocab_size = model.vocab_size

    def get_log_probs(self, token_ids: np.ndarray) -> np.ndarray:
        return np.asarray(self.model([int(token) for token in token_ids]))


def batched_beam_search(
    model: Callable, prompts: list[list[int]], beam_width: int, max_new_tokens: int, alpha: float, eos_token_id: int
) -> list[list[tuple[list[int], Any]]]:
    return original.batched_beam_search(prompts, beam_width, max_new_tokens, alpha, eos_token_id, _Model(model))
