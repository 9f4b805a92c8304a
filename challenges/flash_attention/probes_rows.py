"""Probes of what a row may see: not the future, not other heads and batch items, not earlier calls."""

import numpy as np

from harness.probing import Answer, Array, Draw, InputUse, expect, probe

from .binding import DTYPES, FUNCTION, agree, alive, attention, draw_inputs, spread

PLAIN = {"B": 2, "H": 3, "N": 10, "D": 4, "tile": 4}
LEAST = {"B": 2, "H": 2, "N": 3, "D": 2}


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), {**PLAIN, "N": 24, "tile": 5, "dtype": "float64"},
       floors={"N": 3, "D": 2})  # fmt: skip
def the_future_is_hidden(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Other keys and values from position i on leave the output before i as it was, to the last bit."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(attention(answer, given), given)
    for cut in {1, N // 2, N - 1, min(tile, N - 1)}:
        k, v = given.k.copy(), given.v.copy()
        k[:, :, cut:], v[:, :, cut:] = (3 * draw.normal(B, H, N - cut, D) for _ in range(2))
        o = attention(answer, given.but(k=k, v=v))
        doing = f"keys and values from position {cut} on exchanged"
        title = "the output at a position depends on later ones"
        agree(o[:, :, :cut], plain[:, :, :cut], spread(given, draw), title, doing)


@probe(PLAIN, floors={"D": 2}, dtype="float64")
def the_first_row_is_the_first_value(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Position 0 sees itself alone, so o[0] = v[0]."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o = alive(attention(answer, given), given)
    agree(o[:, :, 0], given.v[:, :, 0], spread(given, draw), "the first row is not the first value", "o[0] and v[0]")


@probe(PLAIN, floors={"N": 3, "D": 2}, dtype="float64")
def the_past_is_seen(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A key that outweighs all others gives its value to every later query, whichever it is; without the mask, to the
    earlier ones too."""
    for place, causal in ((place, causal) for place in range(N) for causal in (True, False)):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        k = 0.01 * given.k
        k[:, :, place] = 100.0
        pointed = given.but(q=np.abs(given.q) + 1, k=k)
        o = alive(attention(answer, pointed), pointed)
        wanted = np.where((np.arange(N) >= (place if causal else 0))[:, None], given.v[:, :, place : place + 1], o)
        doing = f"a key at position {place} that outweighs all others, causal={causal}"
        # the others weigh less than exp(-90) beside it
        moved = float(np.finfo(dtype).eps) * float(np.abs(given.v).max())
        agree(o, wanted, moved, "a key that outweighs all others does not give its value", doing)


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), floors=LEAST)
def heads_and_items_stand_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Each batch item and each head alone gives what it gives among others."""
    for causal in (True, False):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        whole, moved = alive(attention(answer, given), given), spread(given, draw)
        for axis, name in ((0, "batch item"), (1, "head")):
            for place in (0, given.q.shape[axis] - 1):
                alone = given.but(**{n: a.take([place], axis) for n, a in zip("qkv", given.arrays, strict=True)})
                title = f"a {name} depends on the others"
                agree(attention(answer, alone), whole.take([place], axis), moved, title, f"{name} {place} alone")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def inputs_stay_as_they_were(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A call writes to none of its arguments, and works where it cannot."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o = answer.call(FUNCTION, *given.arrays, tile, True, returns=Array(given.q.shape, dtype), echo=True)
    alive(o, given)
    for name, before, after in zip("qkv", given.arrays, answer.echo, strict=True):
        expect.same(name, after, before, f"a call changes {name}")
    again = attention(answer, given, InputUse.READ_ONLY)
    expect.same("o", again, o, "o differs where the inputs are read-only")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def identical_calls_get_identical_replies(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The same call again, with another in between and alone in a new process, to the last bit."""
    given, other = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    once = alive(attention(answer, given), given)
    between = alive(attention(answer, other), other)
    expect.same("o", attention(answer, given), once, "o differs between identical calls", "the same call again")
    answer.fresh()
    alone = attention(answer, other)
    expect.same("o", between, alone, "o depends on earlier calls", "after another call, and in a new process")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def earlier_results_stay(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """What a call returned is not changed by later calls on other inputs of the same shape."""
    first, second = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    plan = Array(first.q.shape, dtype)
    o, held = answer.call(FUNCTION, *first.arrays, tile, True, returns=plan, hold=True)
    before = alive(o, first).copy()
    attention(answer, second)
    expect.same("o", answer.fetch(held, plan), before, "a later call changes the o of an earlier one",
                "the array returned, looked at again")  # fmt: skip

