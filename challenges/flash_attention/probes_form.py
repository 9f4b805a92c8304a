"""Probes of form: dtypes, shapes, and wrong arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.probing import Answer, Array, Draw, Partial, ProbeFailure, Tree, expect, laws, probe

from . import options
from .binding import DTYPES, FUNCTION, alive, attention, draw_inputs
from .bounds import right

SHAPES = (
    (1, 1, 1, 1, 1), (1, 1, 1, 5, 4), (3, 1, 2, 1, 1), (1, 4, 3, 2, 2), (2, 1, 7, 3, 3), (1, 2, 5, 33, 16),
    (1, 1, 65, 4, 64), (5, 3, 2, 7, 1), (2, 2, 4, 1, 2),
)  # fmt: skip
PLAIN = (2, 2, 12, 4, 4)
"""B, H, N, D and the tile of inputs that no odd shape excuses."""
NO_VALUE_ERROR = 0.5
"""Share of an answer that refuses wrong arguments by another exception than the one asked for."""


@probe(*({"causal": c, "share": 1, "dtype": dtype} for dtype in DTYPES for c in (True, False)),
       {"causal": True, "share": 2, "dtype": "float32"}, B=1, H=2, N=8, D=4, tile=4, fixed=("share",),
       floors={"N": 2, "D": 2})  # fmt: skip
def results_have_the_dtype_of_the_inputs(
    answer: Answer, draw: Draw, *, B: int, H: int, share: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """o is an array, float32 for float32 and float64 for float64, also where heads share keys and values."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    given = given.but(q=draw.normal(B, H * share, N, D)) if share > 1 else given
    try:
        o = answer.call(FUNCTION, *given.arrays, tile, causal, returns=Tree(16 * given.q.nbytes))
    except ProbeFailure:
        if share > 1:
            return  # not offered, or charged where it is
        raise
    where = options.SHARING * (share > 1)
    expect.that(isinstance(o, np.ndarray), f"o is no array{where}", f"{type(o).__name__} for {dtype} inputs")
    title = f"o has another dtype than the inputs{where}"
    expect.that(o.dtype.name == dtype, title, f"{o.dtype.name} for {dtype} inputs")


@probe(*({"B": B, "H": H, "N": N, "D": D, "tile": tile, "causal": c, "dtype": dtype}
         for B, H, N, D, tile in SHAPES for dtype in DTYPES for c in (True, False)))  # fmt: skip
def every_shape_is_served(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """Any B, H, N, D from 1 up, odd ones included, with the mask and without."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    with expect.only_beside(lambda: right(answer, draw_inputs(draw, *PLAIN, dtype, causal=causal), draw)):
        right(answer, given, draw)


@probe(B=2, H=2, N=6, D=4, tile=3, dtype="float64", fixed=("B", "H", "N", "D", "tile"))
def wrong_arguments_are_refused(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> Partial:
    """Tiles of no rows and shapes that do not match raise; another exception than ValueError earns half."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    alive(attention(answer, given), given)
    plan = Array(given.q.shape, dtype)

    def attempt(**changes: Any) -> Callable[[], Any]:
        call = {"q": given.q, "k": given.k, "v": given.v, "tile": tile} | changes
        return lambda: answer.call(FUNCTION, *call.values(), True, returns=plan)

    others = {"a k": "k", "a v": "v"}
    shapes = {"of another D": (B, H, N, D + 1), "of another H": (B, H + 1, N, D), "of another B": (B + 1, H, N, D),
              "of another N": (B, H, N + 1, D), f"of one head beside {H}": (B, 1, N, D),
              "of three axes": (H, N, D)}  # fmt: skip
    attempts = {f"{what} {how}": attempt(**{name: draw.normal(*shape)})
                for what, name in others.items() for how, shape in shapes.items()}  # fmt: skip
    alike = {"of one batch item": (1, H, N, D), f"of {H + 1} heads for {H}": (B, H + 1, N, D)}
    attempts |= {f"k and v {how}": attempt(**{name: draw.normal(*shape) for name in "kv"})
                 for how, shape in alike.items()}  # fmt: skip
    flat = draw.normal(N, D)
    attempts["q, k and v of two axes"] = attempt(q=flat, k=flat, v=flat)
    attempts |= {f"a tile size of {size}": attempt(tile=size) for size in (0, -1, -3)}
    return laws.each_refused(attempts, NO_VALUE_ERROR)
