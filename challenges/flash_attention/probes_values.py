"""Probes of the values themselves: the output against the oracle, and laws that only right outputs keep."""

import numpy as np

from harness.probing import Answer, Array, Draw, expect, probe

from .binding import DTYPES, FUNCTION, agree, alive, attention, draw_inputs, exact, right, spread

SMALL = {"B": 1, "H": 1, "N": 8, "D": 4, "tile": 4}
MIDDLE = {"B": 2, "H": 3, "N": 24, "D": 8, "tile": 8}
LARGE = {"B": 1, "H": 1, "N": 80, "D": 32, "tile": 32}
LEAST = {"N": 2, "D": 2}


@probe(
    *({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE, LARGE) for dtype in DTYPES), causal=True, floors=LEAST
)
def o_matches_the_oracle(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str, causal: bool
) -> None:
    """o is the weighted mean of v, twice: an earlier o of the same shape must not pass for the next one."""
    for _ in range(2):
        right(answer, draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal), draw)


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES), floors=LEAST)
def o_matches_the_oracle_without_the_mask(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """With causal=False every position sees all of them."""
    for _ in range(2):
        right(answer, draw_inputs(draw, B, H, N, D, tile, dtype, causal=False), draw)


@probe(SMALL, floors=LEAST, dtype="float64")
def causal_is_the_default(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A call without `causal` hides the future."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o = answer.call(FUNCTION, *given.arrays, tile, returns=Array(given.q.shape, dtype))
    title = "a call without `causal` is not causal"
    agree(alive(o, given), exact(given), spread(given, draw), title, "causal left out")


@probe(MIDDLE, floors=LEAST, dtype="float64")
def weights_add_up_to_one(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """v + c gives o + c, and 2 v gives 2 o: the output is a mean of the values."""
    for causal in (True, False):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        lifted = given.but(v=given.v + 3.0)
        plain, moved = alive(attention(answer, given), given), spread(lifted, draw)
        title = "the weights of the values do not add up to 1"
        agree(attention(answer, lifted), plain + 3.0, moved, title, "v and v + 3")
        doubled = attention(answer, given.but(v=2 * given.v))
        agree(doubled, 2 * plain, moved, "the output is not linear in v", "v and 2 v")


@probe({"D": 1}, {"D": 3}, {"D": 16}, {"D": 64}, B=1, H=1, N=12, tile=5, dtype="float64", fixed=("D",))
def scores_are_scaled_by_the_features(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The scale is 1/sqrt(D) at every D."""
    right(answer, draw_inputs(draw, B, H, N, D, tile, dtype), draw)


@probe(MIDDLE, floors=LEAST, dtype="float64")
def scores_do_not_see_a_common_shift(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A vector added to every key moves all scores of a row alike, and changes nothing."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    moved = given.but(k=given.k + draw.normal(B, H, 1, D))
    plain = alive(attention(answer, given), given)
    title = "a vector added to every key changes the output"
    agree(attention(answer, moved), plain, max(spread(given, draw), spread(moved, draw)), title, "k and k + c")
    expect.that(bool(np.isfinite(plain).all()), "o is not finite")
