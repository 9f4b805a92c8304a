"""Probes of the values themselves: y and the three gradients against the oracle, and laws that only right gradients
keep."""

import numpy as np
from numpy.typing import NDArray

from harness.probing import Answer, Draw, probe

from . import oracle
from .binding import (
    GRADIENTS,
    Floats,
    alive,
    backward,
    but_for_digits,
    draw_inputs,
    exact,
    forward,
    is_right,
    results,
    spread_of_y,
    spreads,
    terms,
    within_rounding,
)

SMALL = {"B": 2, "T": 3, "D": 4, "dtype": "float64"}
SMALL_32 = {"B": 2, "T": 3, "D": 4, "dtype": "float32"}
MIDDLE = {"B": 3, "T": 5, "D": 16, "dtype": "float64"}
MIDDLE_32 = {"B": 3, "T": 5, "D": 16, "dtype": "float32"}
LARGE = {"B": 4, "T": 8, "D": 64, "dtype": "float64"}


@probe(SMALL, SMALL_32, MIDDLE_32, LARGE, floors={"D": 3})
def y_matches_the_oracle(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """y is gamma xhat + beta, twice: an earlier y of the same shape must not pass for the next one."""
    for given in [draw_inputs(draw, B, T, D, dtype) for _ in range(2)]:
        y, _ = forward(answer, given)
        is_right("y", y, oracle.forward(given.x, given.gamma, given.beta, given.eps), spread_of_y(given, draw))


@probe(SMALL, SMALL_32, MIDDLE, MIDDLE_32, LARGE, floors={"D": 3})
def gradients_match_the_oracle(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> dict[str, float]:
    """L01: dx, dgamma and dbeta at mean 0 and deviation 1, several rows."""
    given = draw_inputs(draw, B, T, D, dtype)
    got, right, spread = results(answer, given), exact(given), spreads(given, draw)
    for name in GRADIENTS:
        is_right(name, getattr(got, name), getattr(right, name), getattr(spread, name))
    if dtype != "float64":
        return {}
    return {"dx_relative_error": float(np.linalg.norm((got.dx - right.dx).ravel()) / np.linalg.norm(right.dx.ravel()))}


@probe(MIDDLE, MIDDLE_32, floors={"D": 3})
def dx_sums_to_zero(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L03: sum_d dx = 0 in every row, since y does not see the mean of x."""
    given = draw_inputs(draw, B, T, D, dtype)
    got = alive(results(answer, given), given)
    with but_for_digits(answer, dtype):
        within_rounding(_dot(got.dx, 1), 0, _dot(terms(given), 1), given, "dx does not sum to zero over a row")


@probe(MIDDLE, MIDDLE_32, floors={"D": 3})
def jacobian_is_symmetric(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L10: with gamma = 1, <u, dx(v)> = <v, dx(u)> in every row: the derivative of xhat by x is symmetric."""
    v = draw_inputs(draw, B, T, D, dtype).but(gamma=np.ones(D))
    u = v.but(dy=draw.normal(B, T, D))
    _, cache = forward(answer, v)
    dx_v, dx_u = (alive(backward(answer, each.dy, cache), each).dx for each in (v, u))
    scale = _dot(terms(v), abs(u.dy)) + _dot(terms(u), abs(v.dy))
    title = "the map from dy to dx is not symmetric at gamma = 1"
    with but_for_digits(answer, dtype):
        within_rounding(_dot(dx_v, u.dy), _dot(dx_u, v.dy), scale, v, title)


@probe(MIDDLE, MIDDLE_32, floors={"D": 3})
def gradients_are_adjoint_to_the_derivative(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L11: <dx,u> + <dgamma,s> + <dbeta,t> = <dy, dF[u,s,t]>, the derivative of y along any direction (u,s,t)."""
    given = draw_inputs(draw, B, T, D, dtype)
    u, s, t = draw.normal(B, T, D), draw.normal(D), draw.normal(D)
    got = alive(results(answer, given), given)
    analytic = _dot(got.dx, u).sum() + _dot(got.dgamma, s) + _dot(got.dbeta, t)
    along = _dot(given.dy, oracle.tangent(given.x, given.gamma, given.eps, u, s, t)).sum()
    xhat, _ = oracle.statistics(given.x, given.eps)
    scale = (_dot(terms(given), abs(u)) + _dot(abs(given.dy), abs(xhat * s) + abs(t))).sum()
    with but_for_digits(answer, dtype):
        within_rounding(analytic, along, scale, given, "the gradients are not adjoint to the derivative of y")


@probe(MIDDLE, MIDDLE_32)
def dbeta_is_the_sum_of_dy(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L16: dbeta = sum over all rows of dy."""
    given = draw_inputs(draw, B, T, D, dtype)
    got = alive(results(answer, given), given)
    wanted, scale = (each.astype(np.longdouble).sum(axis=(0, 1)) for each in (given.dy, abs(given.dy)))
    with but_for_digits(answer, dtype):
        within_rounding(got.dbeta, wanted, scale, given, "dbeta is not the sum of dy")


@probe(MIDDLE, MIDDLE_32, floors={"D": 3})
def dx_is_right_along_one_and_xhat(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L17: with gamma = 1, constant rows of dy give dx = 0 and dy = xhat gives dx = rstd (1 - mean(xhat^2)) xhat."""
    given = draw_inputs(draw, B, T, D, dtype).but(gamma=np.ones(D))
    _, cache = forward(answer, given)
    xhat, rstd = oracle.statistics(given.x, given.eps)
    flat = given.but(dy=np.broadcast_to(draw.normal(B, T, 1), given.x.shape))
    along = given.but(dy=xhat)
    left = rstd * (1 - (xhat * xhat).mean(axis=-1, keepdims=True)) * xhat
    for each, wanted, title in (
        (flat, 0 * left, "dx is not zero for constant rows of dy at gamma = 1"),
        (along, left, "dx is wrong for dy = xhat at gamma = 1"),
    ):
        dx = backward(answer, each.dy, cache).dx
        with but_for_digits(answer, dtype):
            within_rounding(dx, wanted, terms(each), given, title)


def _dot(a: Floats, b: Floats | int) -> NDArray[np.longdouble]:
    """Inner products over the last axis."""
    products: NDArray[np.longdouble] = np.asarray((a.astype(np.longdouble) * b).sum(axis=-1))
    return products
