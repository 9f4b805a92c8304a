"""Tile sizes under which an attention may fail whatever else is asked of it, the narrowest first."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.probing.conditions import EDGES, Condition, Sizes


def _met(sizes: Sizes) -> Callable[[str, Sequence[Any]], bool]:
    return lambda function, args: args[0].ndim == 4 and args[3] > 0 and sizes(args[0].shape[2], args[3])


CONDITIONS = tuple(Condition(name, "tile_invariance", _met(sizes)) for name, sizes in EDGES.items())
