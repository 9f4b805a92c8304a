"""Probes of scores that are far from 0 and from each other, and of plain accuracy."""

import numpy as np

from harness.numerics import PASS, credit, distinct, judge
from harness.probing import Answer, Draw, FaultElsewhere, Partial, ProbeFailure, expect, probe

from .binding import (
    DTYPES,
    alive,
    attention,
    draw_inputs,
    exact,
    only_digits,
    require_digits_of_inputs,
    spread,
)
from .bounds import alike, right_beside_plain
from .inputs import EXTREME, far_above, ramp

DRAWS = 3
LONG = {"B": 1, "H": 2, "N": 96, "D": 8, "tile": 6}
"""Sixteen tiles of a ramp."""


@probe(
    *({"rising": r, "causal": c, "dtype": d} for r in (False, True) for c in (True, False) for d in reversed(DTYPES)),
    **LONG, floors={"N": 2},
)  # fmt: skip
def ramps_of_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, rising: bool, causal: bool, dtype: str
) -> None:
    """Scores from -400 to 400 over sixteen tiles, rising and falling: a row's maximum leads other tiles' by more than
    709, where exp overflows in float64."""
    q, k = ramp(draw, (B, H, N, D), rising=rising)
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
    right_beside_plain(answer, given, draw, f"scores that {'rise' if rising else 'fall'} by 800")


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       B=1, H=2, N=48, D=8, tile=6, floors={"N": 2})  # fmt: skip
def large_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """q and k thirty times as large, scores nine hundred times."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal, times=30.0)
    right_beside_plain(answer, given, draw, "scores 900 times as large")


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       B=1, H=2, N=24, D=8, tile=4, floors={"N": 2})  # fmt: skip
def one_score_far_above_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """One key scores 60 above all others, in a tile drawn at random; before it the output is a plain one."""
    for _ in range(3):
        q, k = far_above(draw, (B, H, N, D))
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
        right_beside_plain(answer, given, draw, "scores of one key far above all others")


@probe(*({"causal": c, "dtype": d} for d in DTYPES for c in (True, False)),
       B=1, H=1, N=24, D=4, tile=4, floors={"N": 2})  # fmt: skip
def scores_far_below_zero_are_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """All scores near -1000: a running maximum that begins at 0 leaves nothing of them."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    direction = np.ones(D) / np.sqrt(D)
    low = given.but(q=0.1 * given.q + 10 * np.sqrt(D) * direction, k=0.1 * given.k - 100 * direction)
    right_beside_plain(answer, low, draw, "scores near -1000")


@probe({"power": 1000, "dtype": "float64"}, {"power": -1000, "dtype": "float64"}, {"power": 100, "dtype": "float32"},
       {"power": -100, "dtype": "float32"}, B=1, H=1, N=12, D=4, tile=4, fixed=("power",), floors={"N": 2})  # fmt: skip
def extreme_values_lose_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, power: int, dtype: str
) -> None:
    """q and v times 2^power and k over it, 1e301 at most: the weights are as they were, and o is 2^power as large."""
    given, size = draw_inputs(draw, B, H, N, D, tile, dtype), 2.0**power
    plain = alive(attention(answer, given), given)
    doing = f"q and v times 2^{power}, k over it"
    with expect.works(EXTREME):
        scaled = attention(answer, given.but(q=given.q * size, k=given.k / size, v=given.v * size))
    try:  # a power of two changes no digit
        alike((scaled / size).astype(dtype), plain, EXTREME, doing, answer, given, draw)
    except ProbeFailure:
        require_digits_of_inputs(answer, given)
        raise


@probe(
    *({"B": 2, "H": 2, "N": 32, "D": 16, "tile": 8, "dtype": dtype} for dtype in DTYPES),
    *({"B": 1, "H": 1, "N": 64, "D": 32, "tile": 16, "dtype": dtype} for dtype in DTYPES), floors={"N": 2},
)  # fmt: skip
def error_ratios_are_small(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> Partial:
    """The error ratio of the output, the median over `DRAWS` inputs: full marks to 4, none above 32."""
    ratios, digits = [], True
    for _ in range(DRAWS):
        given = draw_inputs(draw, B, H, N, D, tile, dtype)
        o, right = attention(answer, given), exact(given)
        digits &= only_digits(np.abs(o - right), right)
        ratios.append(judge(o, right, spread(given, draw)).ratio)
    ratio = float(np.median(ratios))
    figures = {"o_error_ratio": ratio}
    seen, most = distinct(ratio, PASS, 3)
    detail = f"o_error_ratio is {seen}, at most {most} passes"
    if not (share := credit(ratio)):
        if not digits:
            raise FaultElsewhere("o is wrong", "not by digits alone")
        require_digits_of_inputs(answer, given)
        raise ProbeFailure("results are less accurate than the inputs allow", detail, measured=figures)
    return Partial(share, figures, detail if share < 1 else "")
