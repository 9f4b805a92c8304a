"""Modes, shapes, and tile sizes of a pass or of either, under which an attention may fail whatever is asked of it."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.probing.conditions import EDGES, Condition, Sizes, missing_dtypes

from .binding import BACKWARD, FORWARD

TILE_AT = {FORWARD: 3, BACKWARD: 2}
"""The argument that is the tile size."""
PASSES = {"the forward": (FORWARD,), "the backward": (BACKWARD,), "either pass": (FORWARD, BACKWARD)}


def _met(sizes: Sizes, functions: Sequence[str]) -> Callable[[str, Sequence[Any]], bool]:
    def met(function: str, args: Sequence[Any]) -> bool:
        tile = args[TILE_AT[function]]
        return function in functions and args[0].ndim == 4 and tile > 0 and sizes(args[0].shape[2], tile)

    return met


def _maskless(function: str, args: Sequence[Any]) -> bool:
    at = TILE_AT[function] + 1
    return args[at : at + 1] == (False,)


def _masked(function: str, args: Sequence[Any]) -> bool:
    return not _maskless(function, args)


CONDITIONS = (
    *missing_dtypes(),
    Condition("a call is made without the mask", "full_attention", _maskless, mode=True),
    Condition("a call is made with the mask", "causality", _masked, mode=True, lacking=True),
    Condition("there is one position", "shapes", lambda _, args: args[0].shape[2:3] == (1,)),
    Condition("there is one feature", "shapes", lambda _, args: args[0].shape[3:4] == (1,)),
    *(
        Condition(f"{name} in {words}", "tile_invariance", _met(sizes, functions), never=("argument_errors",))
        for name, sizes in EDGES.items()
        for words, functions in PASSES.items()
    ),
)
