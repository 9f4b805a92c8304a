"""How strong models are by the duels they won, and how sure their order is.

Strengths are those of Bradley and Terry: i beats j with probability 1 / (1 + exp(s_j - s_i)), a split counting half for
each. Every model also draws once with a phantom of strength 0; without it, the strength of an undefeated or winless
model would be infinite. How sure an order is comes from drawing the challenges anew: results on one challenge hang
together, so it is challenges that are drawn and never single duels; where a model has several attempts at a challenge,
they are drawn anew as well, each time the challenge is.
"""

import math
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.scoring.memory import NO_MEMORY, FigureMemory, Floats

DRAWS = 1000
"""How often the challenges are drawn anew."""
STABLE = 0.8
"""Share of the draws in which one must lie ahead of another to count as better."""
_LARGEST_STEP = 3.0
_CLOSE = 1e-9
_STEPS = 200


def strengths(wins: Floats) -> Floats:
    """Strengths of most likelihood, in natural units; 0 is the phantom's.

    Args:
        wins: (models, models), times the one of the row beat the one of the column; halves for splits.

    Returns:
        (models,).

    Raises:
        ValueError: `wins` is no square, or holds what is negative or not finite.
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
    """A strength on the scale of Elo: 400 points are odds of ten to one, 1000 is the phantom."""
    return 1000.0 + 400.0 / math.log(10.0) * strength


class AttemptMarks(NamedTuple):
    """The marks of several attempts behind one mean mark.

    Attributes:
        model, challenge: row and column of the mean.
        marks: of each attempt.
        seed: of their draws; another one for each model and challenge.
    """

    model: int
    challenge: int
    marks: tuple[float, ...]
    seed: int


def drawn_means(
    marks: Floats, attempts: Iterable[AttemptMarks] = (), draws: int = DRAWS, memory: FigureMemory = NO_MEMORY
) -> Floats:
    """Mean marks when the challenges are drawn anew: as many as there are, with repetition.

    Attempts are drawn within the challenges drawn, in both stages with repetition (Davison and Hinkley, Bootstrap
    methods and their application, 1997, section 3.8): a challenge that is drawn k times has n attempts drawn k times.

    Args:
        marks: (models, challenges), every one of them a number; the mean where there are several attempts.
        attempts: where there are.
        draws: how often; the same draws for the same number of challenges.
        memory: of what drawing attempts came to.

    Returns:
        (models, draws).
    """
    count = marks.shape[1]
    draw = np.random.default_rng(0)
    taken = draw.multinomial(count, np.full(count, 1.0 / count), size=draws) if count else np.zeros((draws, 0))
    totals = marks @ taken.T
    for several in attempts:
        mean = marks[several.model, several.challenge]
        given = np.array([count, several.challenge, draws, several.seed, mean, *several.marks])
        find = partial(_shift, several, taken[:, several.challenge].astype(int), mean)
        totals[several.model] += memory.recall(f"draws {count} {several.seed}", given, find)
    # rounded, so that sums of the same marks in another order are equal
    means: Floats = np.round(totals / max(count, 1), 9)
    return means


def _shift(several: AttemptMarks, times: NDArray[np.int_], mean: float) -> Floats:
    """(draws,): what a total gains when the attempts are drawn anew, each time the challenge is."""
    own = np.array(several.marks)
    drawn = np.random.default_rng(several.seed).integers(len(own), size=(times.sum(), len(own)), dtype=np.int32)
    sums = np.append(0.0, np.cumsum(own[drawn].mean(axis=1)))[np.append(0, np.cumsum(times))]
    gained: Floats = np.diff(sums) - times * mean
    return gained


@lru_cache(64)
def resampled(count: int, draws: int = DRAWS, stream: int = 0) -> Floats:
    """Weights of `count` answers when they are drawn anew, as many as there are, with repetition.

    Args:
        count: how many there are.
        draws: how often.
        stream: the same draws for the same stream and count.

    Returns:
        (draws, count), each row of sum 1.
    """
    draw = np.random.default_rng([stream, count])
    weights: Floats = draw.multinomial(count, np.full(count, 1.0 / count), size=draws) / count
    weights.flags.writeable = False
    return weights


def rank_chances(means: Floats) -> Floats:
    """How often each model comes to each rank of (models, draws) mean marks.

    Returns:
        (models, models), share of the draws by model and rank, the first rank first. Equal means share the better rank.
    """
    ordered = np.sort(-means, axis=0)
    places = np.stack([np.searchsorted(o, -m) for o, m in zip(ordered.T, means.T, strict=True)], axis=1)
    chances: Floats = np.zeros((len(means), len(means)))
    models = np.broadcast_to(np.arange(len(means))[:, None], places.shape)
    np.add.at(chances, (models, places), 1.0)
    chances /= means.shape[1]
    return chances


def ahead(means: Floats, model: int) -> Floats:
    """How often one model's mean, of (models, draws), lies above that of each model, of equal ones half; (models,)."""
    shares: Floats = (means[model] > means).mean(axis=1) + 0.5 * (means[model] == means).mean(axis=1)
    return shares


def _logistic(x: Floats) -> Floats:
    # by its hyperbolic tangent, which never overflows
    chances: Floats = 0.5 * (1.0 + np.tanh(0.5 * x))
    return chances
