"""Probes of what one call may see: rows do not see each other, and calls do not see each other."""

import numpy as np

from harness.probing import Answer, Array, Draw, InputUse, Keep, expect, laws, probe

from .binding import (
    FIELDS,
    GRADIENTS,
    Results,
    alive,
    all_agree,
    backward,
    cycle,
    draw_inputs,
    forward,
    gradient_plan,
    results,
    run_of,
    spreads,
)

EVEN = {"B": 2, "T": 4, "D": 4, "dtype": "float64"}
EVEN_32 = {"B": 2, "T": 4, "D": 4, "dtype": "float32"}
WIDE = {"B": 4, "T": 6, "D": 32, "dtype": "float64"}
PLAIN = {"B": 2, "T": 3, "D": 8, "dtype": "float64"}
PLAIN_32 = {"B": 2, "T": 3, "D": 8, "dtype": "float32"}
MANY_32 = {"B": 4, "T": 1025, "D": 17, "dtype": "float32"}
"""More than 65,536 entries, in many rows."""
ONE_WIDE = {"B": 1, "T": 1, "D": 65539, "dtype": "float64"}
"""Every argument has more than 65,536 entries, of the dtype that answers convert to: their own arrays are copies."""
ROWS = {"B": 2, "T": 2, "D": 3}
ARRAYS = ("x", "gamma", "beta", "dy")


@probe(EVEN, EVEN_32, WIDE, floors=ROWS)
def the_order_of_rows_does_not_matter(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L12: rows in another order give their y and dx in that order, and the same dgamma and dbeta."""
    given = draw_inputs(draw, B, T, D, dtype)
    order = cycle(draw, B * T)

    def moved(values: np.ndarray) -> np.ndarray:
        return values.reshape(B * T, D)[order].reshape(B, T, D)

    plain = alive(results(answer, given), given)
    mixed = results(answer, given.but(x=moved(given.x), dy=moved(given.dy)))
    wanted = plain._replace(y=moved(plain.y), dx=moved(plain.dx))
    all_agree(mixed, wanted, spreads(given, draw), "{} depends on the order of the rows".format, "rows reordered")


@probe(EVEN, EVEN_32, WIDE, floors=ROWS)
def half_a_batch_gives_half_the_results(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L13: some rows alone give what they give among others, and their dgamma and dbeta add up.

    The batch is halved along B and along T, so that no axis of length 1 is needed; `shapes` has those.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    whole, spread = alive(results(answer, given), given), spreads(given, draw)
    for axis, name in ((0, "batch items"), (1, "positions")):
        pieces = zip(np.array_split(given.x, 2, axis), np.array_split(given.dy, 2, axis), strict=True)
        parts = [results(answer, given.but(x=x, dy=dy)) for x, dy in pieces]
        y, dx = (np.concatenate([getattr(part, field) for part in parts], axis) for field in ("y", "dx"))
        joined = Results(y, dx, parts[0].dgamma + parts[1].dgamma, parts[0].dbeta + parts[1].dbeta)
        all_agree(whole, joined, spread, _of_rows, f"the {name} together and in two halves")


@probe(EVEN, EVEN_32, WIDE, floors=ROWS)
def only_the_rows_count(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L15: the same rows as (B,T,D), (T,B,D) and (B*T/2,2,D) give the same."""
    given = draw_inputs(draw, B, T, D, dtype)
    plain, spread = alive(results(answer, given), given), spreads(given, draw)
    for shape in ((T, B, D), (B * T // 2, 2, D)):
        other = results(answer, given.but(x=given.x.reshape(shape), dy=given.dy.reshape(shape)))
        wanted = plain._replace(y=plain.y.reshape(shape), dx=plain.dx.reshape(shape))
        title = "{} depends on how rows are split over the first two axes".format
        all_agree(other, wanted, spread, title, f"the rows as {shape}")


@probe(PLAIN, ONE_WIDE)
def inputs_stay_as_they_were(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L21: neither call writes to its arguments, large ones included."""
    run_of(answer, draw_inputs(draw, B, T, D, dtype))()


@probe(PLAIN, MANY_32)
def a_cache_belongs_to_its_forward(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L22: forward A, forward B, backward A gives A's gradients, to the last bit, and so does backward A again."""
    first, second = (draw_inputs(draw, B, T, D, dtype) for _ in range(2))
    y, cache = forward(answer, first)
    alone = alive(backward(answer, first.dy, cache, y), first)
    _, other = forward(answer, second)
    after = backward(answer, first.dy, cache, y)
    _identical(after, alone, "{} changes when another forward runs in between", "forward A, forward B, backward A")
    backward(answer, second.dy, other)
    again = backward(answer, first.dy, cache, y)
    _identical(again, alone, "{} changes when another backward runs in between", "backward A, backward B, backward A")


@probe(PLAIN)
def identical_calls_get_identical_replies(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L22: the same calls again, to the last bit, whatever was called before: other values in the same arrays, or the
    same values in another order."""
    given = draw_inputs(draw, B, T, D, dtype)
    other = given.but(**{name: laws.rearranged(getattr(given, name), draw.rng) for name in ARRAYS})
    laws.arrays_are_read_anew(run_of(answer, given), run_of(answer, other))
    laws.equal_calls_get_equal_replies(answer, run_of(answer, given), run_of(answer, other))


@probe({"parameters": "drawn", "B": 2, "T": 3}, {"parameters": "plain", "B": 1, "T": 1}, D=8, dtype="float64")
def results_belong_to_the_caller(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, parameters: str
) -> None:
    """L22: a caller may write to y, dx, dgamma and dbeta: none shares memory with the cache, an argument or another.

    Where gamma is 1 and beta 0, and in one row, several of them have the same values.
    """
    given = draw_inputs(draw, B, T, D, dtype)
    given = given if parameters == "drawn" else given.but(gamma=np.ones(D), beta=np.zeros(D))

    def program(caller: laws.Caller) -> laws.Arrays:
        *arrays, dy = caller.keeps(given.x, given.gamma, given.beta, given.dy)
        y, cache = answer.call("forward", *arrays, given.eps, returns=(Keep(), Keep()))
        taken = {"y": caller.takes(y, given.x.shape, dtype)}
        gradients = answer.call("backward", dy, cache, returns=(Keep(), Keep(), Keep()))
        plans = [Array((B, T, D) if name in ("dx", "x", "dy") else (D,), dtype) for name in (*GRADIENTS, *ARRAYS)]
        left = caller.takes_each((*gradients, *arrays, dy), plans)
        return taken | dict(zip((*GRADIENTS, *ARRAYS), left, strict=True))

    laws.results_belong_to_the_caller(answer, program)


@probe(PLAIN, PLAIN_32)
def views_of_any_layout_are_served(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """Sliced, strided, transposed and broadcast views give what contiguous arrays of the same values give."""
    given = draw_inputs(draw, B, T, D, dtype)
    laws.layouts_do_not_matter(run_of(answer, given))
    equal = given.but(x=np.broadcast_to(given.x[:, :1], given.x.shape), dy=np.broadcast_to(given.dy[:1], given.x.shape))
    laws.layouts_do_not_matter(run_of(answer, equal.but(gamma=np.full(D, 2))), [InputUse.BROADCAST])


@probe(PLAIN)
def inputs_may_be_read_only(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L21: neither call writes to its arguments, not even for a while."""
    laws.inputs_may_be_read_only(run_of(answer, draw_inputs(draw, B, T, D, dtype)))


@probe(PLAIN, MANY_32)
def earlier_results_stay(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L22: what a call returned is not changed by later calls on other inputs of the same shape."""
    first, second = (draw_inputs(draw, B, T, D, dtype) for _ in range(2))
    plan = (Array(first.x.shape, dtype), Keep())
    (y, cache), held = answer.call("forward", first.x, first.gamma, first.beta, first.eps, returns=plan, hold=True)
    gradients, held_gradients = answer.call(
        "backward", first.dy, cache, returns=gradient_plan(first.dy), hold=True
    )  # fmt: skip
    before = alive(Results(y, *gradients), first)
    results(answer, second)
    now, _ = answer.fetch(held, plan)
    later = Results(now, *answer.fetch(held_gradients, gradient_plan(first.dy)))
    _identical(later, before, "a later call changes the {} of an earlier one", "the arrays returned, looked at again")


def _identical(got: Results, wanted: Results, title: str, doing: str) -> None:
    for name in FIELDS:
        expect.same(name, getattr(got, name), getattr(wanted, name), title.format(name), doing)


def _of_rows(name: str) -> str:
    if name in ("y", "dx"):
        return f"{name} of a row depends on the other rows"
    return f"{name} does not add up over the rows"
