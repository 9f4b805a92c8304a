"""Probes of exact laws of layer normalisation: how outputs follow the scale of inputs, gamma, beta and eps."""

from functools import partial

import numpy as np

from harness.probing import Answer, Draw, expect, laws, probe

from . import oracle
from .binding import (
    EPS,
    GRADIENTS,
    Inputs,
    Results,
    agree,
    alive,
    all_agree,
    backward,
    but_for_digits,
    but_for_range,
    cycle,
    draw_inputs,
    draw_on_grid,
    exact,
    follow_scale,
    forward,
    results,
    spread_of_y,
    spreads,
    terms,
    within_rounding,
)

SMALL = {"B": 2, "T": 3, "D": 4, "dtype": "float64"}
SMALL_32 = {"B": 2, "T": 3, "D": 4, "dtype": "float32"}
WIDE = {"B": 3, "T": 5, "D": 32, "dtype": "float64"}
GRID_BITS = 10
"""Products of two such numbers take 22 bits, so they are exact in float32."""
NOT_FOLLOWED = "{} does not follow when x and eps are scaled together".format


@probe(SMALL, SMALL_32, WIDE, floors={"D": 3})
def x_and_eps_scale_together(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L06: (1024 x, 1024^2 eps) gives the same y, dgamma and dbeta, and dx / 1024: exact, a power of two."""
    given = draw_inputs(draw, B, T, D, dtype)
    follow_scale(answer, draw, given, alive(results(answer, given), given), 10, NOT_FOLLOWED)


@probe(SMALL, SMALL_32, WIDE, floors={"D": 3})
def gradients_add_in_dy(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L07: the gradients of dy + dy' are those of dy plus those of dy', from one cache; the sum itself is exact."""
    one = draw_on_grid(draw, B, T, D, dtype, GRID_BITS)
    two = one.but(dy=draw.grid(B, T, D, bits=GRID_BITS))
    y, cache = forward(answer, one)
    apart = [alive(backward(answer, each.dy, cache, y), each) for each in (one, two)]
    together = backward(answer, one.dy + two.dy, cache, y)
    added = Results(*(a.astype(np.longdouble) + b for a, b in zip(*apart, strict=True)))
    spread = Results(*(a + b for a, b in zip(spreads(one, draw), spreads(two, draw), strict=True)))
    title = "{} is not linear in dy".format
    all_agree(together, added, spread, title, "dy in one piece and in two parts", GRADIENTS)


@probe(
    {"power": 30, "dtype": "float64"}, {"power": -200, "dtype": "float64"}, {"power": 30, "dtype": "float32"},
    {"power": -60, "dtype": "float32"}, B=2, T=3, D=8, floors={"D": 3}, fixed=("power",),
)  # fmt: skip
def gradients_scale_with_dy(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, power: int) -> None:
    """L24: dy times a power of two gives gradients times that power, to the last bit at any size."""
    given = draw_inputs(draw, B, T, D, dtype)
    factor = 2.0**power
    y, cache = forward(answer, given)
    plain = alive(backward(answer, given.dy, cache, y), given)
    scaled = backward(answer, given.but(dy=given.dy * factor).dy, cache, y)
    with but_for_range(answer, dtype):
        for name in GRADIENTS:
            got, wanted = getattr(scaled, name), getattr(plain, name) * given.x.dtype.type(factor)
            expect.same(name, got, wanted, f"{name} does not scale with dy", f"dy times 2^{power}")


@probe(SMALL, SMALL_32, WIDE, floors={"D": 3})
def gamma_counts_once_in_dx(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L08: dx for (dy, gamma) is dx for (dy gamma, 1); the product is exact."""
    given = draw_on_grid(draw, B, T, D, dtype, GRID_BITS)
    folded = given.but(dy=given.dy * given.gamma, gamma=np.ones(D))
    got = alive(results(answer, given), given)
    wanted, spread = results(answer, folded).dx, spreads(given, draw).dx
    agree("dx", got.dx, wanted, spread, "dx does not carry gamma once", "dx for (dy, gamma) and for (dy gamma, 1)")


@probe(SMALL, SMALL_32, WIDE, floors={"D": 3})
def beta_only_shifts_y(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L09: y with beta is y with beta = 0, plus beta; the gradients do not move."""
    given = draw_inputs(draw, B, T, D, dtype)
    bare, shifted = (alive(results(answer, each), each) for each in (given.but(beta=np.zeros(D)), given))
    spread = spreads(given, draw)
    wanted = bare.y.astype(np.longdouble) + given.beta
    agree("y", shifted.y, wanted, spread.y, "y is not shifted by beta", "beta against beta = 0")
    all_agree(shifted, bare, spread, "{} moves with beta".format, "beta against beta = 0", GRADIENTS)


@probe(SMALL, SMALL_32, WIDE, floors={"D": 3})
def the_order_of_features_does_not_matter(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L14: features in another order give all outputs in that order."""
    given = draw_inputs(draw, B, T, D, dtype)
    order = cycle(draw, D)
    arrays = {name: getattr(given, name)[..., order] for name in ("x", "gamma", "beta", "dy")}
    plain, mixed = alive(results(answer, given), given), results(answer, given.but(**arrays))
    wanted = Results(*(values[..., order] for values in plain))
    title = "{} depends on the order of the features".format
    all_agree(mixed, wanted, spreads(given, draw), title, "features reordered")


SETTINGS = tuple(
    {"std": std, "eps": eps, "dtype": dtype}
    for std, eps in ((1.0, 1e-2), (0.00316, 1e-5), (0.01, 1e-5))
    for dtype in ("float64", "float32")
)
FAR_ABOVE_EPS = f"eps {EPS:g}, deviation 1024"


@probe(*SETTINGS, B=2, T=3, D=8, floors={"D": 3})
def y_follows_eps(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, std: float, eps: float) -> None:
    """L19, L20: y equals the oracle where eps weighs as much as the variance, and where it is large."""
    given = draw_inputs(draw, B, T, D, dtype, std=std, eps=eps).but(gamma=np.ones(D), beta=np.zeros(D))
    title, doing = "eps does not enter y as var + eps", f"eps {eps:g}, deviation {std:g}"

    def y_is_right(given: Inputs, title: str, doing: str, *, digits: bool = False) -> None:
        y, _ = forward(answer, given)
        right = oracle.forward(given.x, given.gamma, given.beta, given.eps)
        agree("y", y, right, spread_of_y(given, draw), title, doing, digits=digits)

    plain = partial(y_is_right, _far_above_eps(given, std), "y is wrong", FAR_ABOVE_EPS)
    with expect.only_beside(plain), but_for_digits(answer, dtype):
        y_is_right(given, title, doing, digits=True)


@probe(*SETTINGS, B=2, T=3, D=8, floors={"D": 3})
def dx_follows_eps(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, std: float, eps: float) -> None:
    """L04: <dx, xhat> = rstd eps / (var + eps) <dxhat, xhat> in every row: what eps leaves of dx along xhat.

    L19, L20: at the same places as y, with gamma = 1. Along xhat eps shows, and a wrong mean term or gamma does not.
    """
    given = draw_inputs(draw, B, T, D, dtype, std=std, eps=eps).but(gamma=np.ones(D))
    got = results(answer, given)
    xhat, rstd = oracle.statistics(given.x, eps)
    flow = (given.dy.astype(np.longdouble) * xhat).sum(axis=-1)
    wanted = rstd[..., 0] * eps * rstd[..., 0] ** 2 * flow
    scale = (terms(given) * abs(xhat)).sum(axis=-1)
    along = (got.dx * xhat).sum(axis=-1)
    title, doing = "eps does not enter dx as var + eps", f"eps {eps:g}, deviation {std:g}"
    plain = partial(_dx_is_right, answer, draw, _far_above_eps(given, std))
    with expect.only_beside(plain), but_for_digits(answer, dtype):
        within_rounding(along, wanted, scale, given, title, doing)


def _far_above_eps(given: Inputs, std: float) -> Inputs:
    """Inputs of the same rows where no eps of common size shows: what is wrong there is not how eps enters."""
    return given.but(x=given.x * (1024 / std), eps=EPS)


def _dx_is_right(answer: Answer, draw: Draw, given: Inputs) -> None:
    """Require dx but for digits, and but for what is equal along a row, as the mean term is."""
    got, right = results(answer, given).dx, exact(given).dx
    one, other = (dx - dx.mean(axis=-1, keepdims=True) for dx in (got, right))
    if not laws.only_digits_apart(one, other):
        agree("dx", got, right, spreads(given, draw).dx, "dx is wrong", FAR_ABOVE_EPS)
