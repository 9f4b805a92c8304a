"""When faults made by machine act in an attention: sizes and values that meet each guard."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from harness.probing import Answer, Draw
from harness.probing.drivers import Drivers
from harness.probing.guards import Guard, Guards

from .scores import ramp

Shape = tuple[int, int, int, int, int]
"""B, H, N, D and the tile."""
NAMES = Path(__file__).with_name("guard_names.py").read_text(encoding="utf-8")


def drivers_of(
    draw: Callable[..., Any], call: Callable[[Answer, Any], object], judge: Callable[[Answer, Draw, Any], None]
) -> Drivers:
    """Return drivers of calls in either dtype, with the mask and without; see `Drivers`."""
    return Drivers(draw, call, judge, small, ("float32", "float64"), ({"causal": True}, {"causal": False}))


def guards_of(drivers: Drivers, longest: int, farthest: int, *further: Guard, names: str = "") -> Guards:
    """Return the guards of an attention.

    Args:
        drivers: of its calls.
        longest: the largest length past which a fault may act.
        farthest: the same of a row.
        further: guards of the challenge's own.
        names: source that follows `guard_names.py`, with what these ask.
    """
    driver = drivers.of
    guards = (
        Guard("always", driver(small)),
        Guard("N > t", driver(long), "N > {t}", low=2, high=longest),
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
        Guard("rows past t", driver(blocks), element="row > {t}", low=2, high=farthest),
        Guard("features past t", driver(wide), element="feature > {t}", low=2, high=200),
        Guard("t-th time in a call", driver(many_tiles), place="visit == {t}", low=2, high=40),
        *drivers.guards_of_history(8),
        Guard("negative zero", driver(small, with_negative_zeros), "negative_zero()"),
        Guard("zero query", driver(small, with_zero_query), "zero_query()"),
        Guard("equal keys", driver(small, with_equal_keys), "equal_keys()"),
        Guard("scores > t", driver(small, with_large_scores), "largest_score() > {t}", low=3, high=500),
        Guard("a ramp", driver(small, with_ramp), "largest_score() > 300 and tiles > 2"),
        *further,
        Guard("values > 10^t", driver(small, with_large_values), "largest_value() > 10.0 ** {t}", low=1, high=9),
    )  # fmt: skip
    return Guards(guards, NAMES + names, frozenset({"_check_arguments", "_require"}), frozenset({"tile_skipping"}))


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


def with_negative_zeros(draw: Draw, given: Any, t: int) -> Any:
    """Some entries are -0.0."""
    arrays = {field.name: getattr(given, field.name) for field in fields(given)}
    return given.but(**{name: np.where(draw.rng.random(given.q.shape) < 0.3, -0.0, array)
                        for name, array in arrays.items() if isinstance(array, np.ndarray)})  # fmt: skip


def with_zero_query(draw: Draw, given: Any, t: int) -> Any:
    """A query is zero."""
    q = given.q.copy()
    q[-1, -1, draw.integer(1, q.shape[2] - 1)] = 0.0
    return given.but(q=q)


def with_equal_keys(draw: Draw, given: Any, t: int) -> Any:
    """Two keys are equal."""
    k = given.k.copy()
    k[-1, -1, -1] = k[-1, -1, 0]
    return given.but(k=k)


def with_large_scores(draw: Draw, given: Any, t: int) -> Any:
    """A score is above t."""
    k = given.k.astype(np.float64)
    scores = np.abs(given.q.astype(np.float64) @ k.swapaxes(-1, -2)) / np.sqrt(given.q.shape[3])
    return given.but(k=k * 1.5 * t / scores.max())


def with_ramp(draw: Draw, given: Any, t: int) -> Any:
    """Scores that rise or fall by 800."""
    q, k = ramp(draw, given.q.shape, rising=bool(draw.integer(0, 1)))
    return given.but(q=q, k=k)


def with_large_values(draw: Draw, given: Any, t: int) -> Any:
    """A value is above 10^t."""
    return given.but(v=given.v / np.abs(given.v).max() * 10.0**t * 3)
