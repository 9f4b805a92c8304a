"""Oracle: beam search in long double, that tells how near any two candidates of a pool came to each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Beam = tuple[tuple[int, ...], np.longdouble, np.longdouble]
"""Generated tokens, their score, and the sum of their log-probabilities."""


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
        early: whether the search went on after as many beams had ended as are kept, one pushed out among them.
    """

    beams: tuple[tuple[tuple[int, ...], np.longdouble], ...]
    finished: tuple[bool, ...]
    calls: int
    steps: int
    gap: float
    outlived: bool
    displaced: bool
    early: bool


def search(
    model: Callable[[Sequence[Sequence[int]]], NDArray[np.float64]], prompt: Sequence[int], width: int, steps: int,
    alpha: float, eos: int,
) -> Expected:  # fmt: skip
    """One prompt, step by step; `model` gives a row of log-probabilities for each of several sequences."""
    kept: list[Beam] = [((), np.longdouble(0), np.longdouble(0))]
    calls, gap, outlived, displaced, taken = 0, np.inf, False, False, 0
    early, ended = False, set[tuple[int, ...]]()
    for length in range(1, steps + 1):
        done = [one for one in kept if one[0][-1:] == (eos,)]
        going = [one for one in kept if one[0][-1:] != (eos,)]
        if not going:
            break
        taken += 1
        calls += len(going)
        early |= len(ended) >= width
        logprobs = model([(*prompt, *tokens) for tokens, _, _ in going])
        best = (-logprobs).argsort(axis=1)[:, : 2 * width]
        rows = np.arange(len(going))[:, None]
        sums = np.array([total for _, _, total in going])[:, None] + logprobs[rows, best]
        pool = np.append([score for _, score, _ in done], sums / np.longdouble(length) ** np.longdouble(alpha))
        order = (-pool).argsort()
        order = order[pool[order] > -np.inf]
        ranked = pool[order]
        gap = min(gap, float((ranked[:-1] - ranked[1:]).min(initial=np.inf)))
        kept = []
        for place in order[:width].tolist():
            if place < len(done):
                kept.append(done[place])
                continue
            beam, rank = divmod(place - len(done), best.shape[1])
            kept.append(((*going[beam][0], int(best[beam, rank])), pool[place], sums[beam, rank]))
        held = {tokens for tokens, _, _ in kept}
        ended |= {tokens for tokens in held if tokens[-1] == eos}
        outlived |= any(tokens in held for tokens, _, _ in done)
        displaced |= any(tokens not in held for tokens, _, _ in done)
    beams = tuple((tokens, score) for tokens, score, _ in kept)
    finished = tuple(tokens[-1] == eos for tokens, _ in beams)
    return Expected(beams, finished, calls, taken, gap, outlived, displaced, early)
