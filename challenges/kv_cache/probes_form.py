"""Probes of what a call may be given: sizes, and arguments that are wrong."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.probing import (
    Answer,
    ArgumentsRejected,
    Draw,
    NotOffered,
    Partial,
    ProbeFailure,
    Tree,
    WorkerLost,
    expect,
    laws,
    probe,
)

from .binding import SLOT, Cache, Tokens, exact, normal, returned, right

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "gqa": {},
    "sliding_window": {"window": 2},
    "quantized:int8": {"quantization": "int8"},
    "quantized:int4": {"quantization": "int4"},
}
"""Keywords of `create_cache`, by the option that changes how results come about."""


@probe({"B": 1, "H": 1, "S": 1, "D": 1}, {"B": 1, "H": 1, "S": 2, "D": 1}, {"B": 1, "H": 1, "S": 1, "D": 3},
       {"B": 1, "H": 3, "S": 4, "D": 1}, {"B": 3, "H": 1, "S": 1, "D": 5}, {"B": 2, "H": 5, "S": 3, "D": 7},
       {"B": 3, "H": 2, "S": 17, "D": 33}, {"B": 1, "H": 7, "S": 33, "D": 20}, dtype="float32")  # fmt: skip
def any_shape_is_served(answer: Answer, draw: Draw, *, B: int, H: int, S: int, D: int, dtype: str) -> None:
    """K01 at the last position over shapes with single axes and without powers of two; then a first decode."""
    tokens = normal(draw, B, H, S, D, dtype)
    slots, shape = (2, 0, 3)[:B], f"B={B}, H={H}, S={S}, D={D}"
    cache = Cache(answer, tokens)
    out = cache.prefill(slots, tokens)
    for row in range(B):
        oracle, spread = exact(tokens.rows(row), draw, S - 1)
        right(answer, "a shape gives wrong values", f"out of row {row}", out[[row], :, -1:], oracle, spread, shape)
    token = normal(draw, 1, H, 1, D, dtype)
    out = Cache(answer, tokens).decode([1], token)
    returned(answer, "a shape gives wrong values in a decode", "out", out, token.v, shape)


@probe({"option": "", "dtype": "float64"}, *({"option": option, "dtype": "float32"} for option in ("", *OPTIONS)),
       S=3, H=2, D=32, fixed=("option", "D"))  # fmt: skip
def results_have_the_dtype_of_the_inputs(
    answer: Answer, draw: Draw, *, option: str, S: int, H: int, D: int, dtype: str
) -> None:
    """K20: what a prompt and a decode return is an array of their inputs' dtype, with each option that is served."""
    tokens, room = normal(draw, 1, H, S + 1, D, dtype, kv_heads=1 if option == "gqa" else H), Tree(1 << 16)
    try:
        cache = Cache(answer, tokens, **OPTIONS.get(option, {}))
        outs = [("prefill", cache.prefill([SLOT], tokens.part(0, S), returns=room))]
        outs += [("decode", cache.decode([SLOT], tokens.part(S), returns=room))]
    except WorkerLost:
        raise
    except ProbeFailure:
        if option:
            return  # not offered, or charged where it is
        raise
    for call, out in outs:
        found = out.dtype.name if isinstance(out, np.ndarray) else type(out).__name__
        title = f"`{call}` returns another dtype than its inputs have{f' with {option}' if option else ''}"
        expect.that(found == dtype, title, f"{found} for {dtype} inputs")


@probe(H=2, D=4, dtype="float32", fixed=("H", "D"))
def wrong_arguments_are_refused(answer: Answer, draw: Draw, *, H: int, D: int, dtype: str) -> Partial:
    """Slots, layers, lengths, shapes and options that do not exist raise ValueError."""
    two = normal(draw, 2, H, 3, D, dtype)
    one, step = two.rows(0), two.rows(0).part(0, 1)
    cache = Cache(answer, two)
    expect.alive("out", cache.prefill([SLOT], one), *one)
    wide = normal(draw, 1, H, 1, D + 1, dtype)
    cut = Tokens(step.q, step.k, np.concatenate([step.v, step.v], axis=2))
    attempts = {
        "a slot named twice": lambda: cache.store([1, 1], two),
        "a slot named twice in a decode": lambda: cache.decode([1, 1], two.part(0, 1)),
        "a slot beyond max_batch": lambda: cache.decode([4], step),
        "a negative slot": lambda: cache.decode([-1], step),
        "release of a slot beyond max_batch": lambda: cache.release(4),
        "a layer that does not exist": lambda: cache.decode([SLOT], step, layer=1),
        "more slots than rows": lambda: cache.decode([1, SLOT], step),
        "a length of 0": lambda: cache.store([1], one, [0]),
        "a length beyond the array": lambda: cache.store([1], one, [4]),
        "another head_dim": lambda: cache.decode([1], wide),
        "values longer than the keys": lambda: cache.store([1], cut, [1]),
        "a decode of several tokens": lambda: cache.decode([1], one),
        "an option that does not exist": lambda: _with_no_such_option(answer, two),
    }
    return laws.each_refused(attempts)


def _with_no_such_option(answer: Answer, tokens: Tokens) -> None:
    """Ask for an option that does not exist: an answer without options may take it for one that it does not offer."""
    try:
        Cache(answer, tokens, no_such_option=1)
    except NotOffered as why:
        raise ArgumentsRejected(why.title, why.detail) from None
