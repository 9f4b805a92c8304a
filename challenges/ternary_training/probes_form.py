"""Probes of form: dtypes, ragged and empty groups, group sizes, magnitudes, wrong arguments."""

from functools import partial

import numpy as np

from harness.probing import Answer, Array, Draw, Keep, Partial, Tree, expect, laws, probe

from .binding import DTYPES, Results, draw_inputs, forward, projected, results
from .bounds import require_within, right_on_plain_inputs

ROOM = 1 << 16


@probe(*({"columns": columns, "dtype": dtype} for columns in (12, 10, 3) for dtype in DTYPES), rows=3, out=4, group=4,
       fixed=("columns", "group"))  # fmt: skip
def results_have_the_dtype_of_the_inputs(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """t is int8; s, y, dx and dw are float32 for float32 and float64 for float64, in short groups too."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    room = Tree(ROOM)
    t, s = answer.call("project", given.w, group, returns=(room, room))
    y, cache = answer.call("linear_forward", given.x, given.w, group, returns=(room, Keep()))
    dx, dw = (None, None)
    if answer.has("linear_backward"):
        dx, dw = answer.call("linear_backward", given.dy, cache, returns=(room, room))
        expect.alive("dx", dx, given.dy, given.x)
    for name, values in zip(Results._fields, (t, s, y, dx, dw), strict=True):
        wanted = "int8" if name == "t" else dtype
        if values is None:
            continue
        found = values.dtype.name if isinstance(values, np.ndarray) else type(values).__name__
        seen = f"{found} for {dtype} inputs of {columns} entries in groups of {group}"
        expect.that(found == wanted, f"{name} has another dtype than it must", seen)
    expect.alive("y", y, given.x, given.w)


@probe(
    *({"columns": columns, "group": group, "dtype": dtype}
      for columns, group in ((5, 4), (33, 32), (63, 32), (7, 3), (100, 33)) for dtype in DTYPES),
    rows=3, out=4, fixed=("columns", "group"),
)  # fmt: skip
def the_last_group_may_be_short(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """The scale of a short last group is the mean over the entries that exist."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    got = results(answer, given)._replace(dw=None)  # no scale takes part in dw
    expect.alive("y", got.y, given.x)
    with right_on_plain_inputs(answer, draw, dtype):
        require_within(got, given, f"{columns} entries in groups of {group}", digits=False)


@probe(
    *({"columns": columns, "group": group, "dtype": dtype}
      for columns, group in ((6, 1), (1, 1), (1, 32), (6, 6), (6, 7), (6, 1000), (48, 16)) for dtype in DTYPES),
    rows=2, out=3, fixed=("columns", "group"),
)  # fmt: skip
def every_group_size_is_served(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """Groups of one entry, of a whole row, and larger than a row; and 32 where no size is given."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    got = results(answer, given)._replace(dw=None)
    with right_on_plain_inputs(answer, draw, dtype):
        require_within(got, given, f"{columns} entries in groups of {group}", digits=False)
    wide = draw_inputs(draw, 1, 96, out, 32, dtype)
    plan = (Array((out, 96), "int8"), Array((out, 3), dtype))
    t, s = answer.call("project", wide.w, returns=plan)
    with right_on_plain_inputs(answer, draw, dtype):
        require_within(Results(t, s, None, None, None), wide, "no group size given", digits=False)
    expect.alive("s", s)


@probe(*({"dtype": dtype} for dtype in DTYPES), rows=2, columns=24, out=4, group=8, fixed=("columns", "group", "out"))
def groups_of_zeros_give_zeros(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """A group of zeros, of either sign, a whole row of them, a whole matrix: t and s are 0, and nothing is NaN."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    for name, zero in {
        "a group": np.arange(columns) // group == 1,
        "the last group": np.arange(columns) // group == (columns - 1) // group,
        "a row": (np.arange(out) == 1)[:, None] & np.ones(columns, bool),
        "the matrix": np.ones(columns, bool),
    }.items():
        for value in (0.0, -0.0):
            each = given.but(w=np.where(zero, value, given.w))
            got = results(answer, each)
            with right_on_plain_inputs(answer, draw, dtype):
                require_within(got._replace(dw=None), each, f"{name} of {value:g}", digits=False)
            finite = got.dw is None or bool(np.isfinite(got.dw).all())
            expect.that(finite, "dw is not finite", f"{name} of {value:g}")


EXTREMES = {"float64": (1e-9, 1e-30, 1e-100, 1e100), "float32": (1e-9, 1e-12, 1e-30, 1e12)}


@probe(
    *({"size": size, "dtype": dtype} for dtype in DTYPES for size in EXTREMES[dtype]),
    rows=2, columns=24, out=4, group=8, fixed=("group",),
)  # fmt: skip
def tiny_and_huge_weights_keep_their_scale(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str, size: float
) -> None:
    """Weights of 1e-30, 1e-9 or 1e12: nothing is added to a scale, and no weight is taken for zero."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    given = given.but(w=given.w * size)
    t, s = projected(answer, given)
    y, _ = forward(answer, given)
    with right_on_plain_inputs(answer, draw, dtype):
        require_within(Results(t, s, y, None, None), given, f"weights of about {size:g}", digits=False)


@probe(rows=2, columns=6, out=3, group=3, dtype="float64", fixed=("rows", "columns", "out", "group"))
def wrong_arguments_raise_value_error(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> Partial:
    """Shapes that do not fit, among them such as would broadcast, and group sizes below 1 are refused.

    All groups are full: what goes wrong in a short one is `ragged_groups`'s."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    y, cache = forward(answer, given)
    expect.alive("y", y, given.x)
    attempts = {f"groups of {size}": ("project", given.w, size) for size in (0, -4)}
    attempts |= {f"w of shape {shape}": ("project", draw.normal(*shape), group) for shape in ((6,), (1, 3, 6))}
    attempts |= {
        f"x of shape {shape}": ("linear_forward", draw.normal(*shape), given.w, group)
        for shape in ((2, 5), (2, 1), (6,), (1, 2, 6))
    }
    attempts |= {
        f"dy of {shape}": ("linear_backward", draw.normal(*shape), cache) for shape in ((2, 4), (1, 3), (3,), (3, 3))
    }
    calls = {what: partial(answer.call, *asked, returns=Keep()) for what, asked in attempts.items()}
    return laws.each_refused(calls)
