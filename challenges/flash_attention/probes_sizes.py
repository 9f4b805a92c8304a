"""Probes of what nobody chose: drawn sizes, tiles, values and histories of calls."""

import itertools
from collections.abc import Mapping
from functools import partial

from harness.probing import Answer, Axis, CallFailed, Draw, Drawn, FaultElsewhere, InputUse, ProbeFailure, expect, probe

from .binding import DTYPES, Inputs, require_digits_of_inputs
from .bounds import hidden_far_above, right
from .inputs import CHEAP, EVERY, EXTREME, SCORES, SIZES, inputs_of
from .scores import ABOVE, ROWS, positive

SAMPLED = 12
"""Rows of queries that are judged at large sizes, of each head."""
TILES = 40
"""Tiles of a sequence at most, where sizes are drawn; `any_number_of_tiles_is_right` has more."""
MANY = 300_000
"""Scores up to which all rows are judged."""
WIDE = 132
"""Features of single positions of very many heads: more than the 128 that kernels often take at once."""
PLAIN = {"q": "normal", "k": "normal", "v": "normal", "scores": "plain", "size_of_v": "plain"}


def cost(B: int, H: int, N: int, D: int, tile: int) -> float:
    """What a case costs: products of scores and values, and what an answer takes that goes row by row."""
    return float(B * H * N * (N * (D + 12) + 1000))


def wide_tiles(**sizes: int) -> Mapping[str, int]:
    """Sizes with a tile that cuts N into `TILES` at most: an answer takes its time over every pair of tiles."""
    return {**sizes, "tile": max(sizes["tile"], sizes["N"] // TILES)}


@probe(
    *({**PLAIN, "dtype": dtype, **special} for special, dtype in zip(EVERY, itertools.cycle(DTYPES), strict=False)),
    B=2, H=1, N=9, D=5, tile=4, causal=True, floors={"N": 2},
    drawn=Drawn(
        {"B": Axis(1, 400), "H": Axis(1, 400), "N": Axis(2, 400), "D": Axis(1, 600), "tile": Axis(1, 600)}, 80, cost,
        2e6, {"dtype": DTYPES, "causal": (True, True, False), "q": ROWS, "k": ROWS, "v": ROWS, "scores": SCORES,
              "size_of_v": SIZES},
        adjust=wide_tiles,
    ),
)  # fmt: skip
def any_size_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str, causal: bool, q: str, k: str,
    v: str, scores: str, size_of_v: str,
) -> dict[str, float]:  # fmt: skip
    """Drawn sizes and tiles, mostly small, of drawn families of values: within what rounding may cost.

    A single position gives its value whatever is wrong; `every_shape_is_served` and the histories have it. What goes
    wrong with an array at the ends of the contract's magnitudes alone is a matter of `extreme_values_lose_nothing`.
    """

    def of(scores: str, size_of_v: str = "plain") -> Inputs:
        families = {"q": q, "k": k, "v": v, "scores": scores, "size_of_v": size_of_v}
        return inputs_of(draw, (B, H, N, D), tile, dtype, causal=causal, **families)

    try:
        return _judged(answer, draw, of(scores, size_of_v))
    except CallFailed:
        raise
    except ProbeFailure as why:
        extreme = scores.startswith(("tiny", "huge"))
        if not extreme and size_of_v == "plain":
            raise
        _judged(answer, draw, plain := of("plain" if extreme else scores))
        require_digits_of_inputs(answer, plain)
        above = plain.but(**dict(zip("qk", positive(draw, plain.q.shape), strict=True)))
        with expect.apart_from(*([partial(hidden_far_above, answer, above, draw, ABOVE[-1])] if causal else [])):
            raise FaultElsewhere(EXTREME, why.detail, where=why.where, expected=why.expected, got=why.got) from None


LARGE = {"dtype": DTYPES, "causal": (True, True, False), "scores": ("plain", "x30", "rising", "falling")}


@probe(
    {"N": 500, "tile": 300, "causal": False}, {"N": 2400, "tile": 500, "causal": True},
    dtype="float32", scores="plain", floors={"N": 2},
    drawn=Drawn(
        {"N": Axis(200, 2400), "tile": Axis(16, 3000)}, 12, lambda N, tile: float(N) ** 8, 2400.0**8, LARGE, 1000.0**8,
        adjust=wide_tiles,
    ),
)  # fmt: skip
def any_long_sequence_is_right(
    answer: Answer, draw: Draw, *, N: int, tile: int, dtype: str, causal: bool, scores: str
) -> dict[str, float]:
    """Hundreds and thousands of positions, of which some rows are judged."""
    plain = {"q": "normal", "k": "normal", "v": "normal", "scores": scores}
    sizes = (1, 1, N, draw.integer(1, 24))
    return _judged(answer, draw, inputs_of(draw, sizes, tile, dtype, causal=causal, **plain))


@probe(
    {"D": 777, "dtype": "float64"}, {"D": 2051, "dtype": "float32"}, causal=True, scores="plain",
    drawn=Drawn({"D": Axis(48, 1500)}, 14, choices=LARGE),
)  # fmt: skip
def any_wide_row_is_right(
    answer: Answer, draw: Draw, *, D: int, dtype: str, causal: bool, scores: str
) -> dict[str, float]:
    """Up to 1,500 features."""
    plain = {"q": "normal", "k": "normal", "v": "normal", "scores": scores}
    N = draw.integer(3, 24)
    return _judged(answer, draw, inputs_of(draw, (1, 1, N, D), draw.integer(1, N), dtype, causal=causal, **plain))


@probe(
    {"B": 150, "H": 2, "wide": False}, {"B": 2, "H": 150, "wide": False}, {"B": 2, "H": 1030, "wide": True},
    dtype="float32", causal=True, scores="plain",
    drawn=Drawn(
        {"B": Axis(1, 3000), "H": Axis(1, 3000)}, 10, lambda B, H: float(B * H) ** 4, 6000.0**4,
        {**LARGE, "wide": (False,)}, 1e3**4,
    ),
)  # fmt: skip
def any_large_batch_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, dtype: str, causal: bool, scores: str, wide: bool
) -> dict[str, float]:
    """Thousands of batch items and heads, of a few small rows each, or of one wide one."""
    plain = {"q": "normal", "k": "normal", "v": "normal", "scores": scores}
    N, D = (1, WIDE) if wide else (draw.integer(2, 8), draw.integer(1, 8))
    sizes = (B, H, N, D)
    return _judged(answer, draw, inputs_of(draw, sizes, draw.integer(1, N), dtype, causal=causal, **plain))


@probe(
    {"N": 61, "tile": 1}, {"N": 97, "tile": 2}, dtype="float32", causal=True, scores="plain",
    drawn=Drawn(
        {"N": Axis(1, 150), "tile": Axis(1, 12)}, 10, lambda N, tile: float(N * N), 22500.0,
        {"dtype": DTYPES, "causal": (True, False), "scores": ("plain", "x30", "rising", "falling")},
    ),
)  # fmt: skip
def any_number_of_tiles_is_right(
    answer: Answer, draw: Draw, *, N: int, tile: int, dtype: str, causal: bool, scores: str
) -> dict[str, float]:
    """Up to 150 tiles of a row each."""
    plain = {"q": "normal", "k": "normal", "v": "normal", "scores": scores}
    return _judged(answer, draw, inputs_of(draw, (1, 1, N, draw.integer(1, 8)), tile, dtype, causal=causal, **plain))


@probe(
    largest_tile=40, dtype="float32", causal=True, scores="plain", floors={"largest_tile": 8},
    drawn=Drawn({"largest_tile": Axis(12, 160)}, 4, choices={**LARGE, "scores": ("plain",)}),
)  # fmt: skip
def any_eight_tiles_are_right(
    answer: Answer, draw: Draw, *, largest_tile: int, dtype: str, causal: bool, scores: str
) -> None:
    """A tile and the seven sizes below it, in sequences of one tile and a part: whatever tiles leave over of 2, 4 or 8
    rows, one of them does."""
    plain = {"q": "normal", "k": "normal", "v": "normal", "scores": scores}
    for tile in range(largest_tile - 7, largest_tile + 1):
        sizes = (1, 1, tile + draw.integer(1, tile), draw.integer(1, 8))
        _judged(answer, draw, inputs_of(draw, sizes, tile, dtype, causal=causal, **plain))


@probe(
    drawn=Drawn(
        {"B": Axis(1, 8), "H": Axis(1, 8), "N": Axis(1, 200), "D": Axis(1, 128), "tile": Axis(1, 260)}, 16, cost, 2e5,
        {"dtype": DTYPES, "causal": (True, False), "family": CHEAP}, adjust=wide_tiles,
    ),
)  # fmt: skip
def any_history_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str, causal: bool, family: str
) -> None:
    """Several calls in one process, of the same and of other shapes, dtypes and tiles, in arrays that are read-only or
    lie where earlier ones lay: every result is right."""
    answer.fresh()
    for turn in range(draw.integer(3, 12)):
        other = turn and draw.integer(0, 2) == 0
        sizes = (H, B, N, D) if other else (B, H, N, D)
        used = DTYPES[1 - DTYPES.index(dtype)] if other and draw.integer(0, 1) else dtype
        hidden = causal if draw.integer(0, 2) else not causal
        rows = tile if draw.integer(0, 2) else draw.integer(1, N + 1)
        names = {"q": "normal", "k": family if turn % 2 else "normal", "v": "normal", "scores": "plain"}
        use = (InputUse.READ_ONLY, InputUse.REUSED)[draw.integer(0, 1)]
        given = inputs_of(draw, sizes, max(rows, N // TILES), used, causal=hidden, **names)
        _right_after_others(answer, draw, given, use, turn)


def _right_after_others(answer: Answer, draw: Draw, given: Inputs, use: InputUse, earlier: int) -> None:
    """Require a right output, and blame the earlier calls only where the same call in a new process is right."""
    try:
        right(answer, given, draw, inputs=use)
    except ProbeFailure as why:
        answer.fresh()
        right(answer, given, draw, inputs=use)
        title = why.title if isinstance(why, CallFailed) else "o is wrong"
        raise ProbeFailure(
            f"{title} after other calls", f"{why.detail}; after {earlier} others, and right in a new process",
            where=why.where, expected=why.expected, got=why.got, measured=why.measured, locations=why.locations,
        ) from None  # fmt: skip


def _judged(answer: Answer, draw: Draw, given: Inputs) -> dict[str, float]:
    """The largest error over its bound, at all rows or at some."""
    B, H, N, _ = given.q.shape
    rows = None if B * H * N * N <= MANY else _some(draw, N, given.tile)
    return right(answer, given, draw, rows, InputUse.READ_ONLY)


def _some(draw: Draw, length: int, tile: int) -> list[int]:
    """The first and last rows, those around an end of a tile, and some between."""
    edge = tile * draw.integer(1, max(1, length // tile))
    drawn = draw.rng.integers(0, length, SAMPLED - 6)
    places = {0, 1, length - 1, length - 2, edge - 1, edge, *map(int, drawn)}
    return sorted(place for place in places if 0 <= place < length)
