"""Probes of what nobody chose: drawn sizes, tiles, values and histories of calls."""

import itertools
from collections.abc import Mapping
from typing import Any

from harness.probing import Answer, Axis, CallFailed, Draw, Drawn, FaultElsewhere, InputUse, ProbeFailure, probe
from harness.probing.families import values

from .binding import DTYPES, Inputs, Results, backward, forward, require_digits_of_inputs
from .bounds import judged, right
from .flash_attention.scores import ROWS
from .inputs import CHEAP, EVERY, EXTREME, SCORES, SIZED, inputs_of

ROUGH = 60_000
"""Scores from which on the oracle works in float64."""
TILES = 24
"""Tiles of a sequence at most, where sizes are drawn; `any_number_of_tiles_is_right` has more."""
WIDE = 132
"""Features of single positions of very many heads: more than the 128 that kernels often take at once."""
NORMAL = {"q": "normal", "k": "normal", "v": "normal", "do": "normal"}
LARGE = {"dtype": DTYPES, "causal": (True, True, False), "scores": ("plain",) * 3 + ("x30", "rising", "falling")}
"""Plain scores mostly: where one key has all the weight, most gradients are nothing, and faults of them unseen."""
SHARES = {"short": (-5.0, -2.0), "long": (-2.0, 0.5)}
"""Of the length, what a tile takes, as a power of two."""


def cost(B: int, H: int, N: int, D: int, tile: int, back: int) -> float:
    """What a case costs: products of scores and values, and what an answer takes that goes row by row."""
    return float(B * H * N * (N * (D + 12) + 2000))


def wide_tiles(**sizes: int) -> Mapping[str, int]:
    """Sizes with tiles that cut N into `TILES` at most: an answer takes its time over every pair of tiles."""
    return {**sizes, **{name: max(sizes[name], sizes["N"] // TILES) for name in ("tile", "back")}}


@probe(
    *({**NORMAL, "scores": "plain", "sized": "nothing", "dtype": dtype, **special}
      for special, dtype in zip(EVERY, itertools.cycle(DTYPES), strict=False)),
    B=2, H=1, N=9, D=5, tile=4, back=5, causal=True, floors={"N": 2},
    drawn=Drawn(
        {"B": Axis(1, 300), "H": Axis(1, 300), "N": Axis(2, 300), "D": Axis(1, 400), "tile": Axis(1, 400),
         "back": Axis(1, 400)}, 55, cost, 7.5e5,
        {"dtype": DTYPES, "causal": (True, True, False), "q": ROWS, "k": ROWS, "v": ROWS, "do": ROWS, "scores": SCORES,
         "sized": SIZED},
        adjust=wide_tiles,
    ),
)  # fmt: skip
def any_size_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, back: int, dtype: str, causal: bool,
    q: str, k: str, v: str, do: str, scores: str, sized: str,
) -> dict[str, float]:  # fmt: skip
    """Drawn sizes and tiles, mostly small, of drawn families of values: all outputs are within what rounding may cost.

    A single position has no gradient but dv; `every_shape_is_served` and the histories have it. What goes wrong with an
    array at the ends of the contract's magnitudes alone is a matter of `extreme_values_lose_nothing`.
    """

    def of(scores: str, sized: str = "nothing") -> Inputs:
        families = {"q": q, "k": k, "v": v, "do": do, "scores": scores, "sized": sized}
        return inputs_of(draw, (B, H, N, D), (tile, back), dtype, causal=causal, **families)

    try:
        return _judged(answer, draw, of(scores, sized))
    except CallFailed:
        raise
    except ProbeFailure as why:
        extreme = scores.startswith(("tiny", "huge"))
        if not extreme and sized == "nothing":
            raise
        _judged(answer, draw, plain := of("plain" if extreme else scores))
        require_digits_of_inputs(answer, plain)
        raise FaultElsewhere(EXTREME, why.detail, where=why.where, expected=why.expected, got=why.got) from None


@probe(
    {"N": 280, "causal": False, "tiles": "long"}, {"N": 950, "causal": True, "tiles": "short"},
    dtype="float32", scores="plain", floors={"N": 2},
    drawn=Drawn({"N": Axis(150, 1200)}, 11, lambda N: float(N), 1200.0, {**LARGE, "tiles": tuple(SHARES)}, 700.0),
)  # fmt: skip
def any_long_sequence_is_right(
    answer: Answer, draw: Draw, *, N: int, dtype: str, causal: bool, scores: str, tiles: str
) -> dict[str, float]:
    """Hundreds of positions, and more than a thousand, in many tiles or in few."""
    low, high = SHARES[tiles]
    tile, back = (_wide(round(N * 2 ** float(draw.uniform(1, low=low, high=high)[0])), N) for _ in range(2))
    sizes = (1, 1, N, draw.integer(1, 8))
    return _judged(answer, draw, inputs_of(draw, sizes, (tile, back), dtype, causal=causal, scores=scores, **NORMAL))


@probe(
    {"D": 777, "dtype": "float64"}, {"D": 2051, "dtype": "float32"}, causal=True, scores="plain",
    drawn=Drawn({"D": Axis(48, 1200)}, 20, choices=LARGE),
)  # fmt: skip
def any_wide_row_is_right(
    answer: Answer, draw: Draw, *, D: int, dtype: str, causal: bool, scores: str
) -> dict[str, float]:
    """Up to 1,200 features."""
    N = draw.integer(3, 20)
    sizes, tiles = (1, 1, N, D), (draw.integer(1, N), draw.integer(1, N))
    return _judged(answer, draw, inputs_of(draw, sizes, tiles, dtype, causal=causal, scores=scores, **NORMAL))


@probe(
    {"B": 150, "H": 2, "wide": False}, {"B": 2, "H": 150, "wide": False}, {"B": 2, "H": 1030, "wide": True},
    dtype="float32", causal=True, scores="plain",
    drawn=Drawn(
        {"B": Axis(1, 1500), "H": Axis(1, 1500)}, 16, lambda B, H: float(B * H) ** 4, 3000.0**4,
        {**LARGE, "wide": (False,)}, 1e3**4,
    ),
)  # fmt: skip
def any_large_batch_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, dtype: str, causal: bool, scores: str, wide: bool
) -> dict[str, float]:
    """Thousands of batch items and heads, of a few small rows each, or of one wide one."""
    N, D = (1, WIDE) if wide else (draw.integer(2, 7), draw.integer(1, 6))
    sizes, tiles = (B, H, N, D), (draw.integer(1, N), draw.integer(1, N))
    return _judged(answer, draw, inputs_of(draw, sizes, tiles, dtype, causal=causal, scores=scores, **NORMAL))


@probe(
    {"N": 45, "tile": 1}, dtype="float32", causal=True, scores="plain",
    drawn=Drawn(
        {"N": Axis(1, 110), "tile": Axis(1, 10)}, 10, lambda N, tile: float(N * N), 12100.0, LARGE,
    ),
)  # fmt: skip
def any_number_of_tiles_is_right(
    answer: Answer, draw: Draw, *, N: int, tile: int, dtype: str, causal: bool, scores: str
) -> dict[str, float]:
    """Up to 110 tiles of a row each."""
    sizes, tiles = (1, 1, N, draw.integer(1, 8)), (tile, draw.integer(tile, tile + 2))
    return _judged(answer, draw, inputs_of(draw, sizes, tiles, dtype, causal=causal, scores=scores, **NORMAL))


@probe(
    largest_tile=40, dtype="float32", causal=True, scores="plain", floors={"largest_tile": 8},
    drawn=Drawn({"largest_tile": Axis(12, 100)}, 4, choices={**LARGE, "scores": ("plain",)}),
)  # fmt: skip
def any_eight_tiles_are_right(
    answer: Answer, draw: Draw, *, largest_tile: int, dtype: str, causal: bool, scores: str
) -> None:
    """A tile and the seven sizes below it in both passes, in sequences of one tile and a part: whatever tiles leave
    over of 2, 4 or 8 rows, one of them does."""
    for tile in range(largest_tile - 7, largest_tile + 1):
        sizes = (1, 1, tile + draw.integer(1, tile), draw.integer(1, 8))
        given = inputs_of(draw, sizes, (tile, tile), dtype, causal=causal, scores=scores, **NORMAL)
        _judged(answer, draw, given)


@probe(
    drawn=Drawn(
        {"B": Axis(1, 6), "H": Axis(1, 6), "N": Axis(1, 120), "D": Axis(1, 64), "tile": Axis(1, 160),
         "back": Axis(1, 160)}, 14, cost, 1e5,
        {"dtype": DTYPES, "causal": (True, False), "family": CHEAP, "ahead": (1, 4)},
        adjust=wide_tiles,
    ),
)  # fmt: skip
def any_history_is_right(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, back: int, dtype: str, causal: bool,
    family: str, ahead: int,
) -> None:  # fmt: skip
    """`ahead` forwards before the first backward, several alive at once, their backwards in any order and repeatedly,
    other shapes and dtypes in turn: every result is right."""
    answer.fresh()
    living = []
    for turn in range(ahead + draw.integer(3, 10)):
        if turn < ahead or draw.integer(0, 1):
            other = turn and draw.integer(0, 2) == 0
            sizes = (H, B, N, D) if other else (B, H, N, D)
            used = DTYPES[1 - DTYPES.index(dtype)] if other and draw.integer(0, 1) else dtype
            hidden = causal if draw.integer(0, 2) else not causal
            tiles = max(tile if draw.integer(0, 2) else draw.integer(1, N + 1), N // TILES), max(back, N // TILES)
            names = NORMAL | {"k": family if turn % 2 else "normal", "scores": "plain"}
            given = inputs_of(draw, sizes, tiles, used, causal=hidden, **names)
            living.append((given, _forward(answer, draw, given)))
        else:
            given, cache = living[draw.integer(0, len(living) - 1)]
            again = given.but(do=values(draw, family if draw.integer(0, 1) else "normal", *given.q.shape))
            use = (InputUse.READ_ONLY, InputUse.OVERWRITTEN)[draw.integer(0, 1)]
            try:
                judged(answer, backward(answer, again, cache, inputs=use), again, draw)
            except ProbeFailure as why:
                _right_alone(answer, draw, again, why)


def _forward(answer: Answer, draw: Draw, given: Inputs) -> Any:
    """The cache of a forward whose output is right."""
    try:
        o, cache = forward(answer, given, InputUse.READ_ONLY)
        judged(answer, Results(o, None, None, None), given, draw)
    except ProbeFailure as why:
        _right_alone(answer, draw, given, why)
    return cache


def _right_alone(answer: Answer, draw: Draw, given: Inputs, why: ProbeFailure) -> None:
    """Blame earlier calls for a failure only where the same pair of passes is right in a new process.

    Raises:
        ProbeFailure: always.
    """
    answer.fresh()
    right(answer, given, draw, inputs=InputUse.READ_ONLY)
    title = why.title if isinstance(why, CallFailed) else "a result is wrong"
    raise ProbeFailure(
        f"{title} after other calls", f"{why.detail}; both passes are right in a new process", where=why.where,
        expected=why.expected, got=why.got, measured=why.measured, locations=why.locations,
    ) from None  # fmt: skip


def _wide(tile: int, length: int) -> int:
    """The tile, or what cuts the length into `TILES`."""
    return max(tile, length // TILES)


def _judged(answer: Answer, draw: Draw, given: Inputs) -> dict[str, float]:
    """The largest errors over their bounds of one forward and backward."""
    B, H, N, _ = given.q.shape
    return right(answer, given, draw, rough=B * H * N * N > ROUGH, inputs=InputUse.READ_ONLY)
