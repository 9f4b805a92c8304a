"""Probes of accuracy where float arithmetic is delicate: large means, flat rows, extreme scales, and plain accuracy."""

from functools import partial

import numpy as np

from harness.numerics import FULL, PASS, credit, distinct, judge
from harness.probing import Answer, Draw, FaultElsewhere, Partial, ProbeFailure, expect, laws, probe

from .binding import (
    FIELDS,
    Floats,
    Inputs,
    Results,
    alive,
    all_agree,
    draw_inputs,
    draw_on_grid,
    exact,
    follow_scale,
    match_oracle,
    results,
    spreads,
    where_special,
)
from .probes_laws import NOT_FOLLOWED

SHIFT_BITS = {"float64": 18, "float32": 9}
"""Multiples of 2^-bits stay exact when 1e10 (float64: below 2^34, 53 bits) or 2e4 (float32: 2^15, 24 bits) is added."""
DRAWS = 3
LADDER = {"B": 2, "T": 3, "D": 16}


@probe(*({"offset": c} for c in (64.0, 1e4, 1e8, 1e10)), **LADDER, dtype="float64", floors={"D": 3})
def a_large_mean_costs_no_more_than_it_must(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, offset: float
) -> dict[str, float]:
    """L02, L05: x + c gives what x gives, as well as x + c still determines it.

    The shift is exact, so the oracle at x + c is the oracle at x, and what the answer gives at x stands for it: a
    wrong term shows in `gradients`, a lost digit shows here. The spread is that of the oracle at x + c.
    """
    given = draw_on_grid(draw, B, T, D, dtype, SHIFT_BITS[dtype])
    return _shifted(answer, draw, given, offset, "offset_error_ratio_64")


@probe(*({"offset": c} for c in (64.0, 1e2, 1e4)), {"offset": 2e4, "B": 1, "D": 1024}, **LADDER, dtype="float32",
       floors={"D": 3})  # fmt: skip
def a_large_mean_costs_no_more_than_it_must_in_single(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, offset: float
) -> dict[str, float]:
    """L02, L05 in float32, to 1e4, and in wide rows to 2e4."""
    given = draw_on_grid(draw, B, T, D, dtype, SHIFT_BITS[dtype])
    return _shifted(answer, draw, given, offset, "offset_error_ratio_32")


@probe({"D": 1, "dtype": "float64"}, {"D": 1, "dtype": "float32"}, B=2, T=3)
def one_feature_gives_beta_and_no_gradient(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L18: at D = 1, y = beta, dx = 0 and dgamma = 0, all finite."""
    given = draw_inputs(draw, B, T, D, dtype)
    with where_special(answer, draw, dtype):
        match_oracle(results(answer, given), given, draw)


@probe(
    *({"rows": rows, "dtype": dtype} for rows in ("constant", "zero") for dtype in ("float64", "float32")),
    B=2, T=3, D=6, floors={"D": 3},
)  # fmt: skip
def flat_rows_are_finite_and_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, rows: str
) -> None:
    """L18: constant rows and zeros, where only eps keeps 1/std finite, give the oracle's values.

    Constants are short binary numbers, whose squares are exact: what a mean costs in digits is another criterion's.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    level = np.round(16 * draw.normal(B, T, 1)) / 16 if rows == "constant" else np.zeros((B, T, 1))
    given = given.but(x=np.broadcast_to(level, given.x.shape))
    with where_special(answer, draw, dtype):
        match_oracle(results(answer, given), given, draw)


@probe(
    *({"power": p, "dtype": "float64"} for p in (332, -332)), *({"power": p, "dtype": "float32"} for p in (50, -50)),
    B=2, T=3, D=8, floors={"D": 3}, fixed=("power",),
)  # fmt: skip
def extreme_scales_lose_nothing(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, power: int) -> None:
    """L06 far out: x of scale 1e100 and 1e-100 in float64, 1e15 and 1e-15 in float32, with eps in proportion.

    L24 beside it: dy of either scale as well, where dy of that scale is served beside an ordinary x.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    plain = alive(results(answer, given), given)
    title, near = "{} does not survive extreme scales of x".format, 10 if power > 0 else -10
    with expect.only_beside(lambda: follow_scale(answer, draw, given, plain, near, NOT_FOLLOWED, digits=True)):
        follow_scale(answer, draw, given, plain, power, title, digits=True)
    title, alone = "{} does not survive extreme scales of x and dy together".format, "{} does not scale with dy".format
    for q in (power, -power):
        with expect.only_beside(partial(follow_scale, answer, draw, given, plain, 0, alone, upstream=q, digits=True)):
            follow_scale(answer, draw, given, plain, power, title, upstream=q, digits=True)


@probe(
    *({"B": 3, "T": 5, "D": 16, "dtype": dtype} for dtype in ("float64", "float32")),
    *({"B": 2, "T": 8, "D": 256, "dtype": dtype} for dtype in ("float64", "float32")), floors={"D": 3},
)  # fmt: skip
def error_ratios_are_small(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> Partial:
    """The error ratio of the worst output, each the median over `DRAWS` inputs: full marks to 4, none above 32.

    A single draw moves by a factor of two with its seed; right answers measure 1 to 2.5 in the median. Where most draws
    earn full marks so does their median, and the others are left out. An output that is another function has no
    accuracy: it is left to the criteria of values.
    """
    ratios, wrong = list[list[float]](), dict[str, FaultElsewhere]()
    while len(ratios) < DRAWS and not (len(ratios) > DRAWS // 2 and np.max(ratios) <= FULL and not wrong):
        given = draw_inputs(draw, B, T, D, dtype)
        each = list(zip(FIELDS, results(answer, given), exact(given), spreads(given, draw), strict=True))
        ratios.append([judge(got, right, spread).ratio for _, got, right, spread in each])
        for name, *compared in each:
            if why := _wrong_as_a_value(name, *compared):
                wrong.setdefault(name, why)
    medians = zip(FIELDS, np.median(ratios, axis=0), strict=True)
    figures = {f"{name}_error_ratio": float(ratio) for name, ratio in medians if name not in wrong}
    worst = max(figures, key=figures.__getitem__, default="")
    share = credit(figures[worst]) if worst else 1.0
    seen, most = distinct(figures.get(worst, 0.0), PASS, 3)
    detail = f"{worst} is {seen}: up to {FULL:g} earns all, at most {most} passes"
    if not share:
        raise ProbeFailure("results are less accurate than the inputs allow", detail, measured=figures)
    if wrong:
        raise next(iter(wrong.values()))
    return Partial(share, figures, detail if share < 1 else "")


def _wrong_as_a_value(name: str, got: Floats, right: Floats, spread: float) -> FaultElsewhere | None:
    """Return how an output is wrong that did not lose digits alone."""
    if not laws.only_digits_apart(got, right):
        try:
            expect.close(name, got, right, spread)
        except ProbeFailure as why:
            return FaultElsewhere(why.title, why.detail, where=why.where, expected=why.expected, got=why.got)
    return None


def _shifted(answer: Answer, draw: Draw, given: Inputs, offset: float, figure: str) -> dict[str, float]:
    plain = alive(results(answer, given), given)
    moved = given.but(x=given.x + offset)
    title = "{} loses digits when the mean of x is large".format
    doing = f"x and x + {offset:g}"
    with expect.only_beside(lambda: _near_zero(answer, draw, given, plain)):
        try:
            return {figure: all_agree(results(answer, moved), plain, spreads(moved, draw), title, doing, digits=True)}
        except ProbeFailure as failure:  # else the figure is of an offset that passed
            failure.measured |= {figure: failure.measured["error_ratio"]} if "error_ratio" in failure.measured else {}
            raise


def _near_zero(answer: Answer, draw: Draw, given: Inputs, plain: Results) -> None:
    """Require x + 1 to give what x gives, but for digits: no mean of that size costs more than a few."""
    moved = given.but(x=given.x + 1)
    title = "{} moves with the mean of x".format
    all_agree(results(answer, moved), plain, spreads(moved, draw), title, "x and x + 1")
