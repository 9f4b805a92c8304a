"""Probes of tiling: the tile size changes nothing but rounding."""

import contextlib

from harness.probing import Answer, Draw, ProbeFailure, expect, probe
from harness.probing.conditions import TILES
from harness.probing.failures import Spared

from .binding import DTYPES, Floats, Inputs, alive, attention, draw_inputs
from .bounds import alike, judged, right

MANY = (1, 2, 3, 5, 7, 8, 12, 13, 23, 25, 96)
"""Tile sizes tried at N = 24."""
ODD = (
    (5, 4, 4), (7, 3, 64), (9, 8, 12), (17, 16, 128), (31, 16, 5), (33, 16, 64), (150, 70, 64), (300, 130, 128),
)  # fmt: skip
"""Further lengths, tile sizes and features: tiles above 64 and 128 may be cut up."""
LARGER = 4.0
"""Times normal, q and k of which most weights of a row are far below its largest."""
GRID = [(N, tile) for N in (8, 9, 24) for tile in (*range(1, N + 3), 2 * N, 4 * N)]
"""Lengths and tile sizes that tell under which condition an answer fails."""


@probe(
    *({"N": 24, "tile": tile, "D": D, "causal": c, "dtype": d}
      for c in (True, False) for D, d in zip((64, 4), DTYPES, strict=True) for tile in MANY),
    *({"N": N, "tile": tile, "D": D, "causal": c, "dtype": "float64"} for c in (True, False) for N, tile, D in ODD),
    B=1, H=1, fixed=("N", "D", "tile"),
)  # fmt: skip
def the_tile_size_changes_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str, causal: bool
) -> None:
    """Tiles of one row, of some, of all but one and of more than there are give what one tile gives."""
    given = draw_inputs(draw, B, H, N, D, N, dtype, causal=causal)
    whole = alive(attention(answer, given), given)
    try:
        _tiled(answer, given, whole, tile, draw)
    except ProbeFailure as why:
        where, how = _where(answer, given, draw), "calls fail" if why.got is None else "the output is wrong"
        title = f"{how} where {where}" if where else "the output depends on the tile size"
        raise ProbeFailure(
            title, why.detail, where=why.where, expected=why.expected, got=why.got, measured=why.measured,
            locations=why.locations,
        ) from None  # fmt: skip


@probe(B=1, H=1, N=24, D=8, tile=2, causal=True, dtype="float64", floors={"N": 2})
def tiles_of_small_weights_count(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str, causal: bool
) -> None:
    """Where most weights are small, and one tile gives what is right, small tiles do, whatever is nothing in them."""
    given = draw_inputs(draw, B, H, N, D, N, dtype, causal=causal, times=LARGER)
    tiled = given.but(tile=tile)
    with expect.only_beside(lambda: right(answer, given, draw)), expect.renamed("the output depends on the tile size"):
        with expect.works(f"calls fail in tiles of {tile}"):
            got = attention(answer, tiled)
        judged(answer, got, tiled, draw, None, None)


def _tiled(answer: Answer, given: Inputs, whole: Floats, tile: int, draw: Draw) -> None:
    """Require the output in tiles of a size to be that of one tile."""
    doing = f"N = {given.q.shape[2]}, tiles of {tile} and of {given.tile} rows"
    with expect.works(f"fails in tiles of {tile}"):
        o = attention(answer, given.but(tile=tile))
    alike(o, whole, "the output depends on the tile size", doing, answer, given, draw)


def _where(answer: Answer, like_it: Inputs, draw: Draw) -> str:
    """Return the condition of N and tile sizes that holds where the answer fails and nowhere else, if any does."""
    B, H, _, D = like_it.q.shape
    tried: dict[tuple[int, int], bool] = {}
    for N, tile in GRID:
        given = draw_inputs(draw, B, H, N, D, N, like_it.dtype, causal=like_it.causal)
        with contextlib.suppress(Spared):
            try:
                _tiled(answer, given, attention(answer, given), tile, draw)
                tried[N, tile] = True
            except ProbeFailure:
                tried[N, tile] = False
    fitting = (name for name, met in TILES.items() if all(met(*pair) is not right for pair, right in tried.items()))
    return next(fitting, "")
