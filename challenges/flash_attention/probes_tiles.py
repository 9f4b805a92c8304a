"""Probes of tiling: the tile size changes nothing but rounding."""

from harness.probing import Answer, Draw, probe

from .binding import DTYPES, agree, alive, attention, draw_inputs, exact, spread

ROWS = {"B": 1, "H": 2, "N": 24, "D": 8}
LEAST = {"N": 3, "D": 2}


@probe(*({"dtype": d, "causal": c} for c in (True, False) for d in DTYPES), **ROWS, floors=LEAST)
def the_tile_size_changes_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, dtype: str, causal: bool
) -> None:
    """Tiles of one row, of some, of all but one, of all, and of more than there are."""
    given = draw_inputs(draw, B, H, N, D, N, dtype, causal=causal)
    whole, moved = alive(attention(answer, given), given), spread(given, draw)
    for tile in (1, 2, 3, N // 2, N // 2 + 1, N - 1, N + 1, 4 * N):
        title, doing = "the output depends on the tile size", f"tiles of {N} and of {tile} rows, N = {N}"
        agree(attention(answer, given.but(tile=max(1, tile))), whole, moved, title, doing)


@probe(
    *({"N": N, "tile": tile} for N, tile in ((5, 4), (7, 3), (9, 8), (3, 8), (5, 1), (17, 16), (33, 16), (31, 16))),
    B=2, H=1, D=4, dtype="float64",
)  # fmt: skip
def a_last_tile_of_any_length_counts(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """N that the tile does not divide, N below it, and tiles of one row, with the mask and without."""
    for causal in (True, False):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        title, doing = "a last tile that is not full gives wrong values", f"N = {N}, tiles of {tile}, causal={causal}"
        agree(attention(answer, given), exact(given), spread(given, draw), title, doing)
