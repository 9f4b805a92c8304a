"""The functions an answer to `tree_verification` exposes.

Tokens are Python ints. A prompt has P >= 1 tokens, a tree N >= 0 nodes. Node i holds tree_tokens[i] and continues node
parents[i] < i, or the prompt where that is -1. Siblings hold different tokens; they need not lie beside each other.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

OPTIONAL = ("generate",)
"""Functions an answer may leave out."""


class Model(Protocol):
    """The target model; the harness supplies it."""

    def __call__(
        self, tokens: Sequence[int], mask: NDArray[Any], positions: Sequence[int] | None = None
    ) -> NDArray[np.float64]:
        """Logits of the token after each token, given the tokens that it sees and their positions.

        Args:
            tokens: n of them.
            mask: (n, n), bool (True: row may attend to column) or additive floats (0, -inf).
            positions: of each token in its own sequence, from 0 on; None: the number of tokens it sees, less one.

        Returns:
            (n, vocabulary). Row i depends on nothing but the pairs of token and position that row i of the mask allows.
            The array may be read-only.

        Raises:
            ValueError: an argument is something else.
        """
        ...


class Draft(Protocol):
    """What proposes continuations; the harness supplies it."""

    def __call__(self, tokens: Sequence[int]) -> tuple[list[int], list[int]]:
        """A tree that may continue `tokens`: its tokens and parents, either of them empty or right or wrong."""
        ...


def build_tree_mask(prompt_len: int, parents: list[int]) -> NDArray[Any]:
    """Who may attend to whom: a prompt token to the prompt up to itself, a node to the prompt, its ancestors, itself.

    Returns:
        (P + N, P + N), bool or additive as `Model` takes it.

    Raises:
        ValueError: prompt_len < 1, or a parent that is not -1 .. i - 1.
    """
    ...


def verify_and_accept(
    model: Model, prompt: list[int], tree_tokens: list[int], parents: list[int], *, eos_token_id: int | None = None
) -> tuple[list[int], int | None]:
    """Compare a tree with what the model decodes greedily, in one call of the model.

    A node is right where its token is the argmax of the row of its *parent* (for -1, of the last prompt token), and its
    parent is right.

    Args:
        model: of which the tree is verified.
        prompt: its tokens.
        tree_tokens: of each node its token.
        parents: of each node its parent.
        eos_token_id: passed by name, and only to a submission that claims `eos`; another may leave the argument out.
            A right node that holds it ends decoding: it is the last of `accepted`, and `next_token` is None. Where
            `next_token` is this token it is returned as any other. In the prompt, or in a node that is not right, it
            means nothing. With None no token ends anything.

    Returns:
        accepted: tokens of right nodes, from the root on along one path.
        next_token: the model's own choice after them, or None.
        Together, next_token last where it is not None, they are what is emitted: never empty, and always what greedy
        decoding gives after the prompt. The whole right path and the token after it is the most that can be emitted.

    Raises:
        ValueError: an empty prompt, not one parent for each token, a parent that is not -1 .. i - 1.
    """
    ...


def generate(
    model: Model, draft: Draft, prompt: list[int], max_new_tokens: int, *, eos_token_id: int | None = None
) -> list[int]:
    """max_new_tokens tokens that continue the prompt, equal to greedy decoding whatever the draft says; optional.

    The first of them that is `eos_token_id` is the last; then there may be fewer. That argument is passed by name, and
    only to a submission that claims `eos`.
    """
    ...
