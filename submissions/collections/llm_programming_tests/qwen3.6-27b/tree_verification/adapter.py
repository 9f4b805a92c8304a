"""Serves the tree_verification contract with the published Qwen3.6-27B answer.

The answer's own language model puts every token at its slot in the joined sequence and is causal where no mask is
passed: the wrapper does the same with the contract's model. Masks are additive (0 and -inf) and handed on as
booleans. The answer returns one list in which a last token of the tree and one of the target look alike: it is
returned whole, without a next token. Its loop may run past the wanted length by what the last cycle brought; nothing
is cut off here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import dflash_verify as original  # noqa: E402


def _fitting(mask: np.ndarray, tokens: list[int]) -> np.ndarray:
    if mask.shape != (len(tokens), len(tokens)):  # the answer's own model cannot add it to its scores
        raise ValueError(f"a mask of shape {mask.shape} for {len(tokens)} tokens")
    return mask


class _Model:
    """The contract's model behind the method the answer calls."""

    def __init__(self, model: Callable) -> None:
        self.model = model

    def forward(self, token_ids: Any, mask: np.ndarray | None = None) -> np.ndarray:
        tokens = [int(token) for token in token_ids]
        causal = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
        fitting = causal if mask is None else _fitting(mask > -np.inf, tokens)
        return np.asarray(self.model(tokens, fitting, np.arange(len(tokens))))


def build_tree_mask(prompt_len: int, parents: list[int]) -> np.ndarray:
    return original.build_tree_mask(prompt_len, parents) > -np.inf


def verify_and_accept(
    model: Callable, prompt: list[int], tree_tokens: list[int], parents: list[int]
) -> tuple[list[int], int | None]:
    return original.verify_and_accept(prompt, tree_tokens, parents, _Model(model)), None


def generate(model: Callable, draft: Callable, prompt: list[int], max_new_tokens: int) -> list[int]:
    tokens = original.speculative_generate(_Model(model), prompt, draft, len(prompt) + max_new_tokens)
    return tokens[len(prompt) :]
