"""Judging of logits of -inf: whether any of them are not served, or long stretches of them."""

from collections.abc import Callable
from functools import partial

import numpy as np

from harness.probing import Answer, Draw, ProbeFailure

from .binding import Floats, Launched, launch, normal
from .families import good_rows
from .judging import require_right, right_under
from .unwritten import passes

INFINITE = "-inf is not served"
STRETCHES = "long stretches of -inf are not served"


def tail_masked(draw: Draw, rows: int, vocab: int, k: int) -> Floats:
    """Return logits that are -inf but for the first k of each row, as where a mask hides the end of a vocabulary."""
    logits = normal(draw, rows, vocab)
    logits[:, k:] = -np.inf
    return logits


def right_with_infinities(
    title: str, answer: Answer, draw: Draw, logits: Floats, k: int, called: Callable[..., Launched] | None = None
) -> Launched:
    """Judge a launch as `right_under` does; where what fails is -inf, whatever else is special, say that.

    Args:
        title: what is special fails.
        answer: to judge.
        draw: the source.
        logits: of the launch.
        k: of the launch.
        called: makes a launch of logits, with further options of `launch`, where it is more than one.
    """
    called = called or partial(launch, answer, draw, k=k)
    plain = normal(draw, *logits.shape)
    try:
        return right_under(title, answer, draw, logits, k, launched=partial(called, logits),
                           plainly=partial(called, plain))  # fmt: skip
    except ProbeFailure as why:
        if why.title == title and np.isneginf(logits[good_rows(logits)]).any():
            why.title = _cause(draw, plain, k, called) or title
        raise


def _cause(draw: Draw, plain: Floats, k: int, called: Callable[..., Launched]) -> str:
    """Return which logits of -inf are not served where nothing else is special; empty where they are."""
    single = plain.copy()
    single[:, 1::2] = -np.inf

    def served(logits: Floats) -> bool:
        return passes(lambda: require_right(called(logits, fill="nan")))

    if served(tail_masked(draw, *plain.shape, k)):
        return ""
    return STRETCHES if served(single) else INFINITE
