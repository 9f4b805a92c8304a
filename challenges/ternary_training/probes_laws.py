"""Probes of what calls leave behind: inputs, earlier results and other caches stay as they were."""

from functools import partial

from harness.probing import Answer, Array, Draw, InputUse, Keep, expect, laws, probe

from .binding import DTYPES, Floats, Inputs, Results, backward, draw_inputs, forward, gradients, projected, results

SIZES = {"rows": 3, "columns": 24, "out": 4, "group": 8}
AGAIN = 1000.0
"""Roundings by which two gradients of one forward may differ; those of another forward differ by their whole size."""


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def inputs_stay_as_they_were(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """No call changes w, x or dy."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    projected(answer, given, echo=True)
    laws.inputs_stay({"w": given.w}, answer.echo)
    _, cache = forward(answer, given, echo=True)
    laws.inputs_stay({"x": given.x, "w": given.w}, answer.echo)
    dx, _ = gradients(answer, given, cache, echo=True)
    if dx is not None:
        laws.inputs_stay({"dy": given.dy}, answer.echo)
        expect.alive("dx", dx, given.dy, given.x)


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def inputs_may_be_read_only(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """No call writes to its arguments, not even for a while."""
    laws.inputs_may_be_read_only(run_of(answer, draw_inputs(draw, rows, columns, out, group, dtype)))


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def a_cache_belongs_to_its_forward(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """Three forwards, then their backwards in another order, one of them twice: each from its own cache."""
    given = [draw_inputs(draw, rows, columns, out, group, dtype) for _ in range(3)]
    alone = [_gradients(answer, each) for each in given]
    caches = [forward(answer, each)[1] for each in given]
    for place in (1, 0, 2, 1):
        found = backward(answer, given[place], caches[place])
        _same_gradients(given[place], found, alone[place], "several forwards alive at once")


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def a_cache_outlives_its_arguments(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """An optimiser updates w between forward and backward; the gradients are those of the forward."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    alone = _gradients(answer, given)
    plan = (Array((rows, out), dtype), Keep())
    _, cache = answer.call("linear_forward", given.x, given.w, group, returns=plan, inputs=InputUse.READ_ONLY)
    other = given.but(w=-3.0 * given.w)
    forward(answer, other)
    projected(answer, other)
    _same_gradients(given, backward(answer, given, cache), alone, "another w of the same shape in between")


def _gradients(answer: Answer, given: Inputs) -> tuple[Floats, Floats]:
    """dx and dw with nothing between forward and backward."""
    return backward(answer, given, forward(answer, given)[1])


def _same_gradients(given: Inputs, found: tuple[Floats, Floats], alone: tuple[Floats, Floats], meanwhile: str) -> None:
    """Gradients are those that the same forward has with nothing between, whether these are right or not."""
    expect.alive("dx", found[0], given.dy, given.x)
    for name, after, before in zip(("dx", "dw"), found, alone, strict=True):
        title = f"{name} depends on calls between forward and backward"
        expect.same(name, after, before, title, meanwhile, within=AGAIN * given.unit)


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def identical_calls_get_identical_replies(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """The same call twice, with others between, in one process and in a new one: the same bits."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    other = given.but(w=draw.normal(out, columns), x=draw.normal(rows, columns))
    laws.equal_calls_get_equal_replies(answer, run_of(answer, given), run_of(answer, other))


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def earlier_results_stay(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """t, s, y, dx and dw are as they were returned after later calls of the same shapes."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    plans = (
        (Array((out, columns), "int8"), Array((out, given.groups), dtype)),
        (Array((rows, out), dtype), Keep()),
        (Array((rows, columns), dtype), Array((out, columns), dtype)),
    )
    signs, kept_signs = answer.call("project", given.w, group, returns=plans[0], hold=True)
    layer, kept_layer = answer.call("linear_forward", given.x, given.w, group, returns=plans[1], hold=True)
    slopes, kept_slopes = answer.call("linear_backward", given.dy, layer[1], returns=plans[2], hold=True)
    results(answer, given.but(w=draw.normal(out, columns), x=draw.normal(rows, columns), dy=draw.normal(rows, out)))
    now = (*answer.fetch(kept_signs, plans[0]), answer.fetch(kept_layer, plans[1])[0],
           *answer.fetch(kept_slopes, plans[2]))  # fmt: skip
    for name, after, before in zip(Results._fields, now, (*signs, layer[0], *slopes), strict=True):
        expect.same(name, after, before, f"{name} does not stay as it was returned")
    expect.alive("y", layer[0], given.x)


@probe(*({"dtype": dtype} for dtype in DTYPES), **SIZES, fixed=("group",))
def arrays_are_read_anew(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """An optimiser writes to w: the same array with other contents gives another result."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    other = given.but(w=laws.rearranged(given.w, draw.rng))

    def run(each: Inputs, *, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        y, _ = forward(answer, each, inputs=inputs)
        t, s = projected(answer, each, inputs=inputs)
        return {"y": y, "t": t, "s": s}

    laws.arrays_are_read_anew(partial(run, given), partial(run, other))


def run_of(answer: Answer, given: Inputs) -> laws.ArrayCall:
    """Return a projection, a forward and its backward as the laws call them."""

    def run(*, inputs: InputUse = InputUse.FRESH) -> laws.Arrays:
        y, cache = forward(answer, given, inputs=inputs)
        expect.alive("y", y, given.x)
        found = Results(*projected(answer, given, inputs=inputs), y, *gradients(answer, given, cache, inputs=inputs))
        return {name: values for name, values in found._asdict().items() if values is not None}

    return run
