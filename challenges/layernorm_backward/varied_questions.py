"""Pairs, right, plainly wrong and not finite, at every kind of point: odd shapes, zeros, dy of any size.

Pairs are asked about in float64: at float32 the steps of honest differences drown in rounding.

Every fault here is large, so that no tolerance excuses it: what is asked is whether a check looks there at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.probing import Draw

from .binding import Inputs, draw_inputs
from .questions import Gradients, Question, parts, twist, weights_of

DX, DGAMMA, DBETA = "dx", "dgamma", "dbeta"
PLACE, GAMMA, ZERO, NAN = "one place", "gamma", "zero", "NaN"
MISSED = {
    DX: "the check accepts every tried pair whose dx is finite and wrong",
    DGAMMA: "the check accepts every tried pair whose dgamma is finite and wrong",
    DBETA: "the check accepts every tried pair whose dbeta is finite and wrong",
    PLACE: "the check accepts every tried pair that is finite, and wrong at one place",
    GAMMA: "the check accepts every tried pair that is right only where gamma is 1",
    ZERO: "the check accepts gradients that are all zero",
    NAN: "the check accepts gradients that hold NaN",
}
"""What is said of a check that misses all faults of a group."""
EVEN = "one dy for a whole row, and gamma of ones"
"""Where dx is nothing but rounding, as it is of the sum of all outputs of a new layer."""
UNLIKE = "rows of unlike spread"
RIGHT_POINTS = (
    "zero rows of dy", "no dy", EVEN, "dy near 1e-30", "dy near 1e30", "one feature", "one row", "odd shape", UNLIKE,
)  # fmt: skip
SCALES = {"dy near 1e-30": 1e-30, "dy near 1e-3": 1e-3, "dy near 1e30": 1e30}
"""What dy is multiplied by. Faults are shown where an ordinary absolute tolerance, of 1e-5 or so, sees them, and the
title of `catches_planted` says so."""
WHOLE = {"negated": -1.0, "zero": 0.0, "infinite": np.inf}
ELEMENT = {"element_nan": np.nan, "element_infinite": np.inf}
"""What every entry of a gradient, or one, is multiplied by."""


@dataclass(frozen=True)
class Fault:
    """A plain fault: its name, the groups it belongs to, and the kind of point it is shown at."""

    name: str
    groups: tuple[str, ...] = ()
    point: str = "ordinary dy"


FAULTS = (
    Fault("dx_negated", (DX,)),
    Fault("dx_row_scaled", (DX, PLACE)),
    Fault("dx_last_element_dropped", (DX, PLACE)),
    Fault("dx_rows_exchanged", (DX,)),
    Fault("dx_zero", (DX, ZERO)),
    Fault("dgamma_negated", (DGAMMA,)),
    Fault("dgamma_element_scaled", (DGAMMA, PLACE)),
    Fault("dgamma_last_element_dropped", (DGAMMA, PLACE)),
    Fault("dgamma_zero", (DGAMMA, ZERO)),
    Fault("dbeta_negated", (DBETA,)),
    Fault("dbeta_element_scaled", (DBETA, PLACE)),
    Fault("dbeta_last_element_dropped", (DBETA, PLACE)),
    Fault("dbeta_zero", (DBETA, ZERO)),
    Fault("gamma_left_out_of_dx", (GAMMA,)),
    Fault("gamma_half_left_out_of_dx", (GAMMA,)),
    Fault("large_dy_cut"),
    Fault("gradients_nan"),
    Fault("dx_element_nan", (NAN,)),
    Fault("dgamma_element_nan", (NAN,)),
    Fault("dbeta_element_nan", (NAN,)),
    Fault("dx_infinite"),
    Fault("dx_element_infinite"),
    Fault("y_element_nan"),
    Fault("dx_negated", point="dy near 1e-3"),
    Fault("dgamma_negated", point="dy near 1e30"),
)


def right_questions(draw: Draw) -> Iterator[Question]:
    """Right pairs, one at every kind of point."""
    for place in draw.permutation(len(RIGHT_POINTS)):
        point = RIGHT_POINTS[place]
        given = _point(draw, point)
        function = "layer_norm" if point == EVEN else ("layer_norm", "other_norm")[draw.integer(0, 1)]
        weights = weights_of(draw, given, function)
        yield Question(point, True, given, (weights, weights, *parts(draw, given, None), twist(draw)))


def wrong_questions(draw: Draw) -> Iterator[tuple[Fault, Question]]:
    """Every fault once, in random order."""
    for place in draw.permutation(len(FAULTS)):
        fault = FAULTS[place]
        given = _point(draw, fault.point)
        weights = weights_of(draw, given, ("layer_norm", "other_norm")[draw.integer(0, 1)])
        numbers = (weights, weights, *parts(draw, given, _factors(draw, given, fault.name)))
        yield fault, Question(fault.name, False, given, (*numbers, _twist(draw, given, fault.name)))


def named(told: Sequence[tuple[Fault, bool]]) -> list[str]:
    """Name the faults that were not caught, with the kind of point where the same fault was caught at another."""
    caught = {fault.name for fault, seen in told if seen}
    missed = [fault for fault, seen in told if not seen]
    return list(dict.fromkeys(f"{f.name} ({f.point})" if f.name in caught else f.name for f in missed))


def _point(draw: Draw, kind: str) -> Inputs:
    """A point with at least two rows and three features, where its kind asks for no fewer."""
    B, T, D = draw.integer(1, 3), draw.integer(2, 4), 2 * draw.integer(1, 3) + 1
    B, T = (1, 1) if kind == "one row" else (B, T)
    given = draw_inputs(draw, B, T, 1 if kind == "one feature" else D, "float64")
    if kind == "zero rows of dy":
        return given.but(dy=given.dy * (np.arange(T) % 2)[:, None])
    if kind == EVEN:
        return given.but(dy=np.repeat(given.dy[..., :1], D, axis=-1), gamma=np.ones(D))
    if kind == UNLIKE:
        return given.but(x=given.x * np.where(np.arange(T) % 2, 1.0, 0.05)[:, None])
    if kind == "no dy":
        return given.but(dy=0.0 * given.dy)
    return given.but(dy=given.dy * SCALES.get(kind, 1.0))


def _twist(draw: Draw, given: Inputs, fault: str) -> np.ndarray:
    rows = given.x[..., 0].size
    if fault == "dx_rows_exchanged":
        one, other = draw.rng.choice(rows, 2, replace=False)
        return twist(draw, one=one, other=other)
    if fault == "large_dy_cut":
        return twist(draw, level=float(abs(given.dy).max()) / 3)
    if fault == "y_element_nan":
        return twist(draw, missing=draw.integer(0, given.x.size - 1))
    return twist(draw, blend={"gamma_left_out_of_dx": 1.0, "gamma_half_left_out_of_dx": 0.5}.get(fault, 0.0))


def _factors(draw: Draw, given: Inputs, fault: str) -> Gradients:
    """What every entry of the gradients is multiplied by, none of the first of each for a fault of one place."""
    every = np.nan if fault == "gradients_nan" else 1.0
    factors = Gradients(*(np.full(values.shape, every) for values in (given.x, given.gamma, given.beta)))
    name, _, how = fault.partition("_")
    changed = getattr(factors, name, None)
    if changed is None:
        return factors
    if how in WHOLE:
        changed[...] = WHOLE[how]
    elif how in ELEMENT:
        changed.flat[draw.integer(1, changed.size - 1)] = ELEMENT[how]
    elif how == "row_scaled":
        changed.reshape(-1, changed.shape[-1])[draw.integer(1, given.x[..., 0].size - 1)] = draw.rng.uniform(1.5, 3.0)
    elif how == "element_scaled":
        changed[draw.integer(1, changed.size - 1)] = draw.rng.uniform(1.5, 3.0)
    elif how == "last_element_dropped":
        changed.flat[-1] = 0.0
    return factors
