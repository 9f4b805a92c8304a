"""Probes of what counts for what: tiles, the future, other heads and batch items, other calls."""

import numpy as np

from harness.probing import Answer, Array, Draw, InputUse, Keep, expect, probe

from .binding import (
    BACKWARD,
    DTYPES,
    FORWARD,
    Results,
    alive,
    all_agree,
    backward,
    draw_inputs,
    exact,
    forward,
    gradient_plan,
    identical,
    results,
    spreads,
)

PLAIN = {"B": 2, "H": 3, "N": 10, "D": 4, "tile": 4}
LEAST = {"B": 2, "H": 2, "N": 3, "D": 2}


@probe(*({"dtype": d, "causal": c} for c in (True, False) for d in DTYPES),
       B=1, H=2, N=18, D=4, floors={"N": 3, "D": 2})  # fmt: skip
def the_tile_sizes_change_nothing(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, dtype: str, causal: bool
) -> None:
    """Tiles of one row, of some, of all but one and of more than there are, another size in each pass."""
    given = draw_inputs(draw, B, H, N, D, N, dtype, causal=causal)
    whole, spread = alive(results(answer, given), given), spreads(given, draw)
    title = "{} depends on the tile size".format
    for tile, back in ((1, 1), (1, N), (2, 3), (3, 5), (N // 2, N // 2 + 1), (N - 1, N - 1), (4 * N, 4), (5, 4 * N)):
        got = results(answer, given.but(tile=max(1, tile), back_tile=max(1, back)))
        all_agree(got, whole, spread, title, f"N = {N}, tiles of {tile} forward and {back} backward, and one tile")


@probe(*({"N": N, "tile": tile} for N, tile in ((5, 4), (7, 3), (3, 8), (5, 1), (17, 16), (23, 8))),
       B=2, H=1, D=4, dtype="float64")  # fmt: skip
def a_last_tile_of_any_length_counts(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """N that the tile does not divide, N below it, and tiles of one row, with the mask and without."""
    for causal in (True, False):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        title, doing = "{} is wrong where the last tile is not full".format, f"N = {N}, tiles of {tile}"
        all_agree(results(answer, given), exact(given), spreads(given, draw), title, f"{doing}, causal={causal}")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), {**PLAIN, "N": 23, "dtype": "float64"},
       floors={"N": 3, "D": 2})  # fmt: skip
def the_future_is_hidden(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """What comes from position i on leaves o and dq before i alone; a do before i leaves dk and dv from i on alone."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain, spread = alive(results(answer, given), given), spreads(given, draw)
    for cut in {1, N // 2, N - 1, min(tile, N - 1)}:
        k, v, do = given.k.copy(), given.v.copy(), given.do.copy()
        k[:, :, cut:], v[:, :, cut:] = (3 * draw.normal(B, H, N - cut, D) for _ in range(2))
        got = results(answer, given.but(k=k, v=v))
        before = [Results(*(None if a is None else a[:, :, :cut] for a in each)) for each in (got, plain)]
        title = "{} at a position depends on later keys and values".format
        all_agree(*before, spread, title, f"keys and values from {cut} on exchanged", ("o", "dq"))
        do[:, :, :cut] = 3 * draw.normal(B, H, cut, D)
        got = results(answer, given.but(do=do))
        earlier = (np.arange(N) < cut)[:, None]
        wanted = Results(*(np.where(earlier, *each) for each in zip(got, plain, strict=True)))
        title = "{} of a position depends on do of earlier ones".format
        all_agree(got, wanted, spread, title, f"do before {cut} exchanged", ("dk", "dv"))


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES), floors=LEAST)
def heads_and_items_stand_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Each batch item and each head alone gives what it gives among others."""
    for causal in (True, False):
        given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
        whole, spread = alive(results(answer, given), given), spreads(given, draw)
        for axis, name in ((0, "batch item"), (1, "head")):
            for place in (0, given.q.shape[axis] - 1):
                parts = {n: getattr(given, n).take([place], axis) for n in ("q", "k", "v", "do")}
                wanted = Results(*(each.take([place], axis) for each in whole))
                title = f"{{}} of a {name} depends on the others".format
                all_agree(results(answer, given.but(**parts)), wanted, spread, title, f"{name} {place} alone")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def inputs_stay_as_they_were(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Neither pass writes to its arguments, and both work where they cannot."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plan = (Array(given.q.shape, dtype), Keep())
    o, cache = answer.call(FORWARD, *given.arrays, tile, True, returns=plan, echo=True)
    expect.alive("o", o, *given.arrays)
    for name, before, after in zip("qkv", given.arrays, answer.echo, strict=True):
        expect.same(name, after, before, f"the forward changes {name}")
    got = answer.call(BACKWARD, given.do, cache, tile, True, returns=gradient_plan(given), echo=True)
    expect.same("do", answer.echo[0], given.do, "the backward changes do")
    again = results(answer, given, InputUse.READ_ONLY)
    identical(again, Results(o, *got), "{} differs where the inputs are read-only", "the same calls, read-only")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def a_cache_belongs_to_its_forward(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Forward A, forward B, backward A gives A's gradients to the last bit, and so does backward A again."""
    first, second = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    o, cache = forward(answer, first)
    alone = alive(backward(answer, first, cache, o), first)
    _, other = forward(answer, second)
    after = backward(answer, first, cache, o)
    identical(after, alone, "{} changes when another forward runs in between", "forward A, forward B, backward A")
    backward(answer, second, other)
    again = backward(answer, first, cache, o)
    identical(again, alone, "{} changes when another backward runs in between", "backward A, backward B, backward A")
    answer.fresh()
    new = results(answer, first)
    identical(new, alone, "{} depends on earlier calls", "the same calls in a new process")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def identical_calls_get_identical_replies(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The same calls again, with others in between and alone in a new process, to the last bit."""
    given, other = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    once = alive(results(answer, given), given)
    between = alive(results(answer, other), other)
    identical(results(answer, given), once, "{} differs between identical calls", "both passes run twice")
    answer.fresh()
    alone = results(answer, other)
    identical(between, alone, "{} depends on earlier calls", "after other calls, and in a new process")


@probe(*({**PLAIN, "dtype": dtype} for dtype in DTYPES))
def earlier_results_stay(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """What a call returned is not changed by later calls on other inputs of the same shape."""
    first, second = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    plan = (Array(first.q.shape, dtype), Keep())
    (o, cache), held = answer.call(FORWARD, *first.arrays, tile, True, returns=plan, hold=True)
    gradients, held_too = answer.call(BACKWARD, first.do, cache, tile, True, returns=gradient_plan(first), hold=True)
    before = alive(Results(o, *gradients), first)
    results(answer, second)
    now, _ = answer.fetch(held, plan)
    later = Results(now, *answer.fetch(held_too, gradient_plan(first)))
    identical(later, before, "a later call changes the {} of an earlier one", "the arrays returned, looked at again")
