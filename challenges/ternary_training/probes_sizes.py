"""A probe of what nobody chose: drawn sizes, group sizes and values, every output at every position."""

from harness.probing import Answer, Array, Axis, Draw, Drawn, InputUse, Keep, probe

from .binding import DTYPES, FAMILIES, SCALES, Results, draw_inputs, gradients, projected
from .bounds import require_within

PLAIN = {"dtype": "float64", "family": "normal", "scale": "plain"}
ALWAYS = (
    {"rows": 3, "columns": 41, "out": 4, "group": 16}, {"rows": 130, "columns": 300, "out": 2, "group": 299},
    {"rows": 1, "columns": 70_001, "out": 1, "group": 40_000}, {"rows": 70_001, "columns": 2, "out": 1, "group": 2},
)  # fmt: skip
"""Sizes that always come: several groups with a short last one, and more of something than 15 or 16 bits count."""
USES = (InputUse.READ_ONLY, InputUse.OVERWRITTEN)


def products(rows: int, columns: int, out: int, group: int) -> float:
    """What a case costs: the long-double products, and the entries of w."""
    return float(rows * columns * out + 4 * columns * out)


@probe(
    *({**sizes, **PLAIN} for sizes in ALWAYS),
    drawn=Drawn(
        {"rows": Axis(1, 600), "columns": Axis(1, 2100), "out": Axis(1, 600), "group": Axis(1, 700)}, 88, products,
        150e3, {"dtype": DTYPES, "family": FAMILIES, "scale": SCALES},
    ),
)  # fmt: skip
def any_size_is_right(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str, family: str, scale: str
) -> dict[str, float]:
    """A few sizes that always come, then drawn ones, mostly small, of drawn families of values: all outputs are within
    what rounding may cost; one forward, a second one of other weights, then the backward of the first."""
    given = draw_inputs(draw, rows, columns, out, group, dtype, family, scale)
    t, s = projected(answer, given, inputs=InputUse.READ_ONLY)
    plan = (Array((rows, out), dtype), Keep())
    y, cache = answer.call("linear_forward", given.x, given.w, group, returns=plan, inputs=InputUse.READ_ONLY)
    other = given.but(w=draw.normal(out, columns))
    between = answer.call("linear_forward", given.x, other.w, group, returns=plan, inputs=InputUse.READ_ONLY)[0]
    require_within(Results(None, None, between, None, None), other, "a second forward")
    dx, dw = gradients(answer, given, cache, inputs=USES[draw.integer(0, 1)])
    return require_within(Results(t, s, y, dx, dw), given)
