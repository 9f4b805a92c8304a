"""Trees that are drawn: whose nodes hold what greedy decoding gives, or what a careless check takes for that."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.probing import Draw

from . import scripted
from .trees import Verification, decode, depths, path_to

TRIES = 500
"""Trees that are drawn for one that is as wanted."""
COUSINS, DEEPER, NEXT = 3, 4, 5
"""Lures of `draw_tree`: wrong nodes hold what greedy decoding gives so deep, one deeper, or behind the right path."""
DRAFTS = ("right", "wrong", "half", "mixed")
"""What the nodes hold: the whole path of greedy decoding, none of it, the first half of it, any part of it."""
NEXT_TOKENS = ("any", "lowest", "highest")
"""What the model takes after the right path: any token, token 0, the last of the vocabulary."""


def draw_tree(
    draw: Draw, parents: Sequence[int], *, prompt: int, vocab: int, draft: str, ordered: bool, last: bool | None = None,
    lure: int | None = None, end: int | None = None, gap: float | None = None,
) -> Verification:  # fmt: skip
    """A tree of some form, of whose nodes those of one path are right, as far as the draft says.

    The others hold what a careless check takes for right: what the model would take there or second best, what it would
    take after the slot before, what greedy decoding gives so deep, one deeper, or behind the right path.

    Args:
        draw: source of model, prompt and tokens.
        parents: the form; its widest family must have fewer children than there are tokens.
        prompt: its length.
        vocab: tokens.
        draft: of `DRAFTS`.
        ordered: whether the model minds positions.
        last: whether the path ends at the last of the deepest nodes, or at the first; either by default.
        lure: which of these things the others hold, from 0 on; any by default.
        end: the node that the path ends at, -1 for none; one of the deepest by default.
        gap: between the two largest logits of each row; any by default.
    """
    seed = draw.integer(0, 2**53)
    ranked = scripted.ranking(seed, vocab, ordered, gap)
    start = [draw.integer(0, vocab - 1) for _ in range(prompt)]
    depth = depths(parents)
    ends = [node for node, level in enumerate(depth) if level == max(depth)]
    if end is None:
        end = -1 if not ends else ends[-1 if last else 0] if last is not None else ends[draw.integer(0, len(ends) - 1)]
    path = path_to(parents, end)
    kept = {"right": len(path), "wrong": 0, "half": len(path) // 2}.get(draft, draw.integer(0, len(path)))
    right = set(path[:kept])
    golden = decode((seed, vocab, ordered, gap, 0), tuple(start), max(depth, default=0) + 1)
    tokens: list[int] = []
    for node, parent in enumerate(parents):
        if node in right:
            tokens.append(golden[depth[node] - 1])
            continue
        taken = {tokens[one] for one in range(node) if parents[one] == parent}
        if parent in right or parent < 0:  # what greedy decoding takes here is another node's, or nobody's
            taken.add(golden[depth[node] - 1])
        line, kind = [tokens[one] for one in path_to(parents, parent)], draw.integer(0, NEXT) if lure is None else lure
        if kind < COUSINS:
            tempting = _tempting(kind, ranked, start, line, tokens, parents)
        else:
            tempting = golden[{COUSINS: depth[node] - 1, DEEPER: depth[node], NEXT: kept}[kind]]
        if tempting not in taken:
            tokens.append(tempting)
            continue
        free = [token for token in range(vocab) if token not in taken]
        tokens.append(free[draw.integer(0, len(free) - 1)])
    return Verification(seed, vocab, tuple(start), tuple(tokens), tuple(parents), ordered, gap)


def lured(draw: Draw, parents: Sequence[int], end: int, *, prompt: int, vocab: int) -> Verification:
    """A tree that is right down to a node, whose other nodes hold nothing that any row of the model names.

    After the right path the model takes neither the lowest nor the highest token, which an answer may fill paths with.

    Raises:
        LookupError: there is hardly such a tree.
    """
    for _ in range(TRIES):
        base = draw_tree(draw, parents, prompt=prompt, vocab=vocab, draft="right", ordered=False, end=end)
        golden, path = base.decoded(base.longest + 1), base.path
        plain = [draw.integer(0, vocab - 1) for _ in parents]
        tokens = tuple(base.tokens[node] if node in path else plain[node] for node in range(len(parents)))
        if golden[-1] in (0, vocab - 1):
            continue
        tree = replace(base, tokens=tokens)
        others = [token for node, token in enumerate(tokens) if node not in path]
        if len({*golden, *others}) == len(golden) + len(others) and not {*others} & {*tree.named}:
            return tree
    raise LookupError("no tree was drawn that fits")


def _tempting(
    kind: int, ranked: Callable[[list[int]], list[int]], start: list[int], before: list[int], tokens: list[int],
    parents: Sequence[int],
) -> int:  # fmt: skip
    """Return what the model takes after a path, its second choice there, or its choice after the slot before."""
    slot = [tokens[one] for one in path_to(parents, len(tokens) - 1)]
    return ranked([*start, *(before if kind < 2 else slot)])[kind % 2]


def ended_early(
    draw: Draw, parents: Sequence[int], *, prompt: int, vocab: int, draft: str, ordered: bool, next_token: str
) -> Verification:
    """A tree whose path ends at a leaf above the deepest, if there is one, where the model takes a certain token.

    Nodes off the path hold that token, too.

    Args:
        next_token: of `NEXT_TOKENS`, but for the first.
    """
    depth = depths(parents)
    ends = [node for node, level in enumerate(depth) if level < max(depth) and node not in parents]
    end = ends[draw.integer(0, len(ends) - 1)] if ends else None
    tree = draw_tree(draw, parents, prompt=prompt, vocab=vocab, draft=draft, ordered=ordered, lure=NEXT, end=end)
    return tree.renumbered(tree.wanted[-1], next_token)


def with_model(draw: Draw, verification: Verification, wanted: Callable[[Verification], bool]) -> Verification:
    """The same tree with another model, for which it is as wanted."""
    for _ in range(100):
        other = replace(verification, seed=draw.integer(0, 2**53))
        if wanted(other):
            return other
    raise LookupError("no model was drawn that fits")
