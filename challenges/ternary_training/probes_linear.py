"""Probes of the values themselves: projection, linear layer and its gradients against the oracle."""

import numpy as np
from numpy.typing import NDArray

from harness.numerics import beyond_rounding, conditioning
from harness.probing import Answer, Draw, Partial, ProbeFailure, expect, probe
from harness.probing.failures import Spared

from . import oracle
from .binding import DTYPES, Floats, Inputs, Results, backward, draw_inputs, forward, gradients, projected
from .bounds import apart_from_projection, open_entries, require_within, right_on_plain_inputs

SMALL = {"rows": 2, "columns": 8, "out": 3, "group": 4}
MIDDLE = {"rows": 5, "columns": 64, "out": 24, "group": 32}
BOTH = tuple({**sizes, "dtype": dtype} for sizes in (SMALL, MIDDLE) for dtype in DTYPES)
FULL, PASSING = 8.0, 32.0
"""Error ratios that earn all of a numeric criterion, and that pass at all: float32 sums in another order came to 6.2 on
40 inputs."""


@probe(*BOTH)
def the_projection_is_exact(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """t and s of normal matrices, twice: an earlier result of the same shape must not pass for the next one."""
    for _ in range(2):
        given = draw_inputs(draw, rows, columns, out, group, dtype)
        t, s = projected(answer, given)
        expect.alive("s", s)
        require_within(Results(t, s, None, None, None), given)


@probe(*({"dtype": dtype} for dtype in DTYPES), out=6, groups=3, group=8, fixed=("out", "groups", "group"))
def halves_are_rounded_to_even(answer: Answer, draw: Draw, *, out: int, groups: int, group: int, dtype: str) -> None:
    """|w| that is exactly half of its group's mean gives t = 0, in either kind of group."""
    w, thirds = _with_halves(draw, out, groups, group)
    given = draw_inputs(draw, 1, groups * group, out, group, dtype).but(w=w)
    away, halves = _halves_away(answer, given), oracle.ratios(w, group) == 0.5
    if not away.any():
        return
    row, column = map(int, np.argwhere(away)[0])
    where, sign = f"t[{row}, {column}]", int(np.sign(w[row, column]))
    mean = oracle.scales(w, group)[row, column // group]
    seen = f"{where}: t is {sign} for w = {w[row, column]:g} in a group of mean {mean:g}"
    counts = [(int(away[kind].sum()), int((halves & kind).sum())) for kind in (thirds, ~thirds)]
    for (wrong, all_), sizes in zip(counts, ("1/2 and 3/2", "1/2, 1 and 2"), strict=True):
        seen = f"{seen}; {wrong} of {all_} halves in groups of {sizes} times their mean are wrong"
    # the kinds alternate: a fault of some rows or columns shows in both
    spread_out = away.reshape(out, groups, group).any(axis=(0, 2)).all()
    by_kind = spread_out and 0 in (wrong for wrong, _ in counts)
    title = "w / s is not exact at a half" if by_kind else "a half is not rounded to even"
    (other,) = {*DTYPES} - {dtype}
    if _no_half_is_away(answer, draw_inputs(draw, 1, groups * group, out, group, other).but(w=w)):
        title, seen = f"{title} in {dtype}", f"{seen}; none in {other}"
    raise ProbeFailure(title, seen, where=where, expected=0, got=sign)


def _with_halves(draw: Draw, out: int, groups: int, group: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return w, and which of its entries are in a group of 1/2 and 3/2, times a power of two; others hold 1/2, 1 and 2.

    No sum rounds, in whatever order, nor does a quotient by the mean; one by the largest entry does for 3/2.
    """
    thirds = np.repeat((np.arange(out * groups) % 2 == 0).reshape(out, groups), group, axis=1)
    sizes = np.where(thirds, np.resize([0.5, 1.5], thirds.shape), np.resize([0.5, 1, 0.5, 2], thirds.shape))
    entries = draw.rng.permuted(sizes.reshape(out, groups, group), axis=2).reshape(thirds.shape)
    powers = oracle.spread(2.0 ** draw.rng.integers(-3, 4, (out, groups)), groups * group, group)
    return draw.rng.choice((-1.0, 1.0), thirds.shape) * entries * powers, thirds


def _halves_away(answer: Answer, given: Inputs) -> NDArray[np.bool_]:
    """Return which entries that are half of their group's mean are not given t = 0; all else must be right."""
    t, s = projected(answer, given)
    expect.alive("s", s)
    require_within(Results(t, s, None, None, None), given)
    return np.asarray((oracle.ratios(given.w, given.group_size) == 0.5) & (t != 0))


def _no_half_is_away(answer: Answer, given: Inputs) -> bool:
    """Return whether a projection is right, halves included."""
    try:
        return not _halves_away(answer, given).any()
    except (ProbeFailure, Spared):
        return False


@probe(*BOTH)
def y_matches_the_oracle(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """y = x (t s)^T, twice."""
    for _ in range(2):
        given = draw_inputs(draw, rows, columns, out, group, dtype)
        y, _ = forward(answer, given)
        expect.alive("y", y, given.x, given.w)
        with apart_from_projection(answer, given):
            require_within(Results(None, None, y, None, None), given)


@probe(*BOTH)
def gradients_match_the_oracle(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """dx and dw, for two gradients of one forward."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    _, cache = forward(answer, given)
    for each in (given, given.but(dy=draw.normal(rows, out))):
        dx, dw = backward(answer, each, cache)
        expect.alive("dx", dx, each.dy, each.x)
        expect.alive("dw", dw, each.x, each.w)
        require_within(Results(None, None, None, None, dw), each)
        with apart_from_projection(answer, each):
            require_within(Results(None, None, None, dx, None), each)


@probe(*({**MIDDLE, "dtype": dtype} for dtype in DTYPES), fixed=("group",))
def gradients_are_adjoint_to_the_layer(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """<dx, u> = <dy, forward(u)> for any u: dx runs through the very weights that the forward used."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    _, cache = forward(answer, given)
    dx, _ = backward(answer, given, cache)
    expect.alive("dx", dx, given.dy, given.x)
    other = given.but(x=draw.normal(rows, columns))
    y, _ = forward(answer, other)
    u, dy = other.x.astype(np.float64), given.dy.astype(np.float64)
    one, two = float((dx * u).sum()), float((dy * y).sum())
    terms = float((abs(dy) * (abs(u) @ abs(oracle.ternary(given.w, group).astype(np.float64)).T)).sum())
    limit = 2 * (columns + out + rows + group) * given.unit * terms
    seen = f"<dx, u> is {beyond_rounding(one, two, limit)}, as <dy, y(u)> is"
    with expect.only_beside(lambda: require_within(Results(None, None, y, None, None), other, digits=False)):
        expect.that(abs(one - two) <= limit, "dx is not adjoint to the layer", seen, difference=abs(one - two))


@probe({"dtype": "float64"}, {"dtype": "float32"}, rows=4, columns=24, out=6, group=8, fixed=("group",))
def the_gradient_passes_straight_through(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """dw is dy^T x whatever w is: at entries far beyond their scale, at zeros, in groups of zeros, at any size of w."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    far = given.w * np.where(draw.uniform(*given.w.shape) < 0, 30.0, 1.0)
    holed = np.where(np.arange(columns) < group, 0.0, given.w)
    for name, w in {"plain": given.w, "entries far beyond their scale": far, "a group of zeros": holed,
                    "w times 1000": given.w * 1000.0, "w times 1/1000": given.w / 1000.0}.items():  # fmt: skip
        each = given.but(w=w)
        _, cache = forward(answer, each)
        dx, dw = backward(answer, each, cache)
        expect.alive("dx", dx, each.dy, each.x)
        with right_on_plain_inputs(answer, draw, dtype):
            require_within(Results(None, None, None, None, dw), each, name, digits=False)


@probe({"dtype": "float64"}, {"dtype": "float32"}, rows=4, columns=24, out=6, group=8, fixed=("group",))
def dx_passes_through_the_ternary_weights(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> None:
    """dx for one unit of dy is a row of t s, for every row: no latent weight, no sign without its scale."""
    given = draw_inputs(draw, out, columns, out, group, dtype, scale="groups apart").but(dy=np.eye(out))
    _, cache = forward(answer, given)
    dx, _ = backward(answer, given, cache)
    with right_on_plain_inputs(answer, draw, dtype):
        require_within(Results(None, None, None, dx, None), given, "dy of one unit a row", digits=False)


@probe({"dtype": "float64"}, {"dtype": "float32"}, columns=40, out=5, group=8, fixed=("columns", "group"))
def groups_do_not_see_each_other(
    answer: Answer, draw: Draw, *, columns: int, out: int, group: int, dtype: str
) -> None:
    """Another value of one group changes t and s of that group alone."""
    given = draw_inputs(draw, 1, columns, out, group, dtype)
    t, s = projected(answer, given)
    expect.alive("s", s)
    row, place = draw.integer(0, out - 1), draw.integer(0, columns // group - 1)
    w = given.w.copy()
    w[row, place * group : (place + 1) * group] *= 64.0
    t_after, s_after = projected(answer, given.but(w=w))
    wanted = s.copy()
    wanted[row, place] *= given.w.dtype.type(64.0)
    expect.same("s", s_after, wanted, "a scale depends on other groups", "one group times 64")
    moved = (t_after != t) & ~open_entries(given)
    expect.that(not moved.any(), "t depends on the scale of a group", "one group times 64 changes t", moved=moved.sum())


@probe({"dtype": "float64"}, {"dtype": "float32"}, columns=24, out=6, group=8, fixed=("group",))
def signs_and_scales_follow_w(
    answer: Answer, draw: Draw, *, columns: int, out: int, group: int, dtype: str
) -> None:
    """-w gives -t and the same s; w times a power of two gives the same t and s times that power, where no scale is
    tiny or huge."""
    given = draw_inputs(draw, 1, columns, out, group, dtype)
    t, s = projected(answer, given)
    expect.alive("s", s)
    for factor in (-1.0, 2.0**-8, 2.0**8):
        t_after, s_after = projected(answer, given.but(w=given.w * factor))
        title = f"the projection does not follow the {'sign' if factor < 0 else 'size'} of w"
        expect.same("s", s_after, s * given.w.dtype.type(abs(factor)), title, f"w times {factor:g}")
        moved = (t_after != t * np.int8(np.sign(factor))) & ~open_entries(given)
        expect.that(not moved.any(), title, f"w times {factor:g} gives another t")


@probe(*({**MIDDLE, "dtype": dtype} for dtype in DTYPES))
def error_ratios_are_small(
    answer: Answer, draw: Draw, *, rows: int, columns: int, out: int, group: int, dtype: str
) -> Partial:
    """Error ratios of s, y, dx and dw: full credit to 8, none above 32."""
    given = draw_inputs(draw, rows, columns, out, group, dtype)
    free = open_entries(given)
    given = given.but(w=np.where(free, 0.0, given.w)) if free.any() else given
    _, s = projected(answer, given)
    y, cache = forward(answer, given)
    found = (s, y, *gradients(answer, given, cache))
    expect.alive("y", y, given.x)
    exact = _ratio_outputs(given.w, given.x, given.dy, group)
    # the signs t are held: whether an entry rounds up is asked elsewhere
    signs = np.where(oracle.project(given.w, group)[0] != 0, 1.0, 0.0)
    spreads = conditioning(
        lambda w, x, dy: _ratio_outputs(w, x, dy, group, signs), (given.w, given.x, given.dy), draw.rng
    )
    with right_on_plain_inputs(answer, draw, dtype):
        worst = max(
            expect.close(name, got, right, spread, limit=PASSING)
            for name, got, right, spread in zip(("s", "y", "dx", "dw"), found, exact, spreads, strict=True)
            if got is not None
        )
    share = 1.0 if worst <= FULL else 0.7
    return Partial(share, {"error_ratio": worst}, f"error ratio {worst:.3g}" if share < 1 else "")


def _ratio_outputs(
    w: Floats, x: Floats, dy: Floats, group: int, signs: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """s, y, dx and dw in long double, with t as given by `signs` where they are."""
    s = oracle.scales(w, group)
    t = oracle.project(w, group)[0] if signs is None else np.sign(w) * signs
    used = t * oracle.spread(s, w.shape[1], group)
    x, dy = np.asarray(x, np.longdouble), np.asarray(dy, np.longdouble)
    return s, x @ used.T, dy @ used, dy.T @ x
