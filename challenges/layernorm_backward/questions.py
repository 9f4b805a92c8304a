"""The pairs on which an answer's own gradient check is tried: which functions, which faults, and where, all drawn.

Beside layer norm the pairs differentiate other normalisations, so that no formula knows their gradients; and some keep
layer norm's gradients for a forward that is another function.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harness.probing import Answer, Draw, Keep, RemoteObject

from . import planted
from .binding import Floats, Inputs

SOURCE = Path(planted.__file__).read_text(encoding="utf-8")
FAULTS = (
    "mean_term_missing", "mean_term_scaled", "projection_missing", "projection_scaled", "rstd_missing", "dx_scaled",
    "dx_element_off", "dx_row_scaled", "dgamma_element_off", "dgamma_of_one_row_missing", "dbeta_averaged",
    "dbeta_element_off", "dgamma_dbeta_swapped",
)  # fmt: skip
REAL_FAULTS = ("mean_term_missing", "dx_element_negated", "dx_row_half_more", "dgamma_element_negated")
"""Those asked about at a realistic size; one element is of ordinary size, not the largest."""
SLIGHT = 0.02
"""How far off a slight fault is, over the gradient's largest entry: above the tolerance of any ordinary check, 1e-3 or
less, by every seed."""
STRANGE = "layer_norm_of_another_forward"
"""The wrong pair whose gradients are layer norm's, and whose forward is not."""
ALIKE = 3
"""Such pairs in each round; a check that knows layer norm by heart can only guess which they are."""
RIGHT = ("layer_norm",) * 2 + ("other_norm",) * (ALIKE + 1)
"""The functions of the right pairs in each round."""


class Gradients(NamedTuple):
    """dx (B,T,D), dgamma (D,), dbeta (D,)."""

    dx: Floats
    dgamma: Floats
    dbeta: Floats


@dataclass(frozen=True)
class Question:
    """One pair, and the point at which it is asked about.

    Attributes:
        name: of its function or fault.
        right: whether backward belongs to forward.
        given: the point.
        numbers: what `planted.pair` builds it from.
        off: how far off a gradient is at the point, over the largest entry of each.
    """

    name: str
    right: bool
    given: Inputs
    numbers: tuple[Floats, ...]
    off: float = 0.0

    def pair(self, answer: Answer, *, fresh: bool = True) -> tuple[RemoteObject, RemoteObject]:
        """The pair; where it is to be `fresh`, in a worker that has seen no other."""
        if fresh:
            answer.fresh()
        answer.load("planted", SOURCE)
        returns = (Keep(), Keep())
        kept: tuple[RemoteObject, RemoteObject] = answer.call("pair", *self.numbers, returns=returns, module="planted")
        return kept


def right_question(draw: Draw, given: Inputs, function: str) -> Question:
    """A right pair of layer norm or of another normalisation."""
    weights = weights_of(draw, given, function)
    return Question(function, True, given, (weights, weights, *parts(draw, given, None), twist(draw)))


def questions(draw: Draw, given: Inputs, wrong: Sequence[str]) -> Iterator[Question]:
    """The right pairs, and the wrong ones named, in random order."""
    asked = [right_question(draw, given, function) for function in RIGHT]
    asked += [
        _strange_question(draw, given) if name == STRANGE else wrong_question(draw, given, name) for name in wrong
    ]
    return (asked[place] for place in draw.permutation(len(asked)))


def _strange_question(draw: Draw, given: Inputs) -> Question:
    norms = (weights_of(draw, given, "other_norm"), weights_of(draw, given, "layer_norm"))
    return Question(STRANGE, False, given, (*norms, *parts(draw, given, None), twist(draw)))


def wrong_question(draw: Draw, given: Inputs, fault: str) -> Question:
    """A pair with the fault named, of a function that is drawn."""
    weights = weights_of(draw, given, str(draw.rng.choice(RIGHT)))
    right, wrong = _gradients(given, weights), _faulty(draw, given, weights)[fault]
    factors = Gradients(*(after / before for before, after in zip(right, wrong, strict=True)))
    off = max(float(abs(after - before).max() / abs(before).max()) for before, after in zip(right, wrong, strict=True))
    return Question(fault, False, given, (weights, weights, *parts(draw, given, factors), twist(draw)), off)


def real_questions(draw: Draw, given: Inputs) -> Iterator[Question]:
    """The pairs with `REAL_FAULTS`, each right wherever dy has fewer elements than at the point."""
    for name in REAL_FAULTS:
        question = wrong_question(draw, given, name)
        yield replace(question, numbers=(*question.numbers[:-1], twist(draw, fewest=given.dy.size)))


def mended(draw: Draw, question: Question) -> Question:
    """The pair of a question without its fault, at the same point."""
    weights = question.numbers[0]
    numbers = (weights, weights, *parts(draw, question.given, None), twist(draw))
    return Question(f"{question.name}, mended", True, question.given, numbers)


def weights_of(draw: Draw, given: Inputs, function: str) -> Floats:
    """Weights (2,D) of mean and spread: all 1/D for layer norm, otherwise near that."""
    features = given.x.shape[-1]
    if function == "layer_norm":
        return np.full((2, features), 1.0 / features)
    return draw.uniform(2, features, low=0.6, high=1.4) * np.array([[draw.rng.uniform(0.5, 0.9)], [1.0]]) / features


def parts(draw: Draw, given: Inputs, factors: Gradients | None) -> Iterator[Floats]:
    """For each gradient two shares, drawn so that they add up to its factor: 1 without a fault."""
    for factor in factors or (np.ones_like(given.x), np.ones_like(given.gamma), np.ones_like(given.beta)):
        share = draw.uniform(*factor.shape, low=0.2, high=0.8)
        yield np.stack((share, factor - share))


def twist(draw: Draw, **changes: float) -> Floats:
    """The last argument of `planted.pair`: a drawn layout of the cache, and nothing wrong but what `changes` names."""
    row = float(draw.integer(0, 7))
    layout = float(draw.integer(0, 3))
    plain = {"layout": layout, "one": row, "other": row, "blend": 0.0, "level": np.inf, "fewest": 0.0, "missing": -1.0}
    return np.array(list({**plain, **changes}.values()))


def _gradients(given: Inputs, weights: Floats) -> Gradients:
    xhat, std = planted.standardised(given.x, weights, given.eps)
    flow, projection, mean_term = planted.terms(given.dy * given.gamma, xhat, std, weights)
    return Gradients(flow - projection - mean_term, (given.dy * xhat).sum(axis=(0, 1)), given.dy.sum(axis=(0, 1)))


def _faulty(draw: Draw, given: Inputs, weights: Floats) -> dict[str, Gradients]:
    """The gradients with one fault each, wrong for any x with B*T > 1 and D > 1; sizes and places are drawn."""
    xhat, std = planted.standardised(given.x, weights, given.eps)
    flow, projection, mean_term = planted.terms(given.dy * given.gamma, xhat, std, weights)
    right = _gradients(given, weights)
    dx, dgamma, dbeta = right
    rows, row = given.x[..., 0].size, _place(draw, given.x[..., 0])
    unprojected = flow - weights[0] * flow.sum(axis=-1, keepdims=True)
    return {
        "mean_term_missing": right._replace(dx=flow - projection),
        "mean_term_scaled": right._replace(dx=_off(draw, dx, mean_term)),
        "projection_missing": right._replace(dx=unprojected),
        "projection_scaled": right._replace(dx=_off(draw, dx, projection)),
        "rstd_missing": right._replace(dx=dx * std),
        "dx_scaled": right._replace(dx=_off(draw, dx, dx)),
        "dx_element_off": right._replace(dx=_off_at(draw, dx, _place(draw, dx))),
        "dx_row_scaled": right._replace(dx=_off_at(draw, dx, row)),
        "dgamma_element_off": right._replace(dgamma=_off_at(draw, dgamma, _place(draw, dgamma))),
        "dgamma_of_one_row_missing": right._replace(dgamma=dgamma - given.dy[row] * xhat[row]),
        "dbeta_averaged": right._replace(dbeta=dbeta / rows),
        "dbeta_element_off": right._replace(dbeta=_off_at(draw, dbeta, _place(draw, dbeta))),
        "dgamma_dbeta_swapped": right._replace(dgamma=dbeta, dbeta=dgamma),
        "dx_element_negated": right._replace(dx=_times(dx, _ordinary(dx), -1.0)),
        "dx_row_half_more": right._replace(dx=_times(dx, row, 1.5)),
        "dgamma_element_negated": right._replace(dgamma=_times(dgamma, _ordinary(dgamma), -1.0)),
    }


def _place(draw: Draw, values: Floats) -> tuple[int, ...]:
    """Return the index of any element."""
    return tuple(draw.integer(0, length - 1) for length in values.shape)


def _ordinary(values: Floats) -> tuple[int, ...]:
    """Return the index of the element whose size is nearest to the root of the mean square."""
    size = np.sqrt((values * values).mean())
    return tuple(map(int, np.unravel_index(np.argmin(abs(abs(values) - size)), values.shape)))


def _times(values: Floats, place: tuple[int, ...], factor: float) -> Floats:
    """Return values with one element or row times a factor."""
    changed = values.copy()
    changed[place] *= factor
    return changed


def _off(draw: Draw, values: Floats, along: Floats) -> Floats:
    """Return values that are off by a multiple of an array, where it is largest by `SLIGHT` of their largest."""
    return values + draw.signs() * SLIGHT * abs(values).max() / abs(along).max() * along


def _off_at(draw: Draw, values: Floats, place: tuple[int, ...]) -> Floats:
    """Return values that are off in one element or row only."""
    along = np.zeros_like(values)
    along[place] = values[place]
    return _off(draw, values, along)
