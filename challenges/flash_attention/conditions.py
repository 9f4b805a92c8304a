"""Tile sizes under which an attention may fail whatever else is asked of it, the narrowest first."""

from collections.abc import Callable, Sequence
from typing import Any

from harness.probing.conditions import Condition

Sizes = Callable[[int, int], bool]
"""Whether a length and a tile size meet a condition."""

EDGES: dict[str, Sizes] = {
    "the tile size is 1": lambda N, tile: tile == 1,
    "the last of several tiles has one row": lambda N, tile: 1 < tile < N and N % tile == 1,
    "a tile has one row": lambda N, tile: min(N, tile) == 1 or N % tile == 1,
    "the last of several tiles is not full": lambda N, tile: tile < N and N % tile > 0,
    "the tile size is larger than N": lambda N, tile: tile > N,
    "a tile is not full": lambda N, tile: N % tile > 0,
}
"""Conditions that plain inputs do not meet."""
TILES = EDGES | {
    "there are several tiles, all full": lambda N, tile: tile < N and N % tile == 0,
    "there are several tiles": lambda N, tile: tile < N,
}


def _met(sizes: Sizes) -> Callable[[str, Sequence[Any]], bool]:
    return lambda function, args: args[0].ndim == 4 and args[3] > 0 and sizes(args[0].shape[2], args[3])


CONDITIONS = tuple(Condition(name, "tile_invariance", _met(sizes)) for name, sizes in EDGES.items())
