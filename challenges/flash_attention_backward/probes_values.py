"""Probes of the values themselves: o, L and the gradients against the oracle, and laws that only right ones keep."""

import contextlib

import numpy as np

from harness.probing import Answer, Array, Draw, FaultElsewhere, Keep, ProbeFailure, expect, probe
from harness.probing.failures import NotOffered, TrivialOutput

from . import oracle
from .binding import (
    BACKWARD,
    DTYPES,
    FORWARD,
    GRADIENTS,
    Inputs,
    Results,
    alive,
    draw_inputs,
    forward,
    gradient_plan,
    results,
    terms,
)
from .bounds import alike, judged, require_logsumexp, right, within_rounding
from .cache import cache_of, entry
from .flash_attention.judgement import STRUCTURE

SMALL = {"B": 1, "H": 1, "N": 8, "D": 4, "tile": 4}
MIDDLE = {"B": 2, "H": 2, "N": 12, "D": 64, "tile": 5}
LARGE = {"B": 1, "H": 1, "N": 48, "D": 128, "tile": 16}
WIDE_TILES = {"B": 1, "H": 1, "N": 200, "D": 64, "tile": 130, "dtype": "float32"}
"""Tiles above 128, which do not divide N: an answer may cut them up, keys other than queries."""
LEAST = {"N": 2, "D": 2}


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES), floors=LEAST)
def o_matches_the_oracle(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """o is the weighted mean of v, twice: an earlier o of the same shape must not pass for the next one."""
    for given in [draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2)]:
        o, _ = forward(answer, given)
        judged(answer, Results(o, None, None, None), given, draw)


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES),
       {**LARGE, "dtype": "float64"}, floors=LEAST)  # fmt: skip
def gradients_match_the_oracle(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """dq, dk and dv, twice."""
    for _ in range(2 if LARGE["N"] > N else 1):
        given = draw_inputs(draw, B, H, N, D, tile, dtype)
        judged(answer, results(answer, given)._replace(o=None), given, draw)


@probe(*({"D": D} for D in (3, 12, 20, 64, 100, 128)), B=1, H=1, N=12, tile=4, dtype="float64", fixed=("D",))
def gradients_are_scaled_by_the_features(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The scale 1/sqrt(D) is in the scores, in dq and in dk, at every D."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    judged(answer, results(answer, given)._replace(o=None), given, draw)


@probe(*({**MIDDLE, "causal": c, "dtype": dtype} for c in (True, False) for dtype in DTYPES),
       {**MIDDLE, "D": 128, "causal": True, "dtype": "float64"}, floors=LEAST)  # fmt: skip
def l_is_the_logarithm_of_the_sum(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """cache["L"] is the log-sum-exp of the scaled scores that a row sees, with the mask and without."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    try:
        o, cache = cache_of(answer, given)
        judged(answer, Results(o, None, None, None), given, draw)
        found = entry(cache, "L")
    except ProbeFailure as why:  # scores that are wrong in o as well, and the form of the cache, are other criteria's
        raise FaultElsewhere(why.title, why.detail, locations=why.locations) from None
    if found.size != B * H * N or found.dtype.kind != "f":
        raise FaultElsewhere(
            "L of the cache has another shape or holds no real numbers", f"{found.dtype} {found.shape}"
        )
    found = found.reshape(B, H, N)
    expect.alive("L", found)
    require_logsumexp(answer, found, given, draw)


@probe(*({**MIDDLE, "dtype": dtype} for dtype in DTYPES), floors=LEAST)
def gradients_are_linear_in_do(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """What do and another one give adds up to what their sum gives; -4 times do gives -4 times as much."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    other = given.but(do=draw.normal(B, H, N, D))
    both = given.but(do=given.do + other.do)
    one, two, sum_ = (results(answer, each) for each in (given, other, both))
    alive(one, given)
    sizes = [a + b + c for a, b, c in zip(*map(terms, (given, other, both)), strict=True)]
    scaled = results(answer, given.but(do=-4 * given.do))
    for name, size in zip(GRADIENTS, sizes, strict=True):
        a, b, c = (getattr(each, name).astype(np.longdouble) for each in (one, two, sum_))
        title = f"{name} is not linear in do"
        within_rounding(a + b, c, size, title, answer, given, draw)
        within_rounding(getattr(scaled, name).astype(np.longdouble), -4 * a, size, title, answer, given, draw)


@probe(*({**MIDDLE, "dtype": dtype} for dtype in DTYPES), floors=LEAST)
def gradients_are_adjoint_to_the_derivative(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """<dq,a> + <dk,b> + <dv,c> = <do, dF[a,b,c]>, the derivative of o along any direction, in every head."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    moves = [draw.normal(B, H, N, D) for _ in range(3)]
    got = alive(results(answer, given), given)
    along = (given.do.astype(np.longdouble) * oracle.tangent(*given.arrays, given.causal, *moves)).sum(axis=(2, 3))
    title = "the gradients are not adjoint to the derivative of o"
    analytic, size = 0, 0
    for name, move, term in zip(GRADIENTS, moves, terms(given), strict=True):
        analytic = analytic + (getattr(got, name).astype(np.longdouble) * move).sum(axis=(2, 3))
        size = size + (term * abs(move)).sum(axis=(2, 3))
    within_rounding(analytic, along, size, title, answer, given, draw)


@probe(*({**MIDDLE, "dtype": dtype} for dtype in DTYPES), floors=LEAST)
def gradients_keep_the_sums_of_softmax(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Keys moved alike change nothing, so dk adds up to 0; weights add up to 1, so dv adds up to the sum of do; and q
    times a number over k changes nothing, so <q,dq> = <k,dk>."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    got = alive(results(answer, given), given)
    dq, dk, dv, q, k, do = (a.astype(np.longdouble) for a in (*got[1:], given.q, given.k, given.do))
    size_q, size_k, size_v = terms(given)
    title = "dk does not add up to zero"
    within_rounding(dk.sum(axis=2), 0 * dk[:, :, 0], size_k.sum(axis=2), title, answer, given, draw)
    title = "dv does not add up to the sum of do"
    within_rounding(dv.sum(axis=2), do.sum(axis=2), size_v.sum(axis=2), title, answer, given, draw)
    size = (size_q * abs(q)).sum(axis=(2, 3)) + (size_k * abs(k)).sum(axis=(2, 3))
    title = "<q,dq> differs from <k,dk>"
    within_rounding((q * dq).sum(axis=(2, 3)), (k * dk).sum(axis=(2, 3)), size, title, answer, given, draw)


@probe(SMALL, floors=LEAST, dtype="float64")
def causal_is_the_default(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """Each pass without `causal` gives what it gives with causal=True."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    masked = alive(results(answer, given), given)
    with contextlib.suppress(NotOffered):
        whole = results(answer, given.but(causal=False))
        if all(np.allclose(*pair, rtol=0, atol=STRUCTURE[dtype]) for pair in zip(masked, whole, strict=True)):
            raise TrivialOutput("o is the same with the mask and without")
    plan, title = (Array(given.q.shape, dtype), Keep()), "the {} without `causal` is not causal".format
    with expect.works("a forward without `causal` fails"):
        o, _ = answer.call(FORWARD, *given.arrays, tile, returns=plan)
    left_out = masked._replace(o=o)
    alike(left_out, masked, lambda _: title("forward"), "causal left out, and causal=True", answer, given, draw, ("o",))
    _, cache = forward(answer, given)
    with expect.works("a backward without `causal` fails"):
        gradients = answer.call(BACKWARD, given.do, cache, tile, returns=gradient_plan(given))
    doing = "causal left out, and causal=True"
    alike(Results(o, *gradients), masked, lambda _: title("backward"), doing, answer, given, draw, GRADIENTS)


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES), WIDE_TILES, floors=LEAST)
def everything_is_right_without_the_mask(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """With causal=False every position sees all of them, where the answer is right with the mask."""
    given: Inputs = draw_inputs(draw, B, H, N, D, tile, dtype, causal=False)
    with (
        expect.only_beside(lambda: right(answer, given.but(causal=True), draw)),
        expect.renamed("a result is wrong without the mask"),
    ):
        right(answer, given, draw)
