"""When faults made by machine act in an attention or its backward, and inputs that meet each of these conditions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.probing import Answer, Draw
from harness.probing.guards import Driver, Guard, Guards

from .binding import DTYPES, Inputs, draw_inputs, results
from .bounds import require_within, right_and_bounds
from .inputs import ramp

Shape = tuple[int, int, int, int, int]
"""B, H, N, D and the tile."""
Shapes = Callable[[Draw, int], Shape]
Values = Callable[[Draw, Inputs, int], Inputs]
ROUGH = 60_000
"""Scores from which on the oracle works in float64."""


def judged(answer: Answer, draw: Draw, given: Inputs) -> None:
    """Both passes, right in every output."""
    B, H, N, _ = given.q.shape
    require_within(results(answer, given), *right_and_bounds(given, rough=B * H * N * N > ROUGH))


def as_drawn(draw: Draw, given: Inputs, t: int) -> Inputs:
    """The inputs as they are."""
    return given


def driver(shape: Shapes, values: Values = as_drawn, dtype: str = "", causal: bool | None = None) -> Driver:
    """Calls of one shape, with values that meet the guard, in either dtype or in one, with the mask and without."""

    def drive(answer: Answer, draw: Draw, t: int) -> None:
        for used in (dtype,) if dtype else DTYPES:
            for hidden in (True, False) if causal is None else (causal,):
                given = draw_inputs(draw, *shape(draw, t), used, causal=hidden)
                judged(answer, draw, values(draw, given, t))

    return drive


def small(draw: Draw, t: int) -> Shape:
    """A few heads of some positions, in several tiles."""
    N = draw.integer(5, 40)
    return draw.integer(1, 3), draw.integer(1, 3), N, draw.integer(2, 16), draw.integer(1, N)


def long(draw: Draw, t: int) -> Shape:
    """More than t positions."""
    N = t + draw.integer(1, 8 + t // 8)
    return 1, draw.integer(1, 2), N, draw.integer(2, 8), max(1, draw.integer(N // 12, N // 2))


def wide(draw: Draw, t: int) -> Shape:
    """More than t features."""
    N = draw.integer(4, 12)
    return 1, 2, N, t + draw.integer(1, 8 + t // 8), draw.integer(2, N)


def many_items(draw: Draw, t: int) -> Shape:
    """B over t."""
    return t + draw.integer(1, 4), draw.integer(1, 2), draw.integer(3, 8), draw.integer(2, 4), draw.integer(2, 4)


def many_heads(draw: Draw, t: int) -> Shape:
    """H over t."""
    return draw.integer(1, 2), t + draw.integer(1, 4), draw.integer(3, 8), draw.integer(2, 4), draw.integer(2, 4)


def large_tiles(draw: Draw, t: int) -> Shape:
    """A tile over t, in sequences of two to three of them and in shorter ones."""
    tile = t + draw.integer(1, 8)
    return 1, 1, draw.integer(max(2, tile // 2), 3 * tile), draw.integer(2, 6), tile


def many_tiles(draw: Draw, t: int) -> Shape:
    """More than t tiles."""
    tile = draw.integer(1, 3)
    return 1, 1, tile * (t + draw.integer(1, 3)), draw.integer(2, 6), tile


def one_tile(draw: Draw, t: int) -> Shape:
    """A tile larger than the sequence."""
    N = draw.integer(4, 30)
    return draw.integer(1, 2), draw.integer(1, 2), N, draw.integer(2, 8), N + draw.integer(1, 40)


def single_rows(draw: Draw, t: int) -> Shape:
    """Tiles of one row."""
    return 1, draw.integer(1, 2), draw.integer(4, 20), draw.integer(2, 8), 1


def length_left_over(draw: Draw, t: int) -> Shape:
    """N one short of a multiple of t."""
    N = t * draw.integer(1 + (t < 5), 4) - 1
    return 1, 2, N, draw.integer(2, 8), draw.integer(max(1, N // 8), N)


def features_left_over(draw: Draw, t: int) -> Shape:
    """D one short of a multiple of t."""
    N = draw.integer(4, 16)
    return 1, 2, N, t * draw.integer(1 + (t == 2), 4) - 1, draw.integer(2, N)


def ragged(draw: Draw, t: int) -> Shape:
    """A last tile that is not full."""
    tile = draw.integer(2, 12)
    return 1, 2, tile * draw.integer(1, 4) + draw.integer(1, tile - 1), draw.integer(2, 8), tile


def whole(draw: Draw, t: int) -> Shape:
    """Full tiles only."""
    tile = draw.integer(2, 12)
    return 1, 2, tile * draw.integer(2, 5), draw.integer(2, 8), tile


def blocks(draw: Draw, t: int) -> Shape:
    """More than t rows in a tile, and several tiles."""
    tile = t * draw.integer(1, 2) + draw.integer(1, t)
    return 1, 1, tile * 2 + draw.integer(0, tile), draw.integer(3, 12), tile


def with_negative_zeros(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Some entries are -0.0."""
    return given.but(**{name: np.where(draw.rng.random(given.q.shape) < 0.3, -0.0, getattr(given, name))
                        for name in ("q", "k", "v", "do")})  # fmt: skip


def with_zero_query(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A query is zero."""
    q = given.q.copy()
    q[-1, -1, draw.integer(1, q.shape[2] - 1)] = 0.0
    return given.but(q=q)


def with_equal_keys(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Two keys are equal."""
    k = given.k.copy()
    k[-1, -1, -1] = k[-1, -1, 0]
    return given.but(k=k)


def with_large_scores(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A score is above t."""
    k = given.k.astype(np.float64)
    scores = np.abs(given.q.astype(np.float64) @ k.swapaxes(-1, -2)) / np.sqrt(given.q.shape[3])
    return given.but(k=k * 1.5 * t / scores.max())


def with_ramp(draw: Draw, given: Inputs, t: int) -> Inputs:
    """Scores that rise or fall by 800."""
    q, k = ramp(draw, given.q.shape, rising=bool(draw.integer(0, 1)))
    return given.but(q=q, k=k)


def with_large_values(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A value is above 10^t."""
    return given.but(v=given.v / np.abs(given.v).max() * 10.0**t * 3)


def with_zero_do(draw: Draw, given: Inputs, t: int) -> Inputs:
    """A row of do is zero."""
    do = given.do.copy()
    do[-1, -1, draw.integer(1, do.shape[2] - 1)] = 0.0
    return given.but(do=do)


def with_large_do(draw: Draw, given: Inputs, t: int) -> Inputs:
    """An entry of do is above 10^t."""
    return given.but(do=given.do / np.abs(given.do).max() * 10.0**t * 3)


def after_calls(answer: Answer, draw: Draw, t: int) -> None:
    """More than t calls in one process."""
    for _ in range(t):
        results(answer, draw_inputs(draw, *small(draw, t), "float64"))
    for dtype in DTYPES:
        judged(answer, draw, draw_inputs(draw, *small(draw, t), dtype))


def of_one_shape(answer: Answer, draw: Draw, t: int) -> None:
    """Calls of one shape with other content."""
    shape = small(draw, t)
    for _ in range(3):
        judged(answer, draw, draw_inputs(draw, *shape, "float64"))


def of_other_dtypes(answer: Answer, draw: Draw, t: int) -> None:
    """Both dtypes in turn."""
    for dtype in ("float64", "float32", "float64"):
        judged(answer, draw, draw_inputs(draw, *small(draw, t), dtype))


GUARDS = Guards(
    (
        Guard("always", driver(small)),
        Guard("N > t", driver(long), "N > {t}", low=2, high=900),
        Guard("D > t", driver(wide), "D > {t}", low=2, high=1000),
        Guard("B > t", driver(many_items), "B > {t}", low=2, high=200),
        Guard("H > t", driver(many_heads), "H > {t}", low=2, high=200),
        Guard("tile > t", driver(large_tiles), "tile > {t}", low=2, high=500),
        Guard("tiles > t", driver(many_tiles), "tiles > {t}", low=2, high=60),
        Guard("a tile beyond N", driver(one_tile), "tile > N"),
        Guard("tiles of one row", driver(single_rows), "tile == 1 and N > 1"),
        Guard("a last tile not full", driver(ragged), "N > tile and N % tile"),
        Guard("full tiles", driver(whole), "N > tile and not N % tile"),
        Guard("N % t", driver(length_left_over), "N % {t} == {t} - 1", low=2, high=64),
        Guard("D % t", driver(features_left_over), "D % {t} == {t} - 1", low=2, high=64),
        Guard("without the mask", driver(small, causal=False), "not causal"),
        Guard("with the mask", driver(small, causal=True), "causal"),
        Guard("one row of t", driver(blocks), element="row % {t} == {t} - 1", low=2, high=100),
        Guard("rows past t", driver(blocks), element="row > {t}", low=2, high=150),
        Guard("features past t", driver(wide), element="feature > {t}", low=2, high=200),
        Guard("t-th time in a call", driver(many_tiles), place="visit == {t}", low=2, high=40),
        Guard("after t calls", after_calls, "calls > {t}", low=2, high=8),
        Guard("same shape again", of_one_shape, "repeated"),
        Guard("dtypes in turn", of_other_dtypes, "other_dtype"),
        Guard("float32", driver(small, dtype="float32"), "dtype == 'float32'"),
        Guard("negative zero", driver(small, with_negative_zeros), "negative_zero()"),
        Guard("zero query", driver(small, with_zero_query), "zero_query()"),
        Guard("equal keys", driver(small, with_equal_keys), "equal_keys()"),
        Guard("scores > t", driver(small, with_large_scores), "largest_score() > {t}", low=3, high=500),
        Guard("a ramp", driver(small, with_ramp), "largest_score() > 300 and tiles > 2"),
        Guard("zero row of do", driver(small, with_zero_do), "zero_do()"),
        Guard("do > 10^t", driver(small, with_large_do), "largest_do() > 10.0 ** {t}", low=1, high=9),
        Guard("values > 10^t", driver(small, with_large_values), "largest_value() > 10.0 ** {t}", low=1, high=9),
    ),
    names=Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8"),
    spared=frozenset({"_check_arguments", "_require"}),
    unasked=frozenset({"tile_skipping"}),
)  # fmt: skip
