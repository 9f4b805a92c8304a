"""Properties of a verification, each seen by comparing the answer with itself, and who is charged where one is broken.

Each check raises `ProbeFailure` where its property is seen broken. Else it returns what is wrong with the answer all
the same, which is another criterion's fault, and None where all is right.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import partial

import numpy as np

from harness.probing import Answer, Draw, FaultElsewhere, ProbeFailure, Tree, expect

from . import oracle
from .drawing import draw_tree, lured
from .scripted import allowed
from .trees import SHAPES, Verification, depths, listed, misshapen

SIBLINGS = ((SHAPES["roots"], 0), (SHAPES["siblings at each level"], 6), (SHAPES["right after wrong siblings"], 6))
"""Forms in which wrong children of right nodes lie before right ones, and behind, with the node that ends the path."""
BRANCHES = (
    ((-1, 0, 0, 1), -1), ((-1, 0, 1, 1), 0), ((-1, -1, 0, 2), 1), ((-1, -1, 0, 0, 1), 4), ((-1, -1, 0, 2, 1), 1),
)  # fmt: skip
"""The same, where something hangs on a wrong root, on a child of the right one, on one beside it, or deeper."""
APART = (
    ("binary", False), ("binary", True), ("children far away", False), ("siblings at each level", True),
    ("chain, then a root", True),
)  # fmt: skip
"""Forms in which a node's depth is not its place in the list, and whether the right path is the last or the first."""
MINDING = (*APART, ("roots", False), ("chain, then a root", False), ("two chains in turn", False),
           ("right before wrong siblings", True))  # fmt: skip
"""More of them: of answers that are wrong elsewhere too, many show nothing of their positions."""
LURES = 2
"""Tokens that each rejected node is tried with."""
DRAWS = 4
"""Draws of trees on which a property is tried before it is taken to hold."""


def nodes_go_by_their_parents(answer: Answer, draw: Draw, prompt: int = 2, vocab: int = 97) -> ProbeFailure | None:
    """Require that a wrong child of a right node changes nothing, whichever other row names what it holds."""
    title = "what a node off the greedy path holds changes what is emitted"
    return _rejected_nodes_change_nothing(answer, draw, SIBLINGS, prompt, vocab, _on_path, title)


def told_apart_from_parents(answer: Answer, draw: Draw) -> None:
    """Leave what was not seen to be wrong to `nodes_go_by_their_parents` where that property is seen broken."""
    try:
        nodes_go_by_their_parents(answer, draw)
    except ProbeFailure as broken:
        if broken.obstacle is None:
            raise FaultElsewhere(broken.title, broken.detail) from None


def subtrees_are_rejected(answer: Answer, draw: Draw, prompt: int = 2, vocab: int = 97) -> ProbeFailure | None:
    """Require that what hangs on a wrong node changes nothing, whatever the model takes there or so deep."""
    title = "what hangs on a node off the greedy path changes what is emitted"
    return _rejected_nodes_change_nothing(
        answer, draw, BRANCHES, prompt, vocab, lambda tree, node: not _on_path(tree, node), title
    )


def positions_do_no_harm(answer: Answer, draw: Draw, prompt: int = 2, vocab: int = 13) -> ProbeFailure | None:
    """Require that a model which minds positions is decoded like one that does not."""
    wrong: ProbeFailure | None = None
    for shape, last in MINDING * DRAWS:
        tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft="right", ordered=True, last=last)
        found = tree.failure(tree.mind(answer))  # asked of every tree, also once another fault is seen
        wrong = wrong or found
    return wrong


def left_to_others(answer: Answer, draw: Draw, wrong: ProbeFailure | None) -> None:
    """Leave what is wrong although the property asked for was not seen broken to the criterion that judges it."""
    if wrong is not None:
        with apart_from_broken_properties(answer, draw):
            raise FaultElsewhere(wrong.title, wrong.detail)


def apart_from_broken_properties(
    answer: Answer, draw: Draw, tree: Verification | None = None
) -> AbstractContextManager[None]:
    """Charge what a comparison in the block finds to the mask of `tree` or a broken property, where one shows alone."""
    masks = [lambda: _mask_alone(answer, tree)] if tree else []
    return expect.apart_from(*masks, *_broken_properties(answer, draw))


def apart_from_other_faults(answer: Answer, draw: Draw, tree: Verification) -> AbstractContextManager[None]:
    """Charge what a comparison in the block finds about `tree` to a fault that shows by itself, if one does.

    That is its mask, a broken property, a model that minds positions where one that does not is decoded right, or a
    wrong sibling that does harm where nothing else is in the tree.
    """

    def siblings() -> None:
        draw_tree(draw, (-1, -1), prompt=2, vocab=13, draft="right", ordered=False, last=False, lure=2).judge(answer)

    positions = [lambda: tree.mind(answer)] if tree.ordered else []
    broken = _broken_properties(answer, draw)
    return expect.apart_from(lambda: _mask_alone(answer, tree), *broken, *positions, siblings)


def _broken_properties(answer: Answer, draw: Draw) -> list[Callable[[], object]]:
    """Return checks of both properties on several draws, because one draw in forty hides a broken one."""
    laws = (nodes_go_by_their_parents, subtrees_are_rejected)
    return [partial(law, answer, draw) for law in laws for _ in range(DRAWS)]


def compare_mask(answer: Answer, prompt: int, parents: tuple[int, ...]) -> None:
    """The answer's mask must be the oracle's."""
    size = prompt + len(parents)
    room = Tree(64 + 8 * size * size)
    found = answer.call("build_tree_mask", prompt, list(parents), returns=room)
    if not isinstance(found, np.ndarray):
        raise misshapen("the mask", found, "an array")
    try:
        seen = allowed(found, size)
    except ValueError as error:
        raise ProbeFailure("the mask does not have the form of the contract", str(error), where="mask") from None
    right = oracle.mask(prompt, parents)
    wrong = np.argwhere(seen != right)
    if len(wrong):
        row, column = map(int, wrong[0])
        verb = "may" if seen[row, column] else "may not"
        detail = f"row {row} {verb} attend to column {column} (prompt of length {prompt}, parents {listed(parents)})"
        raise ProbeFailure("the mask is wrong", detail, where=f"mask[{row}, {column}]",
                           expected=bool(right[row, column]), got=bool(seen[row, column]))  # fmt: skip


def every_form_is_masked(answer: Answer) -> None:
    """Require the right mask of every form of tree, and of a deep one, after a short prompt."""
    for parents in (*SHAPES.values(), tuple(range(-1, 23))):
        compare_mask(answer, 3, parents)


def _mask_alone(answer: Answer, tree: Verification) -> None:
    """Require the right mask of a tree that a model decodes right which sees by the right mask whatever it is given."""
    if tree.failure(tree.ask(answer, model=tree.masked)) is None:
        compare_mask(answer, len(tree.prompt), tree.parents)


def _rejected_nodes_change_nothing(
    answer: Answer, draw: Draw, forms: Iterable[tuple[tuple[int, ...], int]], prompt: int, vocab: int,
    changed: Callable[[Verification, int], bool], title: str,
) -> ProbeFailure | None:  # fmt: skip
    """Require the same to be emitted whatever nodes off the right path hold, by a model that sees by the right mask."""
    wrong: ProbeFailure | None = None
    for parents, end in forms:
        tree = lured(draw, parents, end, prompt=prompt, vocab=vocab)
        plain = tree.ask(answer, model=tree.masked)
        wrong = wrong or tree.failure(plain)
        rejected = (node for node in range(len(parents)) if node not in tree.path and changed(tree, node))
        for other in (tree.holding(node, token) for node in rejected for token in _lures(tree, node)):
            found = other.ask(answer, model=other.masked)
            if found != plain and (failure := other.failure(found)) is not None:
                detail = (
                    f"emitted: {found} for {other}; {plain} for tokens {list(tree.tokens)}, which differ only in nodes "
                    "that greedy decoding does not take"
                )
                raise ProbeFailure(title, detail, where=failure.where, expected=failure.expected, got=failure.got)
    return wrong


def _on_path(tree: Verification, node: int) -> bool:
    """Return whether a node hangs on a right one, or on the prompt."""
    return tree.parents[node] < 0 or tree.parents[node] in tree.path


def _lures(tree: Verification, node: int) -> list[int]:
    """Return tokens for which a careless check would accept a rejected node; none is right, nor another child's.

    Of a node on the path: what the row before it names, or the row of its depth. Of one that hangs on a rejected node:
    what the model takes there, or greedy decoding at that depth.
    """
    depth, parent = depths(tree.parents)[node], tree.parents[node]
    taken = {tree.tokens[one] for one, other in enumerate(tree.parents) if other == parent}
    if _on_path(tree, node):
        taken.add(tree.named[1 + parent])
        named = [tree.named[1 + row] for row in (node - 1, depth - 2, node, *tree.path)]
    else:
        named = [tree.named[1 + parent], *tree.decoded(depth)[-1:], tree.named[node]]
    return [token for token in dict.fromkeys(named) if token not in taken][:LURES]
