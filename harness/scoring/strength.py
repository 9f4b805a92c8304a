"""Strength of models by the duels they won, and certainty of their order.

Strengths follow Bradley and Terry: i beats j with probability 1 / (1 + exp(s_j - s_i)), a split counting half for each.
Every model also has one draw with a phantom of strength 0, which keeps the strength of an undefeated or winless model
finite. Challenges are resampled rather than duels, as results on one challenge are correlated.
"""

import math
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.scoring.memory import NO_MEMORY, FigureMemory, Floats

DRAWS = 1000
"""Bootstrap draws of the challenges."""
STABLE = 0.8
"""Share of draws in which a model must lead another to count as better."""
_LARGEST_STEP = 3.0
_CLOSE = 1e-9
_STEPS = 200


def strengths(wins: Floats) -> Floats:
    """Return maximum-likelihood strengths, (models,) in natural units relative to the phantom's 0.

    Args:
        wins: (models, models), wins of the row's model over the column's; halves for splits.

    Raises:
        ValueError: `wins` is not square, or has negative or non-finite entries.
    """
    if wins.ndim != 2 or wins.shape[0] != wins.shape[1]:
        raise ValueError(f"wins must be (models, models), not {wins.shape}")
    if not np.isfinite(wins).all() or (wins < 0).any():
        raise ValueError("wins must be finite and not negative")
    won = wins.sum(axis=1) + 0.5
    played = wins + wins.T
    np.fill_diagonal(played, 0.0)
    won -= np.diag(wins)
    found = np.zeros(len(wins))
    for _ in range(_STEPS):
        # Newton's step on a concave likelihood; the phantom keeps the matrix regular
        chances = _logistic(found[:, None] - found[None, :])
        alone = _logistic(found)
        slope = won - (played * chances).sum(axis=1) - alone
        weights = played * chances * (1.0 - chances)
        curvature = np.diag(weights.sum(axis=1) + alone * (1.0 - alone)) - weights
        step = np.linalg.solve(curvature, slope)
        largest = float(np.abs(step).max(initial=0.0))
        found = found + step * min(1.0, _LARGEST_STEP / largest if largest else 1.0)
        if largest < _CLOSE:
            break
    return found


def elo(strength: float) -> float:
    """Convert a strength to the Elo scale: 400 points are odds of ten to one, the phantom has 1000."""
    return 1000.0 + 400.0 / math.log(10.0) * strength


class AttemptMarks(NamedTuple):
    """Marks of several attempts behind one mean mark.

    Attributes:
        model, challenge: row and column of the mean.
        seed: seed of their draws, unique to model and challenge.
    """

    model: int
    challenge: int
    marks: tuple[float, ...]
    seed: int


def draw_means(
    marks: Floats, attempts: Iterable[AttemptMarks] = (), draws: int = DRAWS, memory: FigureMemory = NO_MEMORY
) -> Floats:
    """Return (models, draws), mean marks over challenges resampled with replacement.

    Attempts are resampled within the drawn challenges, both stages with replacement (Davison and Hinkley, Bootstrap
    methods and their application, 1997, section 3.8): for a challenge drawn k times, its n attempts are drawn k times.

    Args:
        marks: (models, challenges), finite; means where there are several attempts.
        draws: number of draws, which are equal for equal numbers of challenges.
    """
    count = marks.shape[1]
    draw = np.random.default_rng(0)
    taken = draw.multinomial(count, np.full(count, 1.0 / count), size=draws) if count else np.zeros((draws, 0))
    totals = marks @ taken.T
    for several in attempts:
        mean = marks[several.model, several.challenge]
        given = np.array([count, several.challenge, draws, several.seed, mean, *several.marks])
        find = partial(_compute_shift, several, taken[:, several.challenge].astype(int), mean)
        totals[several.model] += memory.recall(f"draws {count} {several.seed}", given, find)
    # rounded, so that sums of the same marks in another order are equal
    means: Floats = np.round(totals / max(count, 1), 9)
    return means


def _compute_shift(several: AttemptMarks, times: NDArray[np.int_], mean: float) -> Floats:
    """Return (draws,), the change of a total by resampled attempts."""
    own = np.array(several.marks)
    drawn = np.random.default_rng(several.seed).integers(len(own), size=(times.sum(), len(own)), dtype=np.int32)
    sums = np.append(0.0, np.cumsum(own[drawn].mean(axis=1)))[np.append(0, np.cumsum(times))]
    gained: Floats = np.diff(sums) - times * mean
    return gained


@lru_cache(64)
def draw_weights(count: int, draws: int = DRAWS, stream: int = 0) -> Floats:
    """Return (draws, count), read-only weights of rows that sum to 1, of values resampled with replacement.

    Args:
        stream: random stream; equal streams and counts give equal draws.
    """
    draw = np.random.default_rng([stream, count])
    weights: Floats = draw.multinomial(count, np.full(count, 1.0 / count), size=draws) / count
    weights.flags.writeable = False
    return weights


def rank_chances(means: Floats) -> Floats:
    """Return (models, models), the frequency of each rank by model, best first, from (models, draws) mean marks.

    Equal means share the better rank.
    """
    ordered = np.sort(-means, axis=0)
    places = np.stack([np.searchsorted(o, -m) for o, m in zip(ordered.T, means.T, strict=True)], axis=1)
    chances: Floats = np.zeros((len(means), len(means)))
    models = np.broadcast_to(np.arange(len(means))[:, None], places.shape)
    np.add.at(chances, (models, places), 1.0)
    chances /= means.shape[1]
    return chances


def ahead(means: Floats, model: int) -> Floats:
    """Return (models,), the share of (models, draws) means in which `model` leads each model; ties count half."""
    shares: Floats = (means[model] > means).mean(axis=1) + 0.5 * (means[model] == means).mean(axis=1)
    return shares


def _logistic(x: Floats) -> Floats:
    # tanh never overflows
    chances: Floats = 0.5 * (1.0 + np.tanh(0.5 * x))
    return chances
