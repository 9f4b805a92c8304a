"""Serves the tree_verification contract with the published Claude Opus 4.7 answer.

The answer's own language model has no positions, on purpose: order comes from the mask alone. So the contract's model
is called without positions (None) and has to place tokens by the mask. The answer has no generation loop but in its
tests: none is offered. It asserts that parents come first, and its language model that a mask fits its tokens: a
failed assertion is its refusal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import dflash_verify as original  # noqa: E402


class _Model:
    """The contract's model behind the method the answer calls."""

    def __init__(self, model: Callable) -> None:
        self.model = model

    def forward(self, token_ids: Any, mask: np.ndarray) -> np.ndarray:
        tokens = [int(token) for token in token_ids]
        assert mask.shape == (len(tokens), len(tokens))  # as in the answer's own model, whose place this one takes
        return np.asarray(self.model(tokens, mask, None))


def build_tree_mask(prompt_len: int, parents: list[int]) -> np.ndarray:
    try:
        return original.build_tree_mask(prompt_len, parents)
    except AssertionError as refusal:
        raise ValueError(str(refusal)) from refusal


def verify_and_accept(
    model: Callable, prompt: list[int], tree_tokens: list[int], parents: list[int]
) -> tuple[list[int], int | None]:
    try:
        return original.verify_and_accept(prompt, tree_tokens, parents, _Model(model))
    except AssertionError as refusal:
        raise ValueError(str(refusal)) from refusal
