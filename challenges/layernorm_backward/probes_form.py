"""Probes of form: dtypes, shapes, the cache as data, and wrong arguments."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harness.probing import Answer, Array, Draw, Keep, Partial, Tree, expect, laws, probe

from .binding import (
    FIELDS,
    GRADIENTS,
    Results,
    alive,
    all_agree,
    backward,
    draw_inputs,
    exact,
    gradient_plan,
    is_right,
    results,
    spreads,
    where_special,
)
from .binding import forward as run_forward

CACHE_LIMIT = 16
"""Times the bytes of x that a cache may take to cross."""
SHAPES = ((1, 1, 1), (1, 1, 5), (5, 1, 2), (1, 7, 3), (1, 2, 7), (2, 3, 1024))


@probe({"dtype": "float32"}, {"dtype": "float64"}, B=2, T=3, D=8, floors={"D": 3})
def results_have_the_dtype_of_the_inputs(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """L23: y, dx, dgamma and dbeta are float32 for float32 and float64 for float64."""
    given = draw_inputs(draw, B, T, D, dtype)
    room = Tree(CACHE_LIMIT * given.x.nbytes)
    y, cache = answer.call("forward", given.x, given.gamma, given.beta, given.eps, returns=(room, Keep()))
    gradients = answer.call("backward", given.dy, cache, returns=(room, room, room))
    for name, values in zip(FIELDS, (y, *gradients), strict=True):
        found = values.dtype.name if isinstance(values, np.ndarray) else type(values).__name__
        expect.that(found == dtype, f"{name} has another dtype than the inputs", f"{found} for {dtype} inputs")
    alive(Results(y, *gradients), given)


@probe(
    *({"B": B, "T": T, "D": D, "dtype": "float64"} for B, T, D in SHAPES),
    *({"B": B, "T": T, "D": D, "dtype": "float32"} for B, T, D in SHAPES[2:]),
)
def every_shape_is_served(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """Any B, T, D from 1 up, odd ones included: all outputs equal the oracle's but for digits, which values cost."""
    given = draw_inputs(draw, B, T, D, dtype)
    with where_special(answer, draw, dtype):
        for each in zip(FIELDS, results(answer, given), exact(given), spreads(given, draw), strict=True):
            is_right(*each)


@probe({"dtype": "float64"}, B=2, T=3, D=16, floors={"D": 3})
def the_cache_is_enough_in_another_process(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> None:
    """A forward here, its cache carried as plain data, its backward in a new process: the same gradients."""
    given = draw_inputs(draw, B, T, D, dtype)
    y, cache = cache_of(answer, given)
    here = alive(backward(answer, given.dy, cache, y), given)
    answer.fresh()
    with expect.works("backward needs more than the cache"):
        there = backward(answer, given.dy, cache, y)
    title = "{} needs more than the cache".format
    all_agree(there, here, spreads(given, draw), title, "backward beside the forward and in a new process", GRADIENTS)


@probe(B=2, T=3, D=4, dtype="float64", fixed=("B", "T", "D"))
def wrong_shapes_raise_value_error(answer: Answer, draw: Draw, *, B: int, T: int, D: int, dtype: str) -> Partial:
    """gamma, beta and dy of shapes that would broadcast, and of shapes that would not, are refused."""
    given = draw_inputs(draw, B, T, D, dtype)
    plan = (Array(given.x.shape, dtype), Keep())
    y, cache = run_forward(answer, given)
    alive(backward(answer, given.dy, cache, y), given)
    vectors = {"of length 1": (1,), "of length D + 1": (D + 1,), "of shape (1,D)": (1, D)}
    attempts: dict[str, Callable[[], Any]] = {}
    for name, (how, shape) in itertools.product(("gamma", "beta"), vectors.items()):
        arrays = {"gamma": given.gamma, "beta": given.beta} | {name: draw.normal(*shape)}
        attempts[f"{name} {how}"] = partial(
            answer.call, "forward", given.x, arrays["gamma"], arrays["beta"], given.eps, returns=plan
        )
    for how, shape in {"(1,T,D)": (1, T, D), "(B,T,1)": (B, T, 1), "(B,T,D + 1)": (B, T, D + 1)}.items():
        dy = draw.normal(*shape)
        attempts[f"dy of shape {how}"] = partial(
            answer.call, "backward", dy, cache, returns=gradient_plan(given.dy)
        )
    return laws.each_refused(attempts)


def cache_of(answer: Answer, given: Any) -> tuple[Any, Any]:
    """y, and the cache as data: nested dicts, lists and tuples of arrays and scalars."""
    plan = (Array(given.x.shape, given.dtype), Tree(CACHE_LIMIT * given.x.nbytes))
    y, cache = answer.call("forward", given.x, given.gamma, given.beta, given.eps, returns=plan)
    return y, cache
