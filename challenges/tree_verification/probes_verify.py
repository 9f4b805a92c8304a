"""Probes of what a verification emits: always what greedy decoding gives, on models that a script gives."""

import numpy as np

from harness.probing import Answer, Axis, Draw, Drawn, NotRun, ProbeFailure, Tree, probe

from . import oracle
from .scripted import allowed
from .trees import DRAFTS, SHAPES, Verification, drawn, misshapen, with_model

FORMS = ("random", "chain", "wide", "deep", "interleaved")
SIZES = {"prompt": Axis(1, 64), "nodes": Axis(0, 64), "vocab": Axis(2, 64)}
SETTINGS = {"form": FORMS, "draft": ("right", "half", "mixed")}
WITHOUT_POSITIONS = 12
"""Trees in which a fault that is none of positions has its chance to show."""
SLOT_BEFORE, ONE_DEEPER = 2, 4
"""Lures, as `drawn` numbers them."""
TREES = 48
MOST = 110.0 * 110.0
"""What the largest tree may cost, as `_cost` counts: so much of a mask and of logits fits into a message."""


@probe({"depth": 1, "draft": "right"}, {"depth": 1, "draft": "wrong"}, {"depth": 3, "draft": "half"},
       {"depth": 4, "draft": "right"}, prompt=3, vocab=11, floors={"vocab": 3})  # fmt: skip
def chains_are_verified(answer: Answer, draw: Draw, *, depth: int, draft: str, prompt: int, vocab: int) -> None:
    """A plain chain: two models in turn, with all other arguments the same."""
    for _ in range(50):  # one in which a token that is left out or comes twice shows
        chain = drawn(draw, range(-1, depth - 1), prompt=prompt, vocab=vocab, draft=draft, ordered=False)
        if len({*chain.decoded(depth + 1)}) == depth + 1:
            break
    chain.judge(answer)
    with_model(draw, chain, lambda other: other.wanted[0] != chain.wanted[0]).judge(answer)


@probe(*({"shape": shape} for shape in SHAPES), prompt=4)
def masks_are_exact(answer: Answer, draw: Draw, *, shape: str, prompt: int) -> None:
    """Every entry, for prompts of one and of several tokens."""
    for length in (1, prompt):
        compare_mask(answer, length, SHAPES[shape])


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
        detail = f"row {row} {verb} attend to column {column} (prompt of {prompt} tokens, parents {list(parents)})"
        raise ProbeFailure("the mask is wrong", detail, where=f"mask[{row}, {column}]",
                           expected=bool(right[row, column]), got=bool(seen[row, column]))  # fmt: skip


@probe(*({"shape": shape} for shape in SHAPES), prompt=3, vocab=13, fixed=("vocab",))
def every_shape_is_decoded_greedily(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """Fifteen forms of trees, each with a path that is right, wrong, half right, and any part right."""
    for draft in DRAFTS:
        drawn(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False).judge(answer, draft)


@probe({"shape": "right after wrong siblings"}, {"shape": "roots, then a chain"}, {"shape": "siblings at each level"},
       {"shape": "children far away"}, {"shape": "two chains in turn"}, prompt=2, vocab=13,
       fixed=("vocab",))  # fmt: skip
def a_node_is_held_to_its_parent(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """Between it and its parent lie others, which hold what the slot before them names, or what comes one deeper."""
    for last in (True, False):
        for lure in (SLOT_BEFORE, ONE_DEEPER):
            tree = drawn(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft="right", ordered=False, last=last,
                         lure=lure)  # fmt: skip
            tree.judge(answer)


@probe({"shape": "roots"}, {"shape": "siblings at each level"}, {"shape": "binary"}, {"shape": "children far away"},
       {"shape": "chain, then a root"}, prompt=2, vocab=13, fixed=("vocab",))  # fmt: skip
def positions_go_by_depth(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """A model that minds positions, and so tells a node's place in the tree from its place in the list.

    Where trees of this shape go wrong with a model that minds none, what it gets wrong says nothing of positions.
    """

    def judged(draft: str, ordered: bool) -> None:
        drawn(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=ordered, last=True).judge(answer)

    for draft in ("right", "mixed"):
        try:
            judged(draft, ordered=True)
        except ProbeFailure:
            try:
                for _ in range(WITHOUT_POSITIONS):
                    judged(draft, ordered=False)
            except ProbeFailure as failure:
                raise NotRun(f"a model that minds no positions goes wrong as well: {failure}") from None
            raise


@probe({"side": 0}, {"side": 1}, {"side": 2}, {"side": 3}, prompt=2, vocab=12, fixed=("side", "vocab"))
def children_of_rejected_nodes_are_rejected(answer: Answer, draw: Draw, *, side: int, prompt: int, vocab: int) -> None:
    """What hangs on a wrong node is no path, though the model would take it there, or greedy decoding takes it so deep.

    The rejected node is a root, a child of the right one, has a right sibling, or has a grandchild.
    """
    for _ in range(3):
        base = drawn(draw, (-1, -1, 1), prompt=prompt, vocab=vocab, draft="right", ordered=False, last=True)
        first, second, third = base.decoded(3)
        wrong = next(token for token in range(vocab) if token not in (first, second, third))
        after = chosen_after(base, [wrong] if side != 1 else [first, wrong])
        parents, tokens = {
            0: ((-1, 0, 0, 1), (wrong, after, *_others(second, after), third)),
            1: ((-1, 0, 1, 1), (first, wrong, after, *_others(third, after))),
            3: ((-1, -1, 0, 2), (wrong, first, after, chosen_after(base, [wrong, after]))),
            2: ((-1, -1, 0, 0, 1), (wrong, first, after, *_others(second, after), second)),
        }[side]
        Verification(base.seed, vocab, base.prompt, tokens, parents, False).judge(answer, "a child of a rejected node")


def chosen_after(base: Verification, tokens: list[int]) -> int:
    """What the model takes after tokens that follow the prompt."""
    (choice,) = Verification(base.seed, base.vocab, (*base.prompt, *tokens), (), (), base.ordered).decoded(1)
    return choice


def _others(token: int, taken: int) -> tuple[int]:
    """The token, or another one where it is a sibling's."""
    return (token if token != taken else (taken + 1) % 12,)


@probe({"shape": "chain"}, {"shape": "right after wrong siblings"}, {"shape": "binary"}, {"shape": "comb"},
       {"shape": "children far away"}, {"shape": "children apart"}, prompt=3, vocab=13, fixed=("vocab",))  # fmt: skip
def the_whole_path_is_emitted(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """As much as the tree holds, and the token after it."""
    for draft in ("right", "half", "wrong"):
        tree = drawn(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False, last=True)
        tree.judge(answer, draft, whole=True)


def _cost(prompt: int, nodes: int, vocab: int) -> float:
    return float((prompt + nodes) ** 2 + (prompt + nodes) * vocab)


@probe(drawn=Drawn(SIZES, TREES, _cost, MOST, SETTINGS))
def any_tree_is_right(
    answer: Answer, draw: Draw, *, prompt: int, nodes: int, vocab: int, form: str, draft: str
) -> None:
    """Any form and size: the mask is exact, and what is emitted is what greedy decoding gives."""
    parents = grown(draw, form, nodes, vocab)
    compare_mask(answer, prompt, parents)
    drawn(draw, parents, prompt=prompt, vocab=vocab, draft=draft, ordered=True).judge(answer)


def grown(draw: Draw, form: str, nodes: int, vocab: int) -> tuple[int, ...]:
    """A tree of some form; no family is larger than the vocabulary less one."""
    parents: list[int] = []
    for node in range(nodes):
        parent = {
            "random": lambda node: draw.integer(-1, node - 1),
            "chain": lambda node: node - 1,
            "wide": lambda node: draw.integer(-1, min(node - 1, 2)),
            "deep": lambda node: draw.integer(max(-1, node - 3), node - 1),
            "interleaved": lambda node: node - 3 if node > 2 else -1,
        }[form](node)
        while sum(other == parent for other in parents) >= vocab - 1:
            parent = node - 1 if parent == node - 1 or sum(other == node - 1 for other in parents) == 0 else parent + 1
        parents.append(parent)
    return tuple(parents)
