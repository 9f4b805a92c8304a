"""When faults made by machine act, and searches that meet it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.probing import Answer, Draw
from harness.probing.guards import Driver, Guard, Guards

from .searches import Search, redrawn

Sizes = Callable[[Draw, int], int]


def over(draw: Draw, t: int) -> int:
    """A size above t."""
    return t + draw.integer(1, 3)


def driver(**wanted: Any) -> Driver:
    """A driver that makes searches of the sizes and settings wanted; what is left open is drawn."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for ends in ("frequent", "even"):
            searched(draw, t, {"ends": ends, **wanted}).judge(answer)

    return drive


def searched(draw: Draw, t: int, wanted: dict[str, Any]) -> Search:
    """A search of the sizes wanted."""
    given = {name: value(draw, t) if callable(value) else value for name, value in wanted.items()}
    vocab = given.get("vocab", draw.integer(4, 24))
    count = given.get("prompts", draw.integer(1, 4))
    longest = given.get("length", draw.integer(2, 8))
    lengths = [longest, *(draw.integer(1, longest) for _ in range(count - 1))]
    prompts = [tuple(draw.integer(0, vocab - 1) for _ in range(length)) for length in lengths]
    eos = given.get("eos", draw.integer(0, vocab - 1))
    if given.get("inside"):
        prompts[0] = (*prompts[0], eos)
    if given.get("twice"):
        prompts.append(prompts[0])
    search = Search(
        0, vocab, tuple(prompts), given.get("width", draw.integer(1, 6)), given.get("steps", draw.integer(2, 7)),
        given.get("alpha", (0.0, 0.6, 1.5)[draw.integer(0, 2)]), eos, given["ends"], 1.0,
    )  # fmt: skip
    while True:
        try:
            return redrawn(draw, search, tries=12)
        except LookupError:  # long beams under a strong penalty score alike
            search = replace(search, alpha=search.alpha / 2)


def many(answer: Answer, draw: Draw, t: int) -> None:
    """More than t searches in one process."""
    for _ in range(t + 3):
        searched(draw, t, {"ends": "even"}).judge(answer)


def often(answer: Answer, draw: Draw, t: int) -> None:
    """Searches in which a line runs more than t times."""
    searched(draw, t, {"ends": "even", "width": 6, "steps": 6, "prompts": 3}).judge(answer)
    searched(draw, t, {"ends": "rare", "width": 3, "steps": 10, "alpha": 0.6}).judge(answer)


GUARDS = Guards(
    (
        Guard("always", driver()),
        Guard("K > t", driver(width=over, vocab=30), "width > {t}", low=1, high=6),
        Guard("K is t", driver(width=lambda draw, t: t), "width == {t}", low=1, high=8),
        Guard("steps > t", driver(steps=over, width=2, prompts=1, alpha=0.0), "steps > {t}", low=2, high=16),
        Guard("vocabulary > t", driver(vocab=over), "vocab > {t}", low=2, high=50),
        Guard("EOS > t", driver(vocab=64, eos=over), "eos > {t}", low=1, high=40),
        Guard("EOS is 0", driver(eos=0), "eos == 0"),
        Guard("prompts > t", driver(prompts=over, width=2), "prompts > {t}", low=1, high=9),
        Guard("longest prompt > t", driver(length=over), "longest > {t}", low=1, high=48),
        Guard("prompts of different lengths", driver(prompts=4), "ragged"),
        Guard("a prompt twice", driver(twice=True), "twice"),
        Guard("EOS inside a prompt", driver(inside=True), "eos_inside"),
        Guard("no penalty", driver(alpha=0.0), "alpha == 0"),
        Guard("alpha > 0", driver(alpha=0.6), "alpha > 0"),
        Guard("alpha > 1", driver(alpha=1.5), "alpha > 1"),
        Guard("K over the vocabulary", driver(vocab=3, width=5, steps=3), "width > vocab"),
        Guard("2 K over the vocabulary", driver(vocab=7, width=5), "2 * width > vocab"),
        Guard("one step", driver(steps=1), "steps == 1"),
        Guard("after t searches", many, "calls > {t}", low=1, high=20),
        Guard("t-th time in a call", often, place="visit == {t}", low=2, high=24),
        Guard("past the t-th time in a call", often, place="visit > {t}", low=2, high=24),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=frozenset({"check"}),
)  # fmt: skip
