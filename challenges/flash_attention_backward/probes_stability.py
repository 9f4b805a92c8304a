"""Probes of scores that are far from 0 and from each other, and of plain accuracy."""

from functools import partial

import numpy as np

from harness.numerics import FULL, PASS, credit, distinct, judge
from harness.probing import Answer, Draw, FaultElsewhere, Partial, ProbeFailure, expect, probe

from .binding import (
    DIGITS,
    DTYPES,
    FIELDS,
    Results,
    alive,
    draw_inputs,
    exact_and_spreads,
    require_digits_of_inputs,
    results,
)
from .bounds import alike, right_beside_plain
from .flash_attention.judgement import judge_at_height, only_digits, with_values
from .flash_attention.scores import ABOVE, FAR, GENTLE, INACCURATE, RISE, SEVENTY, far_above, near, positive, ramp
from .inputs import EXTREME, LATER

DRAWS = 7
BACKS = (4, 4, 16)
"""Of `GENTLE`, tiles of the backward in those of the forward: they take longer, and take their weights from L, whatever
it was added up in."""
FARS = ((FAR, 0), (75.0, 0), (1000.0, 1))
"""How far one score is above all others, and its row in a tile. The second is nearly what exp reaches in float32, the
third past what it reaches in float64, and hidden from a row of its own tile."""
HEIGHTS = ((-1e3, "float32"), *((-3e4, dtype) for dtype in DTYPES), (-3e6, "float64"), (3e6, "float64"))
"""Of all scores, below the finite numbers that stand for a hidden score here and there, and far above 0. What float32
rounds off an L of millions is more than a weight."""


@probe(
    *({"rising": r, "causal": c, "dtype": d} for r in (False, True) for c in (True, False) for d in reversed(DTYPES)),
    {"rising": True, "causal": True, "dtype": "float32", **SEVENTY, "size_of_v": "huge"},
    *({"rising": True, **sizes, "back": back} for sizes, back in zip(GENTLE, BACKS, strict=True)),
    B=1, H=1, N=48, D=64, tile=3, back=1, rise=800.0, size_of_v="plain", fixed=("rise",),
    floors={"N": 2},
)  # fmt: skip
def ramps_of_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, back: int, rising: bool, rise: float,
    causal: bool, dtype: str, size_of_v: str,
) -> None:  # fmt: skip
    """Scores from -400 to 400 over sixteen tiles, rising and falling, and small steps up. Weights are nearly 0 and 1
    there, and exact gradients nearly vanish: what rounding of their terms may cost decides, not the relative error."""
    q, k = ramp(draw, (B, H, N, D), rising=rising, height=rise / 2)
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k, back_tile=back * tile)
    steps = f" in steps of {rise * tile / (N - 1):.2g} a tile" if tile < N else ""
    what = f"scores that {'rise' if rising else 'fall'} by {rise:g}{steps}"
    right_beside_plain(answer, draw, *with_values(given, size_of_v, what))


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       {"causal": True, "dtype": "float32", "size_of_v": "huge"},
       B=1, H=1, N=32, D=128, tile=4, size_of_v="plain", floors={"N": 2})  # fmt: skip
def large_scores_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str, size_of_v: str
) -> None:
    """q and k thirty times as large, scores nine hundred times."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal, times=30.0)
    right_beside_plain(answer, draw, *with_values(given, size_of_v, "scores 900 times as large"))


@probe(*({"causal": c, "dtype": d} for c in (True, False) for d in DTYPES),
       {"causal": True, "dtype": "float32", "size_of_v": "huge"},
       B=1, H=1, N=20, D=64, tile=4, size_of_v="plain", floors={"N": 2})  # fmt: skip
def one_score_far_above_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str, size_of_v: str
) -> None:
    """One key scores 60 or 75 above all others in the first row of a tile drawn at random, and 1000 in the second row
    of one: before that key the gradients are plain ones."""
    for far, row in FARS:
        place = tile * draw.integer(0, (N - 1) // tile) + row
        q, k = far_above(draw, (B, H, N, D), far, min(place, N - 1))
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
        right_beside_plain(answer, draw, *with_values(given, size_of_v, "scores of one key far above all others"))


@probe(*({"height": h, "causal": c, "dtype": d} for h, d in HEIGHTS for c in (True, False)),
       B=1, H=1, N=24, D=64, tile=5, fixed=("height",), floors={"N": 2})  # fmt: skip
def scores_far_from_zero_are_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, height: float, causal: bool, dtype: str
) -> None:
    """All scores near one height: exp of low ones is 0, and a hidden score that is a finite number is above them."""
    q, k = near(draw, (B, H, N, D), height)
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal).but(q=q, k=k)
    judge_at_height(partial(right_beside_plain, answer, draw), given, height)


@probe(*({"times": t, "dtype": d} for d in DTYPES for t in ABOVE),
       B=1, H=2, N=12, D=8, tile=4, fixed=("times",), floors={"N": 2})  # fmt: skip
def hidden_scores_far_above_change_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, times: float, dtype: str
) -> None:
    """Keys that score far above all before them leave o and dq before them as they were: a finite number that is added
    to hidden scores does not hide them."""
    q, k = positive(draw, (B, H, N, D))
    given = draw_inputs(draw, B, H, N, D, tile, dtype).but(q=q, k=k)
    plain = alive(results(answer, given), given)

    def require_hidden(times: float, title: str) -> None:
        for cut in sorted({1, N // 2, N - 1}):
            k = given.k.copy()
            k[:, :, cut:] *= k.dtype.type(times)
            got = results(answer, given.but(k=k))
            before = [Results(*(a[:, :, :cut] for a in each)) for each in (got, plain)]
            alike(*before, title.format, f"keys from {cut} on times {times:g}", answer, given, draw, ("o", "dq"))

    with expect.only_beside(lambda: require_hidden(0.5, LATER)):
        require_hidden(times, f"{LATER} whose scores lie far above")


@probe({"power": 400, "dtype": "float64"}, {"power": -400, "dtype": "float64"}, {"power": 50, "dtype": "float32"},
       {"power": -50, "dtype": "float32"}, {"power": 50, "dtype": "float32", "height": RISE, "tile": 1},
       B=1, H=1, N=12, D=4, tile=4, height=0.0, fixed=("power", "height"), floors={"N": 2})  # fmt: skip
def extreme_values_lose_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, power: int, height: float, dtype: str
) -> None:
    """q and v times 2^power and k over it, 1e120 at most, with do as it is, of plain scores and of those that rise: the
    weights are as they were, o is 2^power as large, dq as it was and dk 4^power times as large."""
    given, size = draw_inputs(draw, B, H, N, D, tile, dtype), 2.0**power
    if height:
        given = given.but(**dict(zip("qk", ramp(draw, given.q.shape, rising=True, height=height), strict=True)))
    plain = alive(results(answer, given), given)
    with expect.works(EXTREME):
        scaled = results(answer, given.but(q=given.q * size, k=given.k / size, v=given.v * size))
    # a power of two changes no digit
    wanted = plain._replace(o=(plain.o * size).astype(dtype), dk=(plain.dk * size * size).astype(dtype))
    doing = f"q and v times 2^{power}, k over it" + (f", scores that rise by {2 * height:g}" if height else "")
    try:
        alike(scaled, wanted, lambda _: EXTREME, doing, answer, given, draw)
    except ProbeFailure:
        require_digits_of_inputs(answer, given)
        raise


@probe(
    {"N": 16, "D": 64, "tile": 6, "dtype": "float32"}, {"N": 12, "D": 128, "tile": 4, "dtype": "float64"}, B=1, H=1,
    floors={"N": 2},
)  # fmt: skip
def error_ratios_are_small(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> Partial:
    """The error ratio of the worst output, each the median over `DRAWS` inputs: full marks to 4, none above 32."""
    ratios, uneven = [], set[str]()
    for _ in range(DRAWS):
        given = draw_inputs(draw, B, H, N, D, tile, dtype)
        each = list(zip(results(answer, given), *exact_and_spreads(given, draw), strict=True))
        for name, (got, right, _) in zip(FIELDS, each, strict=True):
            if not only_digits(abs(got - right), right, DIGITS):
                uneven.add(name)
        ratios.append([judge(got, right, spread).ratio for got, right, spread in each])
    figures = {f"{name}_error_ratio": float(r) for name, r in zip(FIELDS, np.median(ratios, axis=0), strict=True)}
    worst = max(figures, key=figures.__getitem__)
    seen, most = distinct(figures[worst], PASS, 3)
    detail = f"{worst} is {seen}: up to {FULL:g} earns all, at most {most} passes"
    if not (share := credit(figures[worst])):
        if (name := worst.removesuffix("_error_ratio")) in uneven:
            raise FaultElsewhere(f"{name} is wrong", "not by digits alone")
        require_digits_of_inputs(answer, given)
        raise ProbeFailure(INACCURATE, detail, measured=figures)
    return Partial(share, figures, detail if share < 1 else "")
