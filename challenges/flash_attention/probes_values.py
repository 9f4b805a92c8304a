"""Probes of the values themselves: the output against the oracle, and laws that only right outputs keep."""

import contextlib
from functools import partial

import numpy as np

from harness.probing import Answer, Array, Draw, expect, probe
from harness.probing.failures import NotOffered, TrivialOutput

from .binding import DTYPES, FUNCTION, alive, attention, draw_inputs
from .bounds import alike, right
from .judgement import STRUCTURE

SMALL = {"B": 1, "H": 1, "N": 8, "D": 4, "tile": 4}
MIDDLE = {"B": 2, "H": 2, "N": 20, "D": 64, "tile": 8}
LARGE = {"B": 1, "H": 1, "N": 64, "D": 128, "tile": 20}
WIDE_TILES = {"B": 1, "H": 1, "N": 300, "D": 64, "tile": 130, "dtype": "float32"}
"""Tiles above 128, which do not divide N: an answer may cut them up, keys other than queries."""
LEAST = {"N": 2, "D": 2}


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE, LARGE) for dtype in DTYPES), floors=LEAST)
def o_matches_the_oracle(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """o is the weighted mean of v, twice: an earlier o of the same shape must not pass for the next one."""
    for _ in range(2):
        right(answer, draw_inputs(draw, B, H, N, D, tile, dtype), draw)


@probe(*({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES), WIDE_TILES, floors=LEAST)
def o_matches_the_oracle_without_the_mask(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """With causal=False every position sees all of them, where the answer is right with the mask."""
    for _ in range(2 if WIDE_TILES["N"] > N else 1):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=False)
        masked = partial(right, answer, given.but(causal=True), draw)
        with expect.only_beside(masked), expect.renamed("o is wrong without the mask"):
            right(answer, given, draw)


@probe(SMALL, floors=LEAST, dtype="float64")
def causal_is_the_default(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """A call without `causal` gives what one with causal=True gives."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    masked = alive(attention(answer, given), given)
    with contextlib.suppress(NotOffered):
        if np.allclose(masked, attention(answer, given.but(causal=False)), rtol=0, atol=STRUCTURE[dtype]):
            raise TrivialOutput("o is the same with the mask and without")
    with expect.works("a call without `causal` fails"):
        o = answer.call(FUNCTION, *given.arrays, tile, returns=Array(given.q.shape, dtype))
    title = "a call without `causal` is not causal"
    alike(o, masked, title, "causal left out, and causal=True", answer, given, draw)


@probe(MIDDLE, floors=LEAST, dtype="float64")
def weights_add_up_to_one(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """v + c gives o + c, and 2 v gives 2 o: the output is a mean of the values."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(attention(answer, given), given)
    title, lifted = "the weights of the values do not add up to 1", attention(answer, given.but(v=given.v + 3.0))
    alike(lifted, plain + 3.0, title, "v and v + 3", answer, given, draw)
    doubled = attention(answer, given.but(v=2 * given.v))
    alike(doubled, 2 * plain, "the output is not linear in v", "v and 2 v", answer, given, draw)


@probe(*({"D": D} for D in (3, 5, 12, 16, 20, 64, 100, 128, 200)),
       B=1, H=1, N=12, tile=4, dtype="float64", fixed=("D",))  # fmt: skip
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
    alike(attention(answer, moved), plain, title, "k and k + c", answer, given, draw)


@probe(SMALL, floors=LEAST, dtype="float64")
def the_first_row_is_the_first_value(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Position 0 sees itself alone, so o[0] = v[0]."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o, title = alive(attention(answer, given), given), "the first row is not the first value"
    alike(o[:, :, 0], given.v[:, :, 0], title, "o[0] and v[0]", answer, given, draw)


@probe({**MIDDLE, "B": 1, "N": 12, "tile": 4}, floors={"N": 3, "D": 2}, dtype="float64")
def the_past_is_seen(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """A key that outweighs all others gives its value to every later query, whichever it is."""
    for place in range(N):
        given = draw_inputs(draw, B, H, N, D, tile, dtype)
        k = 0.01 * given.k
        k[:, :, place] = 100.0
        pointed = given.but(q=np.abs(given.q) + 1, k=k)
        o = alive(attention(answer, pointed), pointed)
        wanted = np.where((np.arange(N) >= place)[:, None], given.v[:, :, place : place + 1], o)
        title, doing = "a key that outweighs all others does not give its value", f"such a key at position {place}"
        alike(o, wanted, title, doing, answer, given, draw)
