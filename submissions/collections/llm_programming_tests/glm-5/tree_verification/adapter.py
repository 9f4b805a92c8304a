"""Serves the tree_verification contract with the published GLM-5 answer.

The answer's own language model puts every token at its slot in the joined sequence and adds its mask, none where it
passes none: the wrapper does the same with the contract's model. Masks are additive (0 and -inf) and handed on as
booleans. The answer returns one list; its last token is always the target's, the others are accepted ones.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import dflash as original  # noqa: E402


def _fitting(mask: np.ndarray, tokens: list[int]) -> np.ndarray:
    if mask.shape != (len(tokens), len(tokens)):  # the answer's own model cannot add it to its scores
        raise ValueError(f"a mask of shape {mask.shape} for {len(tokens)} tokens")
    return mask


class _Model:
    """The contract's model behind the method the answer calls."""

    def __init__(self, model: Callable) -> None:
        self.model = model

    def forward(self, token_ids: Any, mask_add: np.ndarray | None = None) -> np.ndarray:
        tokens = [int(token) for token in token_ids]
        everything = np.ones((len(tokens), len(tokens)), dtype=bool)
        mask = everything if mask_add is None else mask_add > -np.inf
        return np.asarray(self.model(tokens, _fitting(mask, tokens), np.arange(len(tokens))))


def build_tree_mask(prompt_len: int, parents: list[int]) -> np.ndarray:
    return original.build_tree_mask(prompt_len, parents) > -np.inf


def verify_and_accept(
    model: Callable, prompt: list[int], tree_tokens: list[int], parents: list[int]
) -> tuple[list[int], int | None]:
    emitted = original.verify_and_accept(prompt, tree_tokens, parents, _Model(model))
    return emitted[:-1], emitted[-1]


def generate(model: Callable, draft: Callable, prompt: list[int], max_new_tokens: int) -> list[int]:
    tokens = original.speculative_generate(_Model(model), prompt, max_new_tokens, draft)
    return tokens[len(prompt) :]
