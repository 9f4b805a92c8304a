"""Probes of what nobody chose: drawn sizes, values and histories of calls, every output at every position."""

from contextlib import nullcontext, suppress

import numpy as np

from harness.probing import Answer, Array, Axis, Draw, Drawn, InputUse, Keep, ProbeFailure, probe

from .binding import Inputs, Results, but_for_range, gradient_plan, where_special
from .bounds import BLOCK, require_right
from .inputs import DTYPES, DY_USES, EPSILONS, LARGE, PARAMETERS, ROWS, SCALES, elements, inputs_of

LEAST_D = 3
"""dx is 0 at D = 1 and nearly at D = 2, whatever is wrong; `every_shape_is_served` and the histories have these."""
FAR = 100
"""Deviations that rows lie from zero."""

SMALL, BLOCKS = tuple(range(LEAST_D, 32)), tuple(range(32, 67))
"""Numbers of features, and of rows: each is met once. Any block up to 35 leaves each of its remainders over of those in
`BLOCKS`, and any up to 67 one less than a block: a reward meets all of them."""
PLAIN = {"x": "normal", "dy": "normal", "gamma": "normal", "beta": "normal", "scale": "plain", "eps": 1e-5}
KINDS = (
    *({"gamma": family} for family in dict.fromkeys(PARAMETERS) if family != "normal"),
    *({"eps": eps} for eps in dict.fromkeys(EPSILONS)),
    *({"scale": scale} for scale in dict.fromkeys(SCALES) if scale != "plain"),
)
"""Each family of gamma and each magnitude but the plain ones, and each eps."""


@probe(
    drawn=Drawn(
        {"B": Axis(1, 8200), "T": Axis(1, 8200), "D": Axis(LEAST_D, 8200)}, 110, elements, 40e3,
        {"dtype": DTYPES, "x": ROWS, "dy": ROWS, "gamma": PARAMETERS, "beta": PARAMETERS, "scale": SCALES,
         "eps": EPSILONS},
    ),
)  # fmt: skip
def any_size_is_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, x: str, dy: str, gamma: str, beta: str,
    scale: str, eps: float,
) -> dict[str, float]:  # fmt: skip
    """Drawn sizes, mostly small, of drawn families of values: all outputs are within what rounding may cost."""
    given = inputs_of(draw, B, T, D, dtype, x=x, dy=dy, gamma=gamma, beta=beta, scale=scale, eps=eps)
    with nullcontext() if scale == "plain" else but_for_range(answer, dtype):
        return _judged(answer, draw, given)


@probe(drawn=Drawn({"B": Axis(1, 1)}, len(SMALL), choices={"T": SMALL, "D": SMALL, "dtype": DTYPES}))
def every_small_size_is_right(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> dict[str, float]:
    """Each small number of features, and each of rows."""
    return _judged(answer, draw, inputs_of(draw, B, T, D, dtype, **PLAIN))


@probe(
    drawn=Drawn(
        {"B": Axis(1, 1)}, len(BLOCKS), choices={"T": BLOCKS, "D": BLOCKS, "dtype": DTYPES}, covered=len(BLOCKS),
    ),
)  # fmt: skip
def whatever_a_block_leaves_over_is_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str
) -> dict[str, float]:
    """Each number of features, and each of rows, that a block of 32 to 66 holds or just does not."""
    return _judged(answer, draw, inputs_of(draw, B, T, D, dtype, **PLAIN))


@probe(
    *({"D": D, **kind} for D, kind in enumerate(KINDS, 11)),
    B=2, T=3, gamma="normal", eps=1e-5, scale="plain", dtype="float64", floors={"D": LEAST_D},
)  # fmt: skip
def every_kind_of_parameter_is_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, gamma: str, eps: float, scale: str
) -> dict[str, float]:
    """Each family of gamma, magnitude and eps beside plain values, at a size of its own, which no two calls share."""
    given = inputs_of(draw, B, T, D, dtype, **{**PLAIN, "gamma": gamma, "eps": eps, "scale": scale})
    with nullcontext() if scale == "plain" else but_for_range(answer, dtype):
        return _judged(answer, draw, given)


@probe({"first": "float32", "dtype": "float64", "D": 9}, {"first": "float64", "dtype": "float32", "D": 10}, B=2, T=5,
       fixed=("first", "D"))  # fmt: skip
def a_shape_serves_each_dtype(
    answer: Answer, draw: Draw, *, first: str, B: int, T: int, D: int, dtype: str
) -> dict[str, float]:
    """A shape that a process saw in one dtype is served in the other one."""
    with suppress(ProbeFailure):  # charged where that dtype is asked for
        _errors(answer, draw, inputs_of(draw, B, T, D, first, **PLAIN))
    return _judged(answer, draw, inputs_of(draw, B, T, D, dtype, **PLAIN))


@probe(B=17, T=1024, D=64, dtype="float32", floors={"D": LEAST_D})
def a_million_elements_are_right(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> dict[str, float]:
    """More than a million elements, as few different rows as `require_right` works out at once, again and again."""
    x, dy = (np.resize(draw.normal(max(1, BLOCK // D), D), (B, T, D)) for _ in range(2))
    gamma, beta = draw.normal(D), draw.normal(D)
    return _judged(answer, draw, Inputs(*(each.astype(dtype) for each in (x, gamma, beta, dy)), 1e-5))


def _mostly_large(B: int, T: int, D: int) -> float:
    """The draws of a sweep cost from the most down to a 256th of it: here that is a quarter of the elements."""
    return elements(B, T, D) ** 4


@probe(
    drawn=Drawn(
        {"B": Axis(1, 66000), "T": Axis(1, 66000), "D": Axis(LEAST_D, 9000)}, 6, _mostly_large,
        _mostly_large(1, 1, 2_000_000), {"dtype": DTYPES, "x": LARGE, "dy": LARGE}, _mostly_large(1, 1, 200_000),
    ),
)  # fmt: skip
def any_large_size_is_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str, x: str, dy: str
) -> dict[str, float]:
    """Large sizes: up to two million elements, in tens of thousands of rows or thousands of features."""
    return _judged(answer, draw, inputs_of(draw, B, T, D, dtype, **{**PLAIN, "x": x, "dy": dy}))


@probe(
    {"B": 1, "T": 256, "D": 5, "dtype": "float64"}, {"B": 16, "T": 16, "D": 64, "dtype": "float64"},
    {"B": 16, "T": 64, "D": 24, "dtype": "float32"}, {"B": 4096, "T": 1, "D": 8, "dtype": "float64"},
    {"B": 4, "T": 16_500, "D": 3, "dtype": "float32"}, {"B": 1, "T": 2, "D": 2049, "dtype": "float64"},
    {"B": 1, "T": 3, "D": 4096, "dtype": "float64"}, {"B": 1, "T": 1, "D": 9000, "dtype": "float64"},
    {"B": 1, "T": 1, "D": 66000, "dtype": "float32"}, floors={"D": LEAST_D},
)  # fmt: skip
def every_kind_of_large_size_is_right(
    answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str
) -> dict[str, float]:
    """Many narrow rows, by powers of two, and a few wide ones, of several tiles; both past a narrow integer.

    Rows drift, so that each of their tiles has a mean of its own; in float64 they lie a hundred deviations off zero. In
    float32 a variance taken as E[x^2] - E[x]^2 may lose all digits there, which `bounds` leaves to ladders.
    """
    far = FAR * draw.normal(B, T, 1) if dtype == "float64" else 0
    x = draw.normal(B, T, D) + np.linspace(-1, 1, D) + far
    return _judged(answer, draw, inputs_of(draw, B, T, D, dtype, **{**PLAIN, "x": "zeros"}).but(x=x))


def _judged(answer: Answer, draw: Draw, given: Inputs) -> dict[str, float]:
    """Return the largest errors over their bounds of one forward and backward, charged where a plain case is right."""
    with where_special(answer, draw, given.dtype):
        return _errors(answer, draw, given)
    return {}


def _errors(answer: Answer, draw: Draw, given: Inputs) -> dict[str, float]:
    plan = (Array(given.x.shape, given.dtype), Keep())
    y, cache = answer.call(
        "forward", given.x, given.gamma, given.beta, given.eps, returns=plan, inputs=InputUse.READ_ONLY
    )  # fmt: skip
    use = DY_USES[draw.integer(0, 1)]
    gradients = answer.call("backward", given.dy, cache, returns=gradient_plan(given.dy), inputs=use)
    return require_right(Results(y, *gradients), given)
