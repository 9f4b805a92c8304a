"""Probes of what a row may see: not the future, not other rows, heads and batch items, not earlier calls."""

from functools import partial

import numpy as np

from harness.probing import (
    Answer,
    Array,
    CallFailed,
    Draw,
    FaultElsewhere,
    InputUse,
    ProbeFailure,
    RemoteObject,
    expect,
    laws,
    probe,
)
from harness.probing.families import MAGNITUDES

from .binding import FUNCTION, Floats, Inputs, alive, attention, draw_inputs
from .bounds import alike
from .inputs import EXTREME, LATER

PLAIN = {"B": 2, "H": 3, "N": 12, "tile": 4}
WIDTHS = tuple({**PLAIN, "D": D, "dtype": dtype} for D, dtype in ((4, "float64"), (64, "float32"), (128, "float64")))
WIDE_TILES = {"B": 1, "H": 1, "N": 150, "D": 64, "tile": 70, "dtype": "float32"}
"""Tiles that an answer may cut up, keys other than queries."""
LEAST = {"B": 2, "H": 2, "N": 3, "D": 2}
NOISE = "the output differs between identical calls"
STRANGE = 1e3
"""Times as large: scores of what is strange are a million times those of the others."""


@probe(*WIDTHS, WIDE_TILES, floors={"N": 3, "D": 2})
def the_future_is_hidden(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """Other keys and values from position i on leave the output before i as it was."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(attention(answer, given), given)
    for cut in {1, N // 2, N - 1, min(tile, N - 1)}:
        k, v = given.k.copy(), given.v.copy()
        k[:, :, cut:], v[:, :, cut:] = (3 * draw.normal(B, H, N - cut, D) for _ in range(2))
        o = attention(answer, given.but(k=k, v=v))
        doing = f"keys and values from position {cut} on exchanged"
        alike(o[:, :, :cut], plain[:, :, :cut], LATER, doing, answer, given, draw)


@probe({"N": 12, "tile": 4, "dtype": "float64"}, {"N": 9, "tile": 12, "dtype": "float32"}, B=1, H=2, D=8,
       floors={"N": 2})  # fmt: skip
def large_values_are_hidden(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Values as large as the contract's from position i on leave the output before i at 0, to the last bit: a weight
    that is nearly 0 hides ordinary ones only."""
    given, size = draw_inputs(draw, B, H, N, D, tile, dtype), MAGNITUDES[dtype][1] / 10
    for cut in sorted({1, N // 2, N - 1}):
        v = given.v.copy()
        v[:, :, :cut] = 0.0
        doing = f"values from position {cut} on times {size:g}, zeros before"
        _unmoved(answer, given.but(v=v), given.but(v=v * size), cut, doing)


def _unmoved(answer: Answer, small: Inputs, large: Inputs, cut: int, doing: str) -> None:
    """Require equal outputs before a position, of inputs that differ in large values from there on."""
    plain = alive(attention(answer, small), small)
    try:
        o = attention(answer, large)
    except CallFailed as why:
        raise FaultElsewhere(EXTREME, f"{doing}: {why.title}", fault_of="extreme_scale") from None
    if not np.isfinite(o).all():
        raise FaultElsewhere(EXTREME, f"{doing}: NaN or infinity", fault_of="extreme_scale")
    with expect.only_beside(lambda: expect.same("o", attention(answer, small), plain, NOISE)):
        expect.same("o", o[:, :, :cut], plain[:, :, :cut], LATER, doing)


@probe(*({**widths, "causal": c} for c in (True, False) for widths in WIDTHS), floors=LEAST)
def heads_and_items_stand_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """Each batch item and each head alone gives what it gives among others."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)

    def alone(axis: int, place: int) -> laws.Arrays:
        parts = {name: array.take([place], axis) for name, array in zip("qkv", given.arrays, strict=True)}
        return {"o": attention(answer, given.but(**parts))}

    def agree(_: str, got: Floats, wanted: Floats, title: str, doing: str) -> float:
        return alike(got, wanted, title, doing, answer, given, draw)

    whole = {"o": alive(attention(answer, given), given)}
    laws.parts_stand_alone(whole, alone, {0: "batch item", 1: "head"}, agree)


@probe(*WIDTHS, floors=LEAST)
def what_is_strange_stays_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A head, a batch item or a query a thousand times as large leaves the outputs of the others as they were."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(attention(answer, given), given)
    for name, place, strange in (
        ("batch item", np.s_[-1:], "qkv"), ("head", np.s_[:, -1:], "qkv"), ("query", np.s_[:, :, -2:-1], "q"),
    ):  # fmt: skip
        arrays = {n: a.copy() for n, a in zip("qkv", given.arrays, strict=True)}
        for n in strange:
            arrays[n][place] *= STRANGE
        o = attention(answer, given.but(**arrays))
        o[place] = plain[place]
        title, doing = f"a {name} depends on the others", f"another {name} {STRANGE:g} times as large"
        alike(o, plain, title, doing, answer, given, draw)


@probe(*WIDTHS)
def inputs_stay_as_they_were(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A call writes to none of its arguments, and works where it cannot."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o = answer.call(FUNCTION, *given.arrays, tile, True, returns=Array(given.q.shape, dtype), echo=True)
    alive(o, given)
    laws.inputs_stay(dict(zip("qkv", given.arrays, strict=True)), answer.echo)
    laws.inputs_may_be_read_only(partial(_run, answer, given))


@probe(*WIDTHS, {**PLAIN, "D": 72, "dtype": "float32"})
def identical_calls_get_identical_replies(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The same call again, with another in between and alone in a new process, to the last bit."""
    given, other = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    laws.equal_calls_get_equal_replies(answer, partial(_run, answer, given), partial(_run, answer, other))


@probe({"first": "plain"}, {"first": "fewer"}, **PLAIN, D=4, dtype="float64", fixed=("first",), floors={"N": 6})
def replies_do_not_depend_on_other_lengths(
    answer: Answer, draw: Draw, *, first: str, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Calls with as many queries as keys and, where that is claimed, with fewer leave each other's replies alone."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    fewer = given.but(q=given.q[:, :, N // 6 :].copy())
    try:
        _run(answer, fewer)
    except ProbeFailure:
        return  # not offered, or charged where it is
    answer.fresh()
    run, other = (partial(_run, answer, each) for each in ((given, fewer) if first == "plain" else (fewer, given)))
    earlier = "as many queries as keys" if first == "plain" else "fewer queries than keys"
    laws.equal_calls_get_equal_replies(answer, run, other, f"a call with {earlier}")


@probe(*WIDTHS)
def earlier_results_stay(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """What a call returned is not changed by later calls on other inputs of the same shape."""
    first, second = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    plan = Array(first.q.shape, dtype)

    def held() -> tuple[laws.Arrays, RemoteObject]:
        o, kept = answer.call(FUNCTION, *first.arrays, tile, True, returns=plan, hold=True)
        return {"o": alive(o, first)}, kept

    laws.results_stay(held, partial(_run, answer, second), lambda kept: {"o": answer.fetch(kept, plan)})


def _run(answer: Answer, given: Inputs, *, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
    """One call of the answer, whose output is neither constant nor a copy."""
    return {"o": alive(attention(answer, given, inputs), given)}
