"""Reference: verification of a token tree in one pass, in plain steps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Model = Callable[..., Any]
Draft = Callable[[list[int]], Any]


def build_tree_mask(prompt_len: int, parents: Sequence[int]) -> NDArray[np.bool_]:
    """(P + N, P + N), True where the row's token may attend to the column's.

    Raises:
        ValueError: there is no prompt, or a parent does not come before its child.
    """
    check(prompt_len, parents)
    size = prompt_len + len(parents)
    mask = np.zeros((size, size), dtype=bool)
    for row in range(prompt_len):
        mask[row, : row + 1] = True
    for node, parent in enumerate(parents):
        row = prompt_len + node
        mask[row] = mask[row_of(prompt_len, parent)]
        mask[row, row] = True
    return mask


def tree_positions(prompt_len: int, parents: Sequence[int]) -> list[int]:
    """The place of each token in its own sequence: of a node the prompt's length plus its depth."""
    positions = list(range(prompt_len))
    for parent in parents:
        before = positions[row_of(prompt_len, parent)]
        positions.append(before + 1)
    return positions


def verify_and_accept(
    model: Model, prompt: Sequence[int], tree_tokens: Sequence[int], parents: Sequence[int], *,
    eos_token_id: int | None = None,
) -> tuple[list[int], int | None]:  # fmt: skip
    """The longest path of the tree that greedy decoding takes, and the token that it takes next.

    A path ends with `eos_token_id`, and no token comes next.

    Raises:
        ValueError: as `build_tree_mask`, or there is not one parent for each token.
    """
    if len(tree_tokens) != len(parents):
        raise ValueError(f"{len(tree_tokens)} tokens and {len(parents)} parents")
    prompt_len = len(prompt)
    mask = build_tree_mask(prompt_len, parents)
    positions = tree_positions(prompt_len, parents)
    logits = np.asarray(model(list(prompt) + list(tree_tokens), mask, positions))
    choices = logits.argmax(axis=1)
    accepted: list[int] = []
    node = -1
    while True:
        wanted = int(choices[row_of(prompt_len, node)])
        children = [child for child, parent in enumerate(parents) if parent == node]
        matching = [child for child in children if tree_tokens[child] == wanted]
        if not matching:
            break
        node = matching[0]
        accepted.append(wanted)
        if wanted == eos_token_id:
            return accepted, None
    return accepted, wanted


def generate(
    model: Model, draft: Draft, prompt: Sequence[int], max_new_tokens: int, *, eos_token_id: int | None = None
) -> list[int]:
    """The tokens of greedy decoding, several a pass where the draft foresees them, up to `eos_token_id`."""
    generated: list[int] = []
    while len(generated) < max_new_tokens:
        context = list(prompt) + generated
        tree_tokens, parents = draft(context)
        accepted, next_token = verify_and_accept(model, context, tree_tokens, parents, eos_token_id=eos_token_id)
        generated.extend(accepted)
        if next_token is None:
            break
        generated.append(next_token)
        if generated[-1] == eos_token_id:
            break
    return generated[:max_new_tokens]


def row_of(prompt_len: int, node: int) -> int:
    """The row of a node; of -1 the last of the prompt."""
    return prompt_len + node


def check(prompt_len: int, parents: Sequence[int]) -> None:
    """Refuse arguments that make no sense."""
    if prompt_len < 1:
        raise ValueError("the prompt is empty")
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} has the parent {parent}")
