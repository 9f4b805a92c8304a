"""Probes of scores that are far from 0 and from each other, and of plain accuracy."""

import itertools
from functools import partial

import numpy as np

from harness.numerics import FULL, PASS, credit, distinct, judge
from harness.probing import Answer, Draw, FaultElsewhere, Partial, ProbeFailure, expect, probe

from .binding import (
    DIGITS,
    DTYPES,
    alive,
    attention,
    draw_inputs,
    exact,
    require_digits_of_inputs,
    spread,
)
from .bounds import alike, hidden_far_above, right_beside_plain
from .inputs import EXTREME
from .judgement import judge_at_height, only_digits, with_values
from .scores import ABOVE, FAR, GENTLE, INACCURATE, RISE, SEVENTY, far_above, near, positive, ramp

DRAWS = 7
LONG = {"B": 1, "H": 1, "N": 96, "D": 64}
SIXTEEN, ONE = 6, 100
"""Tile sizes that cut a ramp into sixteen and leave it whole, where a tile holds scores 800 above what a row sees."""
FARS = (FAR, 75.0, 1000.0)
"""How far one score is above all others: the second, nearly what exp reaches in float32; the third, past float64."""
HEIGHTS = (-1e3, -3e4, -3e5, -3e6, -3e9, 3e6)
"""Of all scores: below the finite numbers that stand for a hidden score here and there, and far above 0."""


@probe(
    *({"rising": r, "causal": c, "dtype": d, "tile": SIXTEEN}
      for r in (False, True) for c in (True, False) for d in reversed(DTYPES)),
    *({"rising": True, "causal": True, "dtype": d, "tile": ONE} for d in DTYPES),
    {"rising": True, "causal": True, "dtype": "float32", **SEVENTY, "size_of_v": "huge"},
    *({"rising": True, **sizes} for sizes in GENTLE),
    **LONG, rise=800.0, size_of_v="plain", fixed=("rise",), floors={"N": 2},
)  # fmt: skip
def ramps_of_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, rising: bool, rise: float, causal: bool,
    dtype: str, size_of_v: str,
) -> None:  # fmt: skip
    """Scores from -400 to 400 over sixteen tiles and in one, rising and falling: a row's maximum leads other tiles', or
    is below what is hidden, by more than 709, where exp overflows in float64; and small steps up."""
    q, k = ramp(draw, (B, H, N, D), rising=rising, height=rise / 2)
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
    steps = f" in steps of {rise * tile / (N - 1):.2g} a tile" if tile < N else ""
    what = f"scores that {'rise' if rising else 'fall'} by {rise:g}{steps}"
    right_beside_plain(answer, draw, *with_values(given, size_of_v, what))


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       {"causal": True, "dtype": "float32", "size_of_v": "huge"},
       B=1, H=2, N=32, D=128, tile=6, size_of_v="plain", floors={"N": 2})  # fmt: skip
def large_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str, size_of_v: str
) -> None:
    """q and k thirty times as large, scores nine hundred times."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal, times=30.0)
    right_beside_plain(answer, draw, *with_values(given, size_of_v, "scores 900 times as large"))


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       {"causal": True, "dtype": "float32", "size_of_v": "huge"},
       B=1, H=2, N=24, D=64, tile=4, size_of_v="plain", floors={"N": 2})  # fmt: skip
def one_score_far_above_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str, size_of_v: str
) -> None:
    """One key scores 60, 75 or 1000 above all others, in a tile drawn at random, in its first row or behind it: before
    that key the output is a plain one."""
    for far, behind in itertools.product(FARS, (0, 1)):
        place = tile * draw.integer(0, (N - 1) // tile) + behind
        q, k = far_above(draw, (B, H, N, D), far, min(place, N - 1))
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
        right_beside_plain(answer, draw, *with_values(given, size_of_v, "scores of one key far above all others"))


@probe(*({"height": h, "causal": c, "dtype": d} for h in HEIGHTS for d in DTYPES for c in (True, False)),
       B=1, H=2, N=18, D=64, tile=5, fixed=("height",), floors={"N": 2})  # fmt: skip
def scores_far_from_zero_are_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, height: float, causal: bool, dtype: str
) -> None:
    """All scores near one height: a running maximum that begins at 0 leaves nothing of low ones, and a hidden score
    that is a finite number is above them."""
    q, k = near(draw, (B, H, N, D), height, last_rises=True)
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
    judge_at_height(partial(right_beside_plain, answer, draw), given, height)


@probe(*({"times": t, "dtype": d} for d in DTYPES for t in ABOVE),
       B=1, H=2, N=12, D=8, tile=4, fixed=("times",), floors={"N": 2})  # fmt: skip
def hidden_scores_far_above_change_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, times: float, dtype: str
) -> None:
    """Keys that score far above all before them leave the output before them as it was: a finite number that is added
    to hidden scores does not hide them."""
    q, k = positive(draw, (B, H, N, D))
    given = draw_inputs(draw, B, H, N, D, tile, dtype).but(q=q, k=k)
    hidden_far_above(answer, given, draw, times)


@probe({"power": 1000, "dtype": "float64"}, {"power": -1000, "dtype": "float64"}, {"power": 100, "dtype": "float32"},
       {"power": -100, "dtype": "float32"}, {"power": 1000, "dtype": "float64", "height": RISE, "tile": 1},
       {"power": 100, "dtype": "float32", "height": RISE, "tile": 1},
       B=1, H=1, N=12, D=4, tile=4, height=0.0, fixed=("power", "height"), floors={"N": 2})  # fmt: skip
def extreme_values_lose_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, power: int, height: float, dtype: str
) -> None:
    """q and v times 2^power and k over it, 1e301 at most, of plain scores and of those that rise: the weights are as
    they were, and o is 2^power as large."""
    given, size = draw_inputs(draw, B, H, N, D, tile, dtype), 2.0**power
    if height:
        given = given.but(**dict(zip("qk", ramp(draw, given.q.shape, rising=True, height=height), strict=True)))
    plain = alive(attention(answer, given), given)
    doing = f"q and v times 2^{power}, k over it" + (f", scores that rise by {2 * height:g}" if height else "")
    with expect.works(EXTREME):
        scaled = attention(answer, given.but(q=given.q * size, k=given.k / size, v=given.v * size))
    try:  # a power of two changes no digit
        alike(scaled, (plain * size).astype(dtype), EXTREME, doing, answer, given, draw)
    except ProbeFailure:
        require_digits_of_inputs(answer, given)
        raise


@probe(
    *({"B": 1, "H": 1, "N": 24, "D": 64, "tile": 8, "dtype": dtype} for dtype in DTYPES),
    *({"B": 1, "H": 1, "N": 20, "D": 128, "tile": 8, "dtype": dtype} for dtype in DTYPES), floors={"N": 2},
)  # fmt: skip
def error_ratios_are_small(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> Partial:
    """The error ratio of the output, the median over `DRAWS` inputs: full marks to 4, none above 32."""
    ratios, digits = [], True
    for _ in range(DRAWS):
        given = draw_inputs(draw, B, H, N, D, tile, dtype)
        o, right = attention(answer, given), exact(given)
        digits &= only_digits(np.abs(o - right), right, DIGITS)
        ratios.append(judge(o, right, spread(given, draw)).ratio)
    ratio = float(np.median(ratios))
    figures = {"o_error_ratio": ratio}
    seen, most = distinct(ratio, PASS, 3)
    detail = f"o_error_ratio is {seen}: up to {FULL:g} earns all, at most {most} passes"
    if not (share := credit(ratio)):
        if not digits:
            raise FaultElsewhere("o is wrong", "not by digits alone")
        require_digits_of_inputs(answer, given)
        raise ProbeFailure(INACCURATE, detail, measured=figures)
    return Partial(share, figures, detail if share < 1 else "")
