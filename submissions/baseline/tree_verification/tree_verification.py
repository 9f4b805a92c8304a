"""Verification of a tree of drafted tokens in one pass, and greedy decoding with it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from token_tree import TokenTree

Model = Callable[..., Any]
Draft = Callable[[list[int]], tuple[list[int], list[int]]]


def build_tree_mask(prompt_len: int, parents: Sequence[int]) -> NDArray[np.bool_]:
    """Who may attend to whom: (P + N, P + N), True where the row may attend to the column.

    Raises:
        ValueError: prompt_len is below 1, or a parent is not -1 or an earlier node.
    """
    return TokenTree(prompt_len, parents).mask()


def verify_and_accept(
    model: Model,
    prompt: Sequence[int],
    tree_tokens: Sequence[int],
    parents: Sequence[int],
    *,
    eos_token_id: int | None = None,
) -> tuple[list[int], int | None]:
    """The tokens of the tree that greedy decoding takes, and the one it takes after them.

    Args:
        model: logits (n, vocabulary) of tokens, mask and positions.
        prompt: at least one token.
        tree_tokens: of the nodes.
        parents: of the nodes; -1 continues the prompt.
        eos_token_id: the token after which nothing follows, if there is one: then the second result is None.

    Raises:
        ValueError: wrong parents, not one for each token, or an empty prompt.
    """
    if len(tree_tokens) != len(parents):
        raise ValueError(f"{len(tree_tokens)} tokens, but {len(parents)} parents")
    tree = TokenTree(len(prompt), parents)
    logits = model([*prompt, *tree_tokens], tree.mask(), tree.positions())
    choices = np.argmax(logits, axis=1)
    accepted: list[int] = []
    node = -1
    while True:
        choice = int(choices[tree.row(node)])
        right = [child for child in tree.children(node) if tree_tokens[child] == choice]
        if not right:
            return accepted, choice
        node = right[0]
        accepted.append(choice)
        if choice == eos_token_id:
            return accepted, None


def generate(
    model: Model, draft: Draft, prompt: Sequence[int], max_new_tokens: int, *, eos_token_id: int | None = None
) -> list[int]:
    """The first `max_new_tokens` tokens of greedy decoding after `prompt`, whatever `draft` proposes.

    Where `eos_token_id` is among them, it is the last.
    """
    text, ended = list(prompt), False
    while not ended and len(text) < len(prompt) + max_new_tokens:
        tree_tokens, parents = draft(list(text))
        accepted, choice = verify_and_accept(model, text, tree_tokens, parents, eos_token_id=eos_token_id)
        text += accepted if choice is None else [*accepted, choice]
        ended = text[-1] == eos_token_id
    return text[len(prompt) : len(prompt) + max_new_tokens]
