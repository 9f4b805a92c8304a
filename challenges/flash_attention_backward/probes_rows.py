"""Probes of what counts for what: the future, other rows, heads and batch items, other calls."""

from functools import partial

import numpy as np

from harness.probing import (
    Answer,
    Array,
    CallFailed,
    Draw,
    FaultElsewhere,
    InputUse,
    Keep,
    ProbeFailure,
    RemoteObject,
    expect,
    laws,
    probe,
)
from harness.probing.families import MAGNITUDES

from .binding import (
    BACKWARD,
    FIELDS,
    FORWARD,
    GRADIENTS,
    Floats,
    Inputs,
    Results,
    alive,
    backward,
    draw_inputs,
    forward,
    gradient_plan,
    identical,
    results,
)
from .bounds import alike
from .cache import cache_of
from .inputs import EXTREME, LATER

ARRAYS = ("q", "k", "v", "do")
NOISE = "{} differs between identical calls"
STRANGE = 1e3
"""Times as large: scores of what is strange are a million times those of the others."""
ENDS = (1e-15, 1e15)
"""The sizes of entries that are served in float32."""
ALONE = {"batch item": np.s_[-1:], "head": np.s_[:, -1:]}
"""The last of its kind, by kind."""
PLAIN = {"B": 2, "H": 3, "N": 12, "tile": 4}
WIDTHS = tuple({**PLAIN, "D": D, "dtype": dtype} for D, dtype in ((64, "float32"), (128, "float64")))
WIDE_TILES = {"B": 1, "H": 1, "N": 150, "D": 64, "tile": 70, "dtype": "float32"}
"""Tiles that an answer may cut up, keys other than queries."""
LEAST = {"B": 2, "H": 2, "N": 3, "D": 2}


@probe(*WIDTHS, WIDE_TILES, floors={"N": 3, "D": 2})
def the_future_is_hidden(answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str) -> None:
    """What comes from position i on leaves o and dq before i alone; a do before i leaves dk and dv from i on alone."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(results(answer, given), given)
    for cut in {1, N // 2, N - 1, min(tile, N - 1)}:
        k, v, do = given.k.copy(), given.v.copy(), given.do.copy()
        k[:, :, cut:], v[:, :, cut:] = (3 * draw.normal(B, H, N - cut, D) for _ in range(2))
        got = results(answer, given.but(k=k, v=v))
        before = [Results(*(a[:, :, :cut] for a in each)) for each in (got, plain)]
        doing = f"those from {cut} on exchanged"
        alike(*before, LATER.format, doing, answer, given, draw, ("o", "dq"))
        do[:, :, :cut] = 3 * draw.normal(B, H, cut, D)
        got = results(answer, given.but(do=do))
        after = [Results(*(a[:, :, cut:] for a in each)) for each in (got, plain)]
        title, doing = "{} of a position depends on do of earlier ones".format, f"do before {cut} exchanged"
        alike(*after, title, doing, answer, given, draw, ("dk", "dv"))


@probe({"N": 12, "tile": 4, "dtype": "float64"}, {"N": 9, "tile": 12, "dtype": "float32"}, B=1, H=2, D=8,
       floors={"N": 2})  # fmt: skip
def large_entries_are_hidden(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Large v and do from position i on leave o and dq before i at 0, and a large do before i dk and dv from i on, to
    the last bit: a weight that is nearly 0 hides ordinary entries only."""
    given, size = draw_inputs(draw, B, H, N, D, tile, dtype), MAGNITUDES[dtype][1] / 10
    alive(results(answer, given), given)
    for cut in sorted({1, N // 2, N - 1}):
        v, do = given.v.copy(), given.do.copy()
        v[:, :, :cut], do[:, :, cut:] = 0.0, 0.0
        late = np.where(np.arange(N) >= cut, size, 1.0)[:, None]
        doing = f"v and do from {cut} on times {size:g}, and zeros for v before"
        part, pair = np.s_[:, :, :cut], (given.but(v=v), given.but(v=v * late, do=given.do * late))
        _unmoved(answer, *pair, part, ("o", "dq"), LATER, doing)
        title, doing = "{} of a position depends on do of earlier ones", f"do before {cut} times {size:g}, then zeros"
        _unmoved(answer, given.but(do=do), given.but(do=do * size), np.s_[:, :, cut:], ("dk", "dv"), title, doing)


def _unmoved(
    answer: Answer, small: Inputs, large: Inputs, part: tuple[slice, ...], names: tuple[str, ...], title: str,
    doing: str,
) -> None:  # fmt: skip
    """Require equal results of a part, of inputs that differ in large entries that it does not see."""
    plain = results(answer, small)
    try:
        got = results(answer, large)
    except CallFailed as why:
        raise FaultElsewhere(EXTREME, f"{doing}: {why.title}", fault_of="extreme_scale") from None
    if not all(np.isfinite(array).all() for array in got):
        raise FaultElsewhere(EXTREME, f"{doing}: NaN or infinity", fault_of="extreme_scale")
    with expect.only_beside(lambda: identical(results(answer, small), plain, NOISE, "")):
        for name in names:
            expect.same(name, getattr(got, name)[part], getattr(plain, name)[part], title.format(name), doing)


@probe(*({**widths, "causal": c} for c in (True, False) for widths in WIDTHS), floors=LEAST)
def heads_and_items_stand_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """Each batch item and each head alone gives what it gives among others."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)

    def alone(axis: int, place: int) -> laws.Arrays:
        parts = {name: getattr(given, name).take([place], axis) for name in ARRAYS}
        return results(answer, given.but(**parts))._asdict()

    def agree(name: str, got: Floats, wanted: Floats, title: str, doing: str) -> None:
        pair = (Results(**{**dict.fromkeys(FIELDS), name: array}) for array in (got, wanted))
        alike(*pair, lambda _: f"{name} of {title}", doing, answer, given, draw, (name,))

    whole = alive(results(answer, given), given)._asdict()
    laws.parts_stand_alone(whole, alone, {0: "batch item", 1: "head"}, agree)


@probe(*WIDTHS, floors=LEAST)
def what_is_strange_stays_alone(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A head or a batch item a thousand times as large leaves the results of the others as they were; such a query, o
    and dq of the others."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plain = alive(results(answer, given), given)
    for part, place, strange, names in (
        *((part, place, ARRAYS, FIELDS) for part, place in ALONE.items()),
        ("query", np.s_[:, :, -2:-1], ("q",), ("o", "dq")),
    ):  # fmt: skip
        arrays = {name: getattr(given, name).copy() for name in strange}
        for array in arrays.values():
            array[place] *= STRANGE
        got = results(answer, given.but(**arrays))
        for name in names:
            getattr(got, name)[place] = getattr(plain, name)[place]
        title, doing = f"{{}} of a {part} depends on the others".format, f"another {part} {STRANGE:g} times as large"
        alike(got, plain, title, doing, answer, given, draw, names)


@probe({"part": "batch item"}, {"part": "head"}, **PLAIN, D=8, dtype="float32", fixed=("part",), floors=LEAST)
def a_huge_do_stays_alone(
    answer: Answer, draw: Draw, *, part: str, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The largest do in one head or batch item leaves the results of the others as they were, which have the smallest v
    and do."""
    low, high = ENDS
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    small = given.but(v=given.v * low, do=given.do * low)
    plain, do, place = alive(results(answer, small), small), small.do.copy(), ALONE[part]
    do[place] = np.clip(given.do[place], -1, 1) * high
    got = results(answer, small.but(do=do))
    for name in FIELDS:
        one, other = getattr(got, name), getattr(plain, name)
        unit = abs(other).max()  # differences of entries below 1 are judged beside 1
        one[place] = other[place]
        one /= unit
        other /= unit
    doing = f"do of another {part} times {high / low:g}; in units of the largest entry"
    alike(got, plain, f"{{}} of a {part} depends on do of the others".format, doing, answer, small, draw, FIELDS)


@probe(*WIDTHS)
def inputs_stay_as_they_were(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Neither pass writes to its arguments, and both work where they cannot."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    plan = (Array(given.q.shape, dtype), Keep())
    o, cache = answer.call(FORWARD, *given.arrays, tile, True, returns=plan, echo=True)
    expect.alive("o", o, *given.arrays)
    laws.inputs_stay(dict(zip("qkv", given.arrays, strict=True)), answer.echo)
    answer.call(BACKWARD, given.do, cache, tile, True, returns=gradient_plan(given), echo=True)
    expect.same("do", answer.echo[0], given.do, "a call changes do")
    laws.inputs_may_be_read_only(partial(_run, answer, given))


@probe(*({"option": option} for option in ("", "gqa", "fewer_queries", "blind_rows")), **PLAIN, D=4, dtype="float64",
       fixed=("option",))  # fmt: skip
def a_backward_leaves_its_cache(
    answer: Answer, draw: Draw, *, option: str, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """No array of a cache is written to, and all of them may be read-only, also with each option that is served."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    rows = {"fewer_queries": -(-N // 2), "blind_rows": 2 * N}.get(option, N)
    given = given.but(**{name: draw.normal(B, H * (1 + (option == "gqa")), rows, D) for name in ("q", "do")})
    try:
        _, cache = cache_of(answer, given)
        answer.call(BACKWARD, given.do, cache, tile, True, returns=gradient_plan(given), echo=True)
    except ProbeFailure:
        if option:
            return  # not offered, or charged where it is
        raise
    held = [name for name, value in cache.items() if isinstance(value, np.ndarray)]
    for name, after in zip(held, answer.echo[1:], strict=True):
        expect.same(name, after, cache[name], f"a backward changes {name} of its cache")
    with expect.works("a backward fails where its cache is read-only"):
        backward(answer, given, cache, inputs=InputUse.READ_ONLY)


@probe(*WIDTHS)
def a_cache_serves_many_backwards(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A second backward of a cache gives what the first one gave, to the last bit."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o, cache = forward(answer, given)
    once = alive(backward(answer, given, cache, o), given)
    title = "a cache serves one backward only"
    with expect.works(title):
        again = backward(answer, given, cache, o)
    with expect.only_beside(lambda: identical(results(answer, given), once, NOISE, "")):
        identical(again, once, title, "two backwards of one cache")


@probe(*WIDTHS)
def a_cache_belongs_to_its_forward(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Forward A, forward B, backward A gives A's gradients to the last bit, and so it does after a backward of B."""
    first, second = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    alone = alive(results(answer, first), first)
    for done in ("forward", "forward and backward"):
        o, cache = forward(answer, first)
        _, other = forward(answer, second)
        if done != "forward":
            backward(answer, second, other)
        with expect.works(f"a backward fails after the {done} of another call"):
            after = backward(answer, first, cache, o)
        with expect.only_beside(lambda: identical(results(answer, first), alone, NOISE, "")):
            identical(after, alone, f"{{}} changes where another {done} runs in between", "forward A, B, backward A")


@probe(*WIDTHS, {**PLAIN, "D": 72, "dtype": "float32"})
def identical_calls_get_identical_replies(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """The same calls again, with others in between and alone in a new process, to the last bit."""
    given, other = (draw_inputs(draw, B, H, N, D, tile, dtype) for _ in range(2))
    laws.equal_calls_get_equal_replies(answer, partial(_run, answer, given), partial(_run, answer, other))


@probe({"first": "plain"}, {"first": "fewer"}, **PLAIN, D=4, dtype="float64", fixed=("first",), floors={"N": 6})
def replies_do_not_depend_on_other_lengths(
    answer: Answer, draw: Draw, *, first: str, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """Calls with as many queries as keys and, where that is claimed, with fewer leave each other's replies alone."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    fewer = given.but(q=given.q[:, :, N // 6 :].copy(), do=given.do[:, :, N // 6 :].copy())
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
    plan, gradients = (Array(first.q.shape, dtype), Keep()), gradient_plan(first)

    def forward_held() -> tuple[laws.Arrays, RemoteObject]:
        (o, _), kept = answer.call(FORWARD, *first.arrays, tile, True, returns=plan, hold=True)
        return {"o": o}, kept

    def backward_held() -> tuple[laws.Arrays, RemoteObject]:
        o, cache = forward(answer, first)
        got, kept = answer.call(BACKWARD, first.do, cache, tile, True, returns=gradients, hold=True)
        return dict(zip(GRADIENTS, alive(Results(o, *got), first)[1:], strict=True)), kept

    later = partial(_run, answer, second)
    laws.results_stay(forward_held, later, lambda kept: {"o": answer.fetch(kept, plan)[0]})
    laws.results_stay(
        backward_held, later, lambda kept: dict(zip(GRADIENTS, answer.fetch(kept, gradients), strict=True))
    )


def _run(answer: Answer, given: Inputs, *, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
    """Both passes, whose outputs are neither constant nor copies."""
    return alive(results(answer, given, inputs), given)._asdict()
