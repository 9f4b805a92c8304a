"""When faults made by machine act, and calls that meet it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.probing import Answer, Draw
from harness.probing.guards import Driver, Guard, Guards

from .drawing import DRAFTS, draw_tree
from .probes_conduct import generated
from .probes_verify import compare_mask, grown

Parents = Callable[[Draw, int], tuple[int, ...]]


def over(draw: Draw, t: int) -> int:
    """A size above t."""
    return t + draw.integer(1, 3)


def chain(draw: Draw, t: int) -> tuple[int, ...]:
    """A chain of more than t nodes, with siblings before some of them."""
    parents: list[int] = []
    last = -1
    for _ in range(over(draw, t)):
        if draw.integer(0, 2) == 0:
            parents.append(last)
        parents.append(last)
        last = len(parents) - 1
    return tuple(parents)


def chain_of_any(draw: Draw, t: int) -> tuple[int, ...]:
    """A plain chain."""
    return tuple(range(-1, draw.integer(1, 7)))


def family(draw: Draw, t: int) -> tuple[int, ...]:
    """A family of more than t, and what hangs on it."""
    count = over(draw, t)
    return (*[-1] * count, *(draw.integer(0, count - 1) for _ in range(4)))


def sized(count: Callable[[Draw, int], int]) -> Parents:
    """A tree of so many nodes, of any form."""
    return lambda draw, t: grown(draw, ("random", "deep", "interleaved")[draw.integer(0, 2)], count(draw, t), 40)


def driver(parents: Parents | None = None, **wanted: Any) -> Driver:
    """A driver of calls of the trees and sizes wanted; what is left open is drawn."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for draft in DRAFTS:
            tree = (parents or sized(lambda draw, t: draw.integer(1, 14)))(draw, t)
            prompt = wanted["prompt"](draw, t) if "prompt" in wanted else draw.integer(1, 8)
            compare_mask(answer, prompt, tree)
            vocab = draw.integer(max(24, len(tree) + 2), max(24, len(tree) + 2) + 9)
            draw_tree(draw, tree, prompt=prompt, vocab=vocab, draft=draft, ordered=True).judge(answer)

    return drive


def everything(answer: Answer, draw: Draw, t: int) -> None:
    """Masks, verifications, and decoding with a draft."""
    driver()(answer, draw, t)
    decoding(answer, draw, t)


def decoding(answer: Answer, draw: Draw, t: int) -> None:
    """Decoding with drafts, of more than t tokens."""
    for draft in ("right", "mixed", "half", "none"):
        start = draw_tree(draw, (), prompt=draw.integer(1, 6), vocab=15, draft="right", ordered=True)
        generated(answer, draw, start, draft, draw.integer(1, 5), over(draw, t) + 4)


def many(answer: Answer, draw: Draw, t: int) -> None:
    """More than t verifications in one process."""
    for _ in range(t // len(DRAFTS) + 2):
        driver()(answer, draw, t)


GUARDS = Guards(
    (
        Guard("always", everything),
        Guard("prompt > t", driver(prompt=over), "prompt > {t}", low=1, high=48),
        Guard("prompt of one", driver(prompt=lambda draw, t: 1), "prompt == 1"),
        Guard("nodes > t", driver(sized(over)), "nodes > {t}", low=1, high=48),
        Guard("depth > t", driver(chain), "depth > {t}", low=1, high=12),
        Guard("a family of more than t", driver(family), "widest > {t}", low=1, high=8),
        Guard("more than t roots", driver(family), "roots > {t}", low=1, high=8),
        Guard("one root", driver(chain_of_any), "roots == 1"),
        Guard("no tree", driver(lambda draw, t: ()), "nodes == 0"),
        Guard("children away from their parents", driver(family), "apart"),
        Guard("only chains", driver(chain_of_any), "nodes and not apart"),
        Guard("after t calls", many, "calls > {t}", low=1, high=30),
        Guard("more than t tokens wanted", decoding, "wanted > {t}", low=1, high=6),
        Guard("t-th time in a call", driver(chain), place="visit == {t}", low=2, high=8),
        Guard("past the t-th time in a call", driver(chain), place="visit > {t}", low=2, high=8),
        Guard("one row of t", driver(), element="row % {t} == {t} - 1", low=2, high=8),
        Guard("columns past t", driver(sized(over)), element="feature > {t}", low=2, high=30),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=frozenset({"check", "checked"}),
)  # fmt: skip
