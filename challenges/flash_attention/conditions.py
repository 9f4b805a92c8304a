"""Modes, shapes and tile sizes in which an attention may fail whatever else is asked of it, the narrowest first."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.probing.conditions import EDGES, Condition, Sizes, missing_dtypes


def _met(sizes: Sizes) -> Callable[[str, Sequence[Any]], bool]:
    return lambda function, args: args[0].ndim == 4 and args[3] > 0 and sizes(args[0].shape[2], args[3])


CONDITIONS = (
    *missing_dtypes(),
    Condition("a call is made without the mask", "full_attention", lambda _, args: args[4:5] == (False,), mode=True),
    Condition(
        "a call is made with the mask", "causality", lambda _, args: args[4:5] != (False,), mode=True, lacking=True
    ),
    Condition("there is one position", "shapes", lambda _, args: args[0].shape[2:3] == (1,)),
    Condition("there is one feature", "shapes", lambda _, args: args[0].shape[3:4] == (1,)),
    *(Condition(name, "tile_invariance", _met(sizes)) for name, sizes in EDGES.items()),
)
