"""When faults made by machine act in a layer norm, and inputs that meet each of these conditions."""

from pathlib import Path

import numpy as np

from harness.numerics import conditioning
from harness.probing import Answer, Draw, expect
from harness.probing.drivers import Drivers
from harness.probing.guards import Guard, Guards

from .binding import FIELDS, Inputs, Results, draw_inputs, exact, results, terms

Shape = tuple[int, int, int]
MANY = 20_000
"""Elements from which two perturbations tell the spread: it is the largest over all of them."""


def judged(answer: Answer, draw: Draw, given: Inputs) -> None:
    """One forward and its backward, right in every output."""
    got = results(answer, given)
    inputs = (given.x, given.gamma, given.beta, given.dy, given.eps)
    draws = 8 if given.x.size < MANY else 2
    y, dx, dgamma, dbeta = conditioning(lambda *moved: exact(Inputs(*moved)), inputs, draw.rng, draws)
    spread = Results(y, max(dx, float(terms(given).max()) * given.unit), dgamma, dbeta)
    for name, *each in zip(FIELDS, got, exact(given), spread, strict=True):
        expect.close(name, *each)


def small(draw: Draw, t: int) -> Shape:
    """A few rows of a few features, now and then of some hundred: a coarser sum shows only in long ones."""
    features = draw.integer(3, 40) if draw.integer(0, 2) else int(2 ** draw.rng.uniform(5.3, 10))
    return draw.integer(1, 4), draw.integer(2, 5), features


def wide(draw: Draw, t: int) -> Shape:
    """More than t features."""
    D = t + draw.integer(1, 8 + t // 4)
    return 1, min(6, 1 + 30_000 // D), D


def _over(draw: Draw, t: int) -> int:
    return t + draw.integer(1, 4)


def tall(draw: Draw, t: int) -> Shape:
    """More than t rows."""
    T = draw.integer(1, 5)
    return -(-_over(draw, t) // T), T, draw.integer(2, 6)


def many_batches(draw: Draw, t: int) -> Shape:
    """B over t."""
    return _over(draw, t), draw.integer(1, 3), draw.integer(2, 6)


def long(draw: Draw, t: int) -> Shape:
    """T over t."""
    return draw.integer(1, 3), _over(draw, t), draw.integer(2, 6)


def large(draw: Draw, t: int) -> Shape:
    """More than t elements."""
    D = int(2 ** draw.rng.uniform(2, 10))
    return 1, t // D + draw.integer(1, 9), D


def rows_left_over(draw: Draw, t: int) -> Shape:
    """One row short of a multiple of t."""
    return 1, t * draw.integer(1, 4) - 1, draw.integer(2, 24)


def features_left_over(draw: Draw, t: int) -> Shape:
    """One feature short of a multiple of t."""
    return draw.integer(1, 3), draw.integer(2, 4), t * draw.integer(1 + (t == 2), 4) - 1


def some_tiles(draw: Draw, t: int) -> Shape:
    """Some tiles of t features, and some more."""
    return draw.integer(1, 3), draw.integer(2, 4), t * draw.integer(1, 4) + draw.integer(1, max(1, t - 1))


def some_blocks(draw: Draw, t: int) -> Shape:
    """Some blocks of t rows, and some more."""
    return 1, t * draw.integer(1, 3) + draw.integer(0, t), draw.integer(3, 24)


def square(draw: Draw, t: int) -> Shape:
    """Enough rows and features for a line to run more than t times."""
    return 1, draw.integer(t, 2 * t), min(draw.integer(t, 2 * t) + 1, 200)


def with_negative_zeros(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Some entries of x and dy are -0.0."""
    x, dy = (np.where(draw.rng.random(given.x.shape) < 0.2, -0.0, a) for a in (given.x, given.dy))
    x.flat[0] = dy.flat[0] = -0.0
    return given.but(x=x, dy=dy)


def with_flat_row(draw: Draw, given: Inputs, t: int) -> Inputs:
    """All entries of one row of x are equal."""
    x = given.x.copy()
    x[-1, draw.integer(0, x.shape[1] - 1)] = np.round(x[-1, 0, 0] * 4) / 4
    return given.but(x=x)


def with_equal_rows(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Two rows of x are equal."""
    x = given.x.copy()
    x[-1, -1] = x[0, 0]
    return given.but(x=x)


def with_zero_row(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A row of dy is zero, and one of x."""
    x, dy = given.x.copy(), given.dy.copy()
    for values in (x, dy):
        values[-1, draw.integer(0, dy.shape[1] - 1)] = 0.0
    return given.but(x=x, dy=dy)


def with_zero_gamma(draw: Draw, given: Inputs, t: int) -> Inputs:
    """An entry of gamma is zero."""
    gamma = given.gamma.copy()
    gamma[draw.integer(0, len(gamma) - 1)] = 0.0
    return given.but(gamma=gamma)


def with_unit_gamma(draw: Draw, given: Inputs, t: int) -> Inputs:
    """gamma is 1."""
    return given.but(gamma=np.ones_like(given.gamma))


def scaled(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Entries of x are larger than 10^t."""
    return given.but(x=given.x / np.abs(given.x).max() * 10.0**t * 3)


def shifted(draw: Draw, given: Inputs, t: int) -> Inputs:
    """The mean of a row is more than t of its deviations."""
    return given.but(x=given.x + 1.5 * t)


DRIVERS = Drivers(
    draw_inputs, results, judged, small, functions=2, turns=("float64", "float32", "float64", "float32")
)  # fmt: skip
driver = DRIVERS.of
GUARDS = Guards(
    (
        Guard("always", driver(small)),
        Guard("D > t", driver(wide), "D > {t}", low=2, high=6000),
        Guard("rows > t", driver(tall), "rows > {t}", low=2, high=30_000),
        Guard("B > t", driver(many_batches), "B > {t}", low=2, high=2000),
        Guard("T > t", driver(long), "T > {t}", low=2, high=4000),
        Guard("rows * D > t", driver(large), "rows * D > {t}", low=100, high=700_000),
        Guard("rows % t", driver(rows_left_over), "rows % {t} == {t} - 1", low=2, high=64),
        Guard("D % t", driver(features_left_over), "D % {t} == {t} - 1", low=2, high=64),
        Guard("one row of t", driver(some_blocks), element="row % {t} == {t} - 1", low=2, high=300),
        Guard("rows past t", driver(tall), element="row > {t}", low=2, high=20_000),
        Guard("tail of a tile of t", driver(some_tiles), low=2, high=200,
              element="(feature >= features // {t} * {t}) & (features > {t})"),
        Guard("features past t", driver(wide), element="feature > {t}", low=2, high=4000),
        Guard("t-th time in a call", driver(square), place="visit == {t}", low=2, high=40),
        *DRIVERS.guards_of_history(12),
        Guard("negative zero", driver(small, with_negative_zeros), "negative_zero()"),
        Guard("flat row", driver(small, with_flat_row), "flat_row()"),
        Guard("equal rows", driver(small, with_equal_rows), "equal_rows() and rows > 1"),
        Guard("zero row", driver(small, with_zero_row), "zero_row()"),
        Guard("zero in gamma", driver(small, with_zero_gamma), "zero_gamma()"),
        Guard("gamma of ones", driver(small, with_unit_gamma), "unit_gamma()"),
        Guard("largest > 10^t", driver(small, scaled), "largest() > 10.0 ** {t}", low=1, high=9),
        Guard("mean > t deviations", driver(small, shifted), "offset() > {t}", low=2, high=1000),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=frozenset({"check_gradients", "_affine_slope", "_rows_agree", "_check_arguments", "_require"}),
    unasked=frozenset({"check_speed", "cost_growth", "backward_speed", "cache_bytes", "accepts_correct",
                       "catches_planted"}),
)  # fmt: skip
