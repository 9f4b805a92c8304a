"""Probes of form: dtypes, shapes, the cache as data, and wrong arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.probing import Answer, Array, Draw, Keep, Partial, ProbeFailure, Tree, converted, expect, laws, probe

from .binding import BACKWARD, DTYPES, FIELDS, FORWARD, GRADIENTS, alive, backward, draw_inputs, forward, gradient_plan
from .bounds import alike, right
from .cache import CACHE_LIMIT, NAMES, cache_of, entry
from .flash_attention import options

SHAPES = (
    (1, 1, 1, 1, 1), (1, 1, 1, 5, 4), (3, 1, 2, 1, 1), (1, 4, 3, 2, 2), (2, 1, 7, 3, 3), (1, 2, 5, 33, 16),
    (1, 1, 33, 4, 64), (5, 3, 2, 7, 1), (2, 2, 4, 1, 2),
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
    """o, dq, dk and dv are arrays, float32 for float32 and float64 for float64, also where heads share keys."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    given = given.but(**{name: draw.normal(B, H * share, N, D) for name in ("q", "do")}) if share > 1 else given
    where = options.SHARING * (share > 1)
    room = Tree(CACHE_LIMIT * given.q.nbytes)
    try:
        o, cache = answer.call(FORWARD, *given.arrays, tile, causal, returns=(room, Keep()))
        gradients = answer.call(BACKWARD, given.do, cache, tile, causal, returns=(room, room, room))
    except ProbeFailure:
        if share > 1:
            return  # not offered, or charged where it is
        raise
    for name, values in zip(FIELDS, (o, *gradients), strict=True):
        expect.that(isinstance(values, np.ndarray), f"{name} is no array{where}", f"{type(values).__name__}")
        found = values.dtype.name
        expect.that(found == dtype, f"{name} has another dtype than the inputs{where}", f"{found} for {dtype} inputs")


@probe(*({"B": B, "H": H, "N": N, "D": D, "tile": tile, "causal": c, "dtype": dtype}
         for B, H, N, D, tile in SHAPES for dtype in DTYPES for c in (True, False)))  # fmt: skip
def every_shape_is_served(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, causal: bool, dtype: str
) -> None:
    """Any B, H, N, D from 1 up, odd ones included, with the mask and without."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype, causal=causal)
    with expect.only_beside(lambda: right(answer, draw_inputs(draw, *PLAIN, dtype, causal=causal), draw)):
        right(answer, given, draw)


@probe(*({"dtype": dtype} for dtype in DTYPES), B=2, H=2, N=12, D=4, tile=4, floors={"N": 2, "D": 2})
def the_cache_holds_five_arrays(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> dict[str, float]:
    """A dict of exactly O, L, Q, K and V: the output, one number a row, and the three inputs."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o, cache = cache_of(answer, given)
    expect.alive("o", o, *given.arrays)
    held = {name: entry(cache, name) for name in NAMES}
    odd = sorted(map(str, set(cache) - set(NAMES)))
    found = f"beside them {', '.join(odd)}"
    expect.that(not odd, "the cache holds other entries than O, L, Q, K and V", found, cache_entries=len(cache))
    for name, wanted in (("O", o), ("Q", given.q), ("K", given.k), ("V", given.v)):
        same = held[name].shape == wanted.shape and np.array_equal(converted(held[name], dtype), wanted)
        seen = f"{held[name].dtype} {held[name].shape}"
        expect.that(bool(same), f"{name} of the cache is not what it is named after", seen)
    shape, kind = held["L"].shape, held["L"].dtype.name
    expect.that(shape == (B, H, N), "L of the cache has another shape", f"{shape} instead of {(B, H, N)}")
    expect.that(kind in (dtype, "float64"), "L of the cache has another dtype", f"{kind} for {dtype} inputs")
    return {"cache_entries": len(cache)}


@probe({"dtype": "float64"}, {"dtype": "float32"}, B=2, H=2, N=12, D=4, tile=4, floors={"N": 2, "D": 2})
def the_cache_is_enough_in_another_process(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> None:
    """A forward here, its cache carried as plain data, its backward in a new process: the same gradients."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o, cache = cache_of(answer, given)
    here = alive(backward(answer, given, cache, o), given)
    answer.fresh()
    title, doing = "{} needs more than the cache".format, "backward beside the forward and in a new process"
    with expect.works("a backward needs more than the cache"):
        there = backward(answer, given, cache, o)
    alike(there, here, title, doing, answer, given, draw, GRADIENTS)


@probe(B=2, H=2, N=6, D=4, tile=3, dtype="float64", fixed=("B", "H", "N", "D", "tile"))
def wrong_arguments_are_refused(
    answer: Answer, draw: Draw, *, B: int, H: int, N: int, D: int, tile: int, dtype: str
) -> Partial:
    """Tiles of no rows and shapes that do not match raise; another exception than ValueError earns half."""
    given = draw_inputs(draw, B, H, N, D, tile, dtype)
    o, cache = forward(answer, given)
    alive(backward(answer, given, cache, o), given)

    def fwd(**changes: Any) -> Callable[[], Any]:
        call = {"q": given.q, "k": given.k, "v": given.v, "tile": tile} | changes
        return lambda: answer.call(FORWARD, *call.values(), True, returns=(Array(given.q.shape, dtype), Keep()))

    def bwd(do: Any = given.do, back: int = tile) -> Callable[[], Any]:
        return lambda: answer.call(BACKWARD, do, cache, back, True, returns=gradient_plan(given))

    shapes = {"of another D": (B, H, N, D + 1), "of another H": (B, H + 1, N, D), "of another N": (B, H, N + 1, D),
              f"of one head beside {H}": (B, 1, N, D), "of three axes": (H, N, D)}  # fmt: skip
    attempts = {f"{what} {how}": fwd(**{name: draw.normal(*shape)})
                for what, name in (("a k", "k"), ("a v", "v")) for how, shape in shapes.items()}  # fmt: skip
    alike = {"of one batch item": (1, H, N, D), f"of {H + 1} heads for {H}": (B, H + 1, N, D)}
    attempts |= {f"k and v {how}": fwd(k=draw.normal(*shape), v=draw.normal(*shape)) for how, shape in alike.items()}
    attempts |= {f"a do {how}": bwd(do=draw.normal(*shape)) for how, shape in shapes.items()}
    attempts |= {f"a tile size of {size}": fwd(tile=size) for size in (0, -1)}
    attempts |= {f"a tile size of {size} in the backward": bwd(back=size) for size in (0, -1)}
    return laws.each_refused(attempts, NO_VALUE_ERROR)
