"""How the probes of `ternary_training` draw matrices, call the linear layer, and what its results must be.

Numbers are judged in two ways. At plain sizes by error ratio, in the conditioning form. Everywhere else entry by entry
against what rounding may cost in any order of summation (see `bounds`).

Which of two neighbours an entry rounds to is open where |w|/s is as near to 0.5 as honest sums of |w| may differ:
there t is not compared, and what it would move in y and dx is added to their bounds.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from harness.probing import Answer, Array, Draw, Keep
from harness.probing.families import MAGNITUDES, values
from harness.probing.inputs import ArrayInputs

from . import oracle

Floats = NDArray[Any]
DTYPES = ("float64", "float32")
FAMILIES = ("normal",) * 8 + (
    "zeros", "signed zeros", "some zeros", "equal rows", "partly equal", "sorted", "one-hot", "constant",
    "constant rows", "integers", "some rows zero", "some rows constant", "some rows one-hot",
)  # fmt: skip
"""Of w: half of the draws normal, so that one strange array does not hide what the others show."""
SCALES = ("plain",) * 6 + ("tiny w", "huge w", "tiny x", "huge x", "tiny dy", "huge dy", "groups apart")
"""Magnitudes at the ends of what the contracts name, of one array at a time: products must stay in range."""


class Results(NamedTuple):
    """The outputs of the first three functions, or one figure about each: t (out,in), s (out,groups), y (rows,out),
    dx (rows,in), dw (out,in); None where there is none."""

    t: Any
    s: Any
    y: Any
    dx: Any
    dw: Any


@dataclass(frozen=True)
class Inputs(ArrayInputs):
    """One projection, forward and backward: w (out,in), x (rows,in), dy (rows,out)."""

    w: Floats
    x: Floats
    dy: Floats
    group_size: int

    @property
    def groups(self) -> int:
        """Groups of a row."""
        return -(-self.w.shape[1] // self.group_size)


def draw_inputs(
    draw: Draw, rows: int, columns: int, out: int, group: int, dtype: str, family: str = "normal",
    scale: str = "plain",
) -> Inputs:  # fmt: skip
    """Inputs whose w is of a family, magnitudes within the contract's."""
    arrays = {
        "w": values(draw, family, out, columns),
        "x": draw.normal(rows, columns),
        "dy": draw.normal(rows, out),
    }
    low, high = MAGNITUDES[dtype]
    if scale == "groups apart":
        powers = draw.rng.integers(-8, 9, (out, -(-columns // group)))
        arrays["w"] *= oracle.spread(2.0**powers, columns, group)
    elif scale != "plain":
        how, what = scale.split()
        arrays[what] *= low * 10 if how == "tiny" else high / 10
    return Inputs(*(arrays[name].astype(dtype) for name in ("w", "x", "dy")), group)


def projected(answer: Answer, given: Inputs, **options: Any) -> tuple[Floats, Floats]:
    """t and s of w."""
    plan = (Array(given.w.shape, "int8"), Array((len(given.w), given.groups), given.dtype))
    t, s = answer.call("project", given.w, given.group_size, returns=plan, **options)
    return t, s


def forward(answer: Answer, given: Inputs, **options: Any) -> tuple[Floats, Any]:
    """y, and the cache as a handle."""
    plan = (Array((len(given.x), len(given.w)), given.dtype), Keep())
    y, cache = answer.call("linear_forward", given.x, given.w, given.group_size, returns=plan, **options)
    return y, cache


def backward(answer: Answer, given: Inputs, cache: Any, **options: Any) -> tuple[Floats, Floats]:
    """dx and dw of one dy."""
    plan = (Array(given.x.shape, given.dtype), Array(given.w.shape, given.dtype))
    dx, dw = answer.call("linear_backward", given.dy, cache, returns=plan, **options)
    return dx, dw


def gradients(answer: Answer, given: Inputs, cache: Any, **options: Any) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return dx and dw, or nothing where no adapter serves them: the other outputs can be judged all the same."""
    return backward(answer, given, cache, **options) if answer.has("linear_backward") else (None, None)


def results(answer: Answer, given: Inputs) -> Results:
    """All outputs of one projection, forward and backward."""
    y, cache = forward(answer, given)
    return Results(*projected(answer, given), y, *gradients(answer, given, cache))
