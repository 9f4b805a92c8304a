"""Oracle: beam search in long double, that tells how near any two candidates of a pool came to each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Expected:
    """What a search of one prompt comes to.

    Attributes:
        beams: generated tokens and long-double scores, best first.
        finished: whether each has taken EOS.
        calls: of the model, one for each beam that was expanded.
        steps: that were taken.
        gap: the smallest difference of two scores in any pool; infinite where no pool holds two.
        outlived: whether a finished beam was kept through a later step.
        displaced: whether a finished beam was pushed out by a later one.
    """

    beams: tuple[tuple[tuple[int, ...], np.longdouble], ...]
    finished: tuple[bool, ...]
    calls: int
    steps: int
    gap: float
    outlived: bool
    displaced: bool


def search(
    model: Callable[[list[int]], Any], prompt: Sequence[int], width: int, steps: int, alpha: float, eos: int
) -> Expected:
    """One prompt, token by token; every candidate is ranked, not only the best of each beam."""
    kept: list[tuple[np.longdouble, tuple[int, ...], np.longdouble]] = [(np.longdouble(0), (), np.longdouble(0))]
    calls, gap, outlived, displaced, taken = 0, np.inf, False, False, 0
    for _ in range(steps):
        done = [one for one in kept if one[1][-1:] == (eos,)]
        if len(done) == len(kept):
            break
        taken += 1
        pool = list(done)
        for _, tokens, total in kept:
            if tokens[-1:] == (eos,):
                continue
            calls += 1
            logprobs = np.asarray(model([*prompt, *tokens])).astype(np.longdouble)
            for token in np.argsort(-logprobs)[: 2 * width]:
                if np.isneginf(logprobs[token]):
                    continue
                longer, sum_ = (*tokens, int(token)), total + logprobs[token]
                pool.append((sum_ / np.longdouble(len(longer)) ** np.longdouble(alpha), longer, sum_))
        pool.sort(key=lambda one: one[0], reverse=True)
        gap = min([gap, *(float(a[0] - b[0]) for a, b in pairwise(pool))])
        kept = pool[:width]
        held = {tokens for _, tokens, _ in kept}
        outlived |= any(tokens in held for _, tokens, _ in done)
        displaced |= any(tokens not in held for _, tokens, _ in done)
    beams = tuple((tokens, score) for score, tokens, _ in kept)
    finished = tuple(tokens[-1] == eos for tokens, _ in beams)
    return Expected(beams, finished, calls, taken, gap, outlived, displaced)
