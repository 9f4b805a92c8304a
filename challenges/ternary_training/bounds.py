"""How far an honest projection or linear layer may be from the exact one, for every entry, at any size.

The model is fl(a op b) = (a op b)(1 + d), |d| <= u. In any order of summation a sum of n terms is off by at most
(n - 1) u sum|t| (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, eq. 4.4). So

* a scale s, the mean of m <= group_size sizes, is off by at most (m + ROUNDINGS) u s;
* y is off by (in + m + ROUNDINGS) u (|x| |t s|^T): the sum over `in`, the scale, and a few roundings; where scales are
  applied to partial sums of groups these are fewer. dx likewise with `out`, dw with `rows` and without a scale;
* |w|/s is off by (m + ROUNDINGS) u of itself. An entry nearer to 0.5 than that, or than 1e-6, may go either way: it is
  *open*. If it does, y moves by |x| s at that entry, and dx by |dy| s.

What underflows is off by no more than the smallest normal number for each term.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.numerics import beyond_rounding, instead
from harness.probing import Answer, CallFailed, Draw, ProbeFailure, expect
from harness.probing.failures import Spared

from . import oracle
from .binding import Inputs, Results, draw_inputs, results

Floats = NDArray[Any]
LEAST_OPEN = 1e-6
COARSE = {"float64": 2.0**-24, "float32": 2.0**-13}
"""What one operation costs an answer that loses digits, as in the next narrower type: less is no fault of structure."""
ROUNDINGS = 6
"""Elementary operations on the way to one entry, outside its longest sum."""


def open_entries(given: Inputs) -> NDArray[np.bool_]:
    """Where t may be either of two values."""
    cost = (min(given.group_size, given.w.shape[1]) + ROUNDINGS) * given.unit
    near: NDArray[np.bool_] = np.abs(oracle.ratios(given.w, given.group_size) - 0.5) <= max(LEAST_OPEN, cost / 2)
    return near


def right_and_bounds(
    given: Inputs, unit: float, own: tuple[Floats, Floats] | None = None
) -> tuple[Results, Results]:
    """Return the exact outputs, and for each entry how far an answer may be from it, of which an operation costs
    `unit`; t by 0, or 1 where open. They are those of another projection where one is given as t and s."""
    size = given.group_size
    t, s = own or oracle.project(given.w, size)
    wide = given.wide
    entries = oracle.spread(s, given.w.shape[1], size).astype(wide)
    used, free = t * entries, (open_entries(given) & (own is None)) * entries
    x, dy = given.x.astype(wide), given.dy.astype(wide)
    terms = min(size, given.w.shape[1]) + ROUNDINGS
    rows, columns, out = len(x), x.shape[1], len(used)
    tiny = float(np.finfo(given.w.dtype).tiny)
    sizes = [np.abs(each).astype(np.float64) for each in (x, used, free, dy)]
    bounds = Results(
        open_entries(given).astype(np.float64),
        terms * unit * s.astype(np.float64) + tiny,
        (columns + terms) * unit * (sizes[0] @ sizes[1].T) + sizes[0] @ sizes[2].T + columns * tiny,
        (out + terms) * unit * (sizes[3] @ sizes[1]) + sizes[3] @ sizes[2] + out * tiny,
        (rows + ROUNDINGS) * unit * (sizes[3].T @ sizes[0]) + rows * tiny,
    )
    return Results(t, s, x @ used.T, dy @ used, dy.T @ x), bounds


def require_within(got: Results, given: Inputs, doing: str = "", *, digits: bool = True) -> dict[str, float]:
    """Require that every output that was got is within its bounds; return the largest error over its bound, by name.

    Args:
        got: the outputs.
        given: the inputs.
        doing: what was asked for, in a phrase.
        digits: whether lost digits count; other criteria judge them.

    Raises:
        ProbeFailure: one is not; the message names the worst entry.
    """
    if not digits and _loses_digits_at_most(got, given):
        return {}
    worst = [
        _within(name, values, exact, bound, doing)
        for name, values, exact, bound in zip(Results._fields, got, *right_and_bounds(given, given.unit), strict=True)
        if values is not None
    ]
    return {"error_over_bound": max(worst)}


@contextmanager
def right_on_plain_inputs(answer: Answer, draw: Draw, dtype: str) -> Iterator[None]:
    """Charge an output that is wrong in the block only where plain inputs, in full groups, give a right one.

    Args:
        answer: whose output it is.
        draw: of the plain inputs.
        dtype: of all inputs.
    """
    try:
        yield
    except ProbeFailure as why:
        name = why.where.partition("[")[0]
        if name not in Results._fields:
            raise
        plain = draw_inputs(draw, 4, 16, 6, 8, dtype)
        nothing = Results(None, None, None, None, None)
        with expect.only_beside(
            lambda: require_within(
                nothing._replace(**{name: getattr(results(answer, plain), name)}), plain, digits=False
            )
        ):
            raise


@contextmanager
def apart_from_projection(answer: Answer, given: Inputs) -> Iterator[None]:
    """Leave a y or dx that is wrong in the block to `projection`, where it is right for the answer's own t and s."""
    try:
        yield
    except CallFailed:
        raise
    except ProbeFailure as why:
        if follows_from_projection(answer, given):
            why.fault_of = "projection"
        raise


def follows_from_projection(answer: Answer, given: Inputs) -> bool:
    """Return whether the answer's own t and s are wrong, and y and dx are what they give, but for digits."""
    try:
        got = results(answer, given)
        require_within(got._replace(y=None, dx=None, dw=None), given, digits=False)
        return False
    except (CallFailed, Spared):
        return False
    except ProbeFailure:
        pass
    right, bounds = right_and_bounds(given, COARSE[given.dtype], (got.t, got.s))
    return all(
        values is None or bool((np.abs(values - exact) <= bound).all())
        for values, exact, bound in ((got.y, right.y, bounds.y), (got.dx, right.dx, bounds.dx))
    )


def _loses_digits_at_most(got: Results, given: Inputs) -> bool:
    """Return whether nothing is wrong but digits, whatever entry of an output they are lost against."""
    unit = COARSE[given.dtype]
    right, bounds = right_and_bounds(given, unit)
    largest = [0.0, *(unit * float(np.abs(exact).max()) for exact in right[1:])]
    pairs = zip(got, right, bounds, largest, strict=True)
    return all(values is None or bool((np.abs(values - exact) <= b + most).all()) for values, exact, b, most in pairs)


def _within(name: str, got: Floats, exact: Floats, bound: Floats, doing: str) -> float:
    """Return the largest error over its bound."""
    errors = np.abs(got - exact).astype(np.float64)
    over = np.where(errors <= bound, 0.0, np.inf)  # NaN is over
    shares = np.maximum(over, np.divide(errors, bound, out=np.zeros_like(errors), where=bound > 0))
    index = np.unravel_index(int(np.nanargmax(np.where(np.isnan(shares), np.inf, shares))), shares.shape)
    if not errors[index] <= bound[index]:
        place = f"{name}[{', '.join(map(str, index))}]"
        pair = got[index], exact[index]
        seen = f"{place} is {instead(*pair) if name == 't' else beyond_rounding(*pair, bound[index])}"
        raise ProbeFailure(
            f"{name} is wrong", f"{doing}: {seen}" if doing else seen, where=place,
            expected=float(exact[index]), got=float(got[index]),
        )  # fmt: skip
    return float(shares[index])
