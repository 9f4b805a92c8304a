"""Probes of tiling: the tile sizes change nothing but rounding."""

import contextlib

from harness.probing import Answer, Draw, ProbeFailure, expect, probe
from harness.probing.conditions import TILES
from harness.probing.failures import Spared

from .binding import DTYPES, Inputs, Results, alive, draw_inputs, results
from .bounds import alike, judged, right

BOTH = ((1, 1), (2, 3), (3, 5), (9, 10), (17, 17), (72, 4), (5, 72))
"""Tile sizes of the forward and the backward that are tried at N = 18."""
ONE = (1, 5, 17)
"""Tile sizes of one pass, where the other has one tile."""
ODD = ((5, 4, 4), (7, 3, 64), (9, 8, 12), (17, 16, 128), (23, 8, 5), (220, 210, 64))
"""Further lengths, tile sizes of both passes, and features: tiles above 64, 128 or 200 may be cut up."""
LARGER = 4.0
"""Times normal, q and k of which most weights of a row are far below its largest."""
GRID = [(N, tile) for N in (8, 9, 18) for tile in (*range(1, N + 3), 2 * N)]
"""Lengths and tile sizes that tell under which condition an answer fails."""
PASSES = {"forward": "tile", "backward": "back_tile"}


@probe(
    *({"N": 18, "D": D, "tile": a, "back": b, "causal": c, "dtype": d}
      for c in (True, False) for D, d in zip((64, 4), DTYPES, strict=True) for a, b in BOTH),
    *({"N": 18, "D": 4, "tile": a, "back": b, "causal": c, "dtype": "float64"} for c in (True, False) for tile in ONE
      for a, b in ((tile, 18), (18, tile))),
    *({"N": N, "D": D, "tile": tile, "back": tile, "causal": c, "dtype": "float64"}
      for c in (True, False) for N, tile, D in ODD),
    B=1, H=1, fixed=("N", "D", "tile", "back"),
)  # fmt: skip
def the_tile_sizes_change_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, back: int, dtype: str, causal: bool
) -> None:
    """Tiles of one row, of some, of all but one and of more than there are, another size in each pass, give what one
    tile gives."""
    given = draw_inputs(draw, B, H, N, D, N, dtype, causal=causal)
    whole = alive(results(answer, given), given)
    try:
        _tiled(answer, given.but(tile=tile, back_tile=back), whole, draw)
    except ProbeFailure as why:
        where = _where(answer, given, draw)
        if not where:
            raise
        title = f"{'calls fail' if why.got is None else 'results are wrong'} where {where}"
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
    tiled = given.but(tile=tile, back_tile=tile)
    with expect.only_beside(lambda: right(answer, given, draw)), expect.renamed("a result depends on the tile size"):
        with expect.works(f"calls fail in tiles of {tile}"):
            got = results(answer, tiled)
        judged(answer, got, tiled, draw)


def _tiled(answer: Answer, given: Inputs, whole: Results, draw: Draw) -> None:
    """Require the results in tiles to be those of one tile."""
    doing = f"N = {given.q.shape[2]}, tiles of {given.tile} forward and {given.back_tile} backward, and one tile"
    with expect.works("whether calls fail depends on the tile size"):
        got = results(answer, given)
    alike(got, whole, "{} depends on the tile size".format, doing, answer, given, draw)


def _where(answer: Answer, like_it: Inputs, draw: Draw) -> str:
    """Return the condition of N and tile sizes that holds where the answer fails and nowhere else, if any does."""
    B, H, _, D = like_it.q.shape
    tried: dict[str, dict[tuple[int, int], bool]] = {name: {} for name in PASSES}
    for N, tile in GRID:
        given = draw_inputs(draw, B, H, N, D, N, like_it.dtype, causal=like_it.causal)
        whole = results(answer, given)
        for name, size in PASSES.items():
            with contextlib.suppress(Spared):
                try:
                    _tiled(answer, given.but(**{size: tile}), whole, draw)
                    tried[name][N, tile] = True
                except ProbeFailure:
                    tried[name][N, tile] = False
    passes = [name for name, found in tried.items() if not all(found.values())]
    words = f" in the {passes[0]}" if len(passes) == 1 else " in either pass"
    for name, met in TILES.items():
        if passes and all(met(*pair) is not right for each in passes for pair, right in tried[each].items()):
            return name + words
    return ""
