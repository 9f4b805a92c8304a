"""Probes of what a verification emits: always what greedy decoding gives, on models that a script gives."""

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial

from harness.probing import Answer, Axis, CallFailed, Draw, Drawn, FaultElsewhere, expect, probe
from harness.probing.failures import CallTimedOut, OutOfMemory, Spared

from .drawing import COUSINS, DEEPER, DRAFTS, NEXT_TOKENS, draw_tree, ended_early, with_model
from .properties import (
    APART,
    apart_from_broken_properties,
    apart_from_other_faults,
    compare_mask,
    every_form_is_masked,
    left_to_others,
    nodes_go_by_their_parents,
    positions_do_no_harm,
    subtrees_are_rejected,
    told_apart_from_parents,
)
from .trees import SHAPES, Verification

FORMS = ("random", "chain", "wide", "deep", "interleaved", "layers", "branches")
SIZES = {"prompt": Axis(1, 64), "nodes": Axis(1, 72), "vocab": Axis(2, 64)}
SETTINGS = {"form": FORMS, "draft": ("right", "half", "mixed"), "next_token": NEXT_TOKENS}
TREES = 40
LARGE = 300
"""Nodes of a large tree: more than a byte counts."""
CLOSE = 2.0**-30
"""Between two logits near 4.5, where single precision resolves 2**-22."""
CLOSEST = 2.0**-60
"""Between two logits at 0, of which a softmax in double precision makes equal probabilities."""
CLEAR = 0.25
"""The same where nothing takes one logit for the other; both are above all others."""
MOST = 110.0 * 110.0
"""What the largest tree may cost, as `_cost` counts: so much of a mask and of logits fits into a message."""


@probe({"depth": 1, "draft": "right"}, {"depth": 1, "draft": "wrong"}, {"depth": 3, "draft": "half"},
       {"depth": 4, "draft": "right"}, prompt=3, vocab=11, floors={"vocab": 3})  # fmt: skip
def chains_are_verified(answer: Answer, draw: Draw, *, depth: int, draft: str, prompt: int, vocab: int) -> None:
    """A plain chain: two models in turn, with all other arguments the same; what the mask is, is judged elsewhere."""
    for _ in range(50):  # one in which a token that is left out or comes twice shows
        chain = draw_tree(draw, range(-1, depth - 1), prompt=prompt, vocab=vocab, draft=draft, ordered=False)
        if len({*chain.decoded(depth + 1)}) == depth + 1:
            break
    for one in (chain, with_model(draw, chain, lambda other: _all_wrong(other) and other.wanted[0] != chain.wanted[0])):
        one.compare(one.ask(answer, model=one.masked))


def _all_wrong(chain: Verification) -> bool:
    """Return whether no node holds what the model takes after the node before it, however wrong that one is."""
    return all(taken != token for taken, token in zip(chain.named[1:], chain.tokens[1:], strict=False))


@probe(*({"shape": shape} for shape in SHAPES), prompt=4)
def masks_are_exact(answer: Answer, draw: Draw, *, shape: str, prompt: int) -> None:
    """Every entry, for prompts of one and of several tokens."""
    for length in (1, prompt):
        compare_mask(answer, length, SHAPES[shape])


@probe(*({"form": form} for form in ("chain", "branches", "layers", "random")), prompt=33, nodes=LARGE,
       fixed=("prompt", "nodes"))  # fmt: skip
def large_masks_are_exact(answer: Answer, draw: Draw, *, form: str, prompt: int, nodes: int) -> None:
    """More nodes than a byte counts or a machine word has bits, deep ones, and branches that lie far apart."""
    compare_mask(answer, prompt, grown(draw, form, nodes, nodes))


@probe({"shape": "chain"}, {"shape": "binary"}, prompt=3, vocab=13, fixed=("vocab",))
def close_logits_are_told_apart(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """In each row the two largest logits differ by less than single precision resolves; the larger is the later.

    They also differ by less than their probabilities can.
    """
    for gap in (CLOSE, CLOSEST):
        _decoded_with_gap(answer, draw, shape, prompt, vocab, gap, "the smaller of two close logits is taken")


@probe({"shape": "chain"}, {"shape": "binary"}, prompt=3, vocab=300, fixed=("vocab",))
def equal_logits_take_the_lowest_token(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """In each row the two largest logits are equal, mostly of tokens that lie far apart."""
    _decoded_with_gap(answer, draw, shape, prompt, vocab, 0.0, "of equal logits not the lowest token is taken")


def _decoded_with_gap(answer: Answer, draw: Draw, shape: str, prompt: int, vocab: int, gap: float, title: str) -> None:
    """Require greedy decoding where the two largest logits are so far apart, of an answer that decodes the tree so.

    It must do so for a model that takes the same tokens, with logits that are clearly apart.

    Raises:
        Spared: it does not, and the chain decides: whether another fault shows in a tree is a matter of the draw.
    """
    for draft in ("right", "half"):
        tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False, gap=gap)
        plain = replace(tree, gap=CLEAR if gap > 0 else -CLEAR)
        try:
            with expect.only_beside(partial(_decoded_apart, answer, draw, plain)), expect.renamed(title):
                tree.compare(tree.ask(answer, model=tree.masked), f"{draft}, the two largest logits {gap:g} apart")
        except FaultElsewhere:
            if shape == "chain":
                raise
            raise Spared from None


def _decoded_apart(answer: Answer, draw: Draw, tree: Verification) -> None:
    """Require greedy decoding of a tree, whatever its mask; charge it to a broken property where one shows alone."""
    with apart_from_broken_properties(answer, draw):
        tree.compare(tree.ask(answer, model=tree.masked))


@probe(*({"shape": shape} for shape, parents in SHAPES.items() if len(parents) > 1), prompt=3, vocab=13,
       fixed=("vocab",))  # fmt: skip
def every_shape_is_decoded_greedily(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """Many forms of trees, each with a path that is right, wrong, half right, and any part right.

    Beside the right one lies what greedy decoding gives one deeper. Two more right ones end above the deepest leaf, and
    the model takes the lowest and the highest token after them, which other nodes hold. No shape is drawn as another.
    """
    draw = Draw(draw.integer(0, 2**62), shape)
    for draft in DRAFTS:
        lies = {"last": False, "lure": DEEPER} if draft == "right" else {}
        tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft=draft, ordered=False, **lies)
        with apart_from_broken_properties(answer, draw, tree):
            tree.judge(answer, f"{draft} draft")
    given = {"prompt": prompt, "vocab": vocab, "draft": "right", "ordered": False}
    for token in NEXT_TOKENS[1:]:
        tree = ended_early(draw, SHAPES[shape], **given, next_token=token)
        with apart_from_broken_properties(answer, draw, tree):
            tree.judge(answer, f"right draft, {token} token next")


@probe({"prompt": 1}, {"prompt": 4}, vocab=13, fixed=("vocab",))
def an_empty_tree_is_served(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """What is emitted is the token that greedy decoding takes."""
    draw_tree(draw, (), prompt=prompt, vocab=vocab, draft="right", ordered=False).judge(answer)


@probe(prompt=2, vocab=97, fixed=("prompt", "vocab"))
def a_node_is_held_to_its_parent(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """A wrong child of a right node changes nothing, whichever other row names what it holds."""
    left_to_others(answer, draw, nodes_go_by_their_parents(answer, draw, prompt, vocab))


@probe(prompt=2, vocab=97, fixed=("prompt", "vocab"))
def children_of_rejected_nodes_are_rejected(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """What hangs on a wrong node changes nothing, though the model would take it there, or greedy decoding so deep.

    An answer that goes by other parents does not pass: what hangs on a wrong node cannot be told then.
    """
    left_to_others(answer, draw, subtrees_are_rejected(answer, draw, prompt, vocab))
    told_apart_from_parents(answer, draw)


@probe(prompt=2, vocab=13, fixed=("prompt", "vocab"))
def positions_change_nothing(answer: Answer, draw: Draw, *, prompt: int, vocab: int) -> None:
    """A model that minds the positions that it is called with is decoded like one that does not."""
    left_to_others(answer, draw, positions_do_no_harm(answer, draw, prompt, vocab))


@probe(*({"shape": shape} for shape in dict(APART)), prompt=2, vocab=13, fixed=("vocab",))
def positions_go_by_depth(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """What the model is called with, where nothing that is emitted shows it."""
    tree = draw_tree(draw, SHAPES[shape], prompt=prompt, vocab=vocab, draft="right", ordered=False)
    with expect.only_beside(lambda: positions_do_no_harm(answer, draw)):
        tree.place(answer)


PATHS = (("right", True, None), ("half", True, None), ("wrong", True, None), ("right", False, COUSINS))
"""Drafts, whether the path ends at the last of the deepest nodes, and what the other nodes hold."""


@probe({"shape": "chain"}, {"shape": "right after wrong siblings"}, {"shape": "binary"}, {"shape": "comb"},
       {"shape": "children far away"}, {"shape": "children apart"}, {"shape": "chain", "vocab": 2001}, prompt=3,
       vocab=13, fixed=("vocab",))  # fmt: skip
def the_whole_path_is_emitted(answer: Answer, draw: Draw, *, shape: str, prompt: int, vocab: int) -> None:
    """As much as the tree holds, and the token after it; what goes wrong on the way is judged elsewhere.

    In a large vocabulary most tokens are not one object wherever they are made.
    """
    for draft, last, lure in PATHS:
        form = SHAPES[shape]
        tree = draw_tree(draw, form, prompt=prompt, vocab=vocab, draft=draft, ordered=False, last=last, lure=lure)
        found = tree.ask(answer, model=tree.masked)
        left_to_others(answer, draw, tree.failure(found))
        only_right = len(tree.path) == len(tree.parents)  # then nothing off the path can explain what is missing
        with nullcontext() if only_right else apart_from_broken_properties(answer, draw):
            tree.compare(found, f"{draft} draft", whole=True)


def _cost(prompt: int, nodes: int, vocab: int) -> float:
    return float((prompt + nodes) ** 2 + (prompt + nodes) * vocab)


@probe({"prompt": 1, "nodes": 3, "vocab": 4001, "form": "deep"},
       {"prompt": 2, "nodes": 8, "vocab": 40, "form": "interleaved", "next_token": "highest"},
       {"prompt": 3, "nodes": 70, "vocab": 9, "form": "layers", "next_token": "highest"},
       {"prompt": 34, "nodes": 64, "vocab": 40, "form": "branches", "next_token": "lowest"},
       draft="right", next_token="any", floors={"vocab": 2},
       drawn=Drawn(SIZES, TREES, _cost, MOST, SETTINGS))  # fmt: skip
def any_tree_is_right(
    answer: Answer, draw: Draw, *, prompt: int, nodes: int, vocab: int, form: str, draft: str, next_token: str
) -> None:
    """Any form and size: the mask is exact, and what is emitted is what greedy decoding gives.

    Where the model takes the lowest or the highest token after the right path, that ends above the deepest leaf.
    """
    parents = grown(draw, form, nodes, vocab)
    with expect.apart_from(lambda: every_form_is_masked(answer)):
        compare_mask(answer, prompt, parents)
    given = {"prompt": prompt, "vocab": vocab, "draft": draft, "ordered": True}
    if next_token == "any":
        lies = {"last": False, "lure": DEEPER} if draw.integer(0, 1) else {}
        tree = draw_tree(draw, parents, **given, **lies)
    else:
        tree = ended_early(draw, parents, **given, next_token=next_token)
    with apart_from_other_faults(answer, draw, tree):
        tree.judge(answer)


@probe(prompt=2, nodes=1100, vocab=5, fixed=("prompt", "vocab"))
def a_very_long_chain_is_served(answer: Answer, draw: Draw, *, prompt: int, nodes: int, vocab: int) -> None:
    """More nodes than Python lets a function call itself: the mask is exact, and the model is called.

    A model is passed no mask so large here, so what comes of its call shows nothing. No speed is asked for either.
    """
    parents = tuple(range(-1, nodes - 1))
    start, tokens = (tuple(draw.rng.integers(0, vocab, count).tolist()) for count in (prompt, nodes))
    with suppress(CallTimedOut, OutOfMemory):
        fewer = grown(draw, "branches", LARGE, LARGE)
        with expect.apart_from(lambda: every_form_is_masked(answer), lambda: compare_mask(answer, prompt, fewer)):
            compare_mask(answer, prompt, parents)
        try:
            Verification(draw.integer(0, 2**53), vocab, start, tokens, parents, ordered=False).ask(answer)
        except CallFailed:
            used = answer.served.get("model")
            if used is None or not used.calls:
                raise


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
            "layers": lambda node: (node - 2) // 2 if node > 1 else -1,
            "branches": lambda node: -1 if node % (nodes // 2 + 1) == 0 else node - 1,
        }[form](node)
        while parents.count(parent) >= vocab - 1:
            parent = node - 1 if parent == node - 1 or node - 1 not in parents else parent + 1
        parents.append(parent)
    return tuple(parents)
