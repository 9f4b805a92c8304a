"""Scores of an attention by name, the q and k that have them, and what a probe calls the faults that they show."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing import Draw
from harness.probing.families import FAMILIES, MAGNITUDES

Floats = NDArray[Any]
Sizes = tuple[int, int, int, int]
"""B, H, N and D."""
HEIGHT = 400.0
"""A ramp of scores runs from -400 to 400, so that its ends are further apart than 709, where float64's exp ends."""
FAR = 60.0
"""One score far above all others: beside exp(60) they are nothing in either dtype."""
APART = 1e-3
"""Of their height, what scores near one lie apart: more than float32 rounds off a score of 128 features."""
RISE = 39.0
"""Half of what scores rise by in small steps, less than exp reaches in float32."""
SEVENTY = {"N": 24, "tile": 2}
"""A ramp whose largest score rises by 70 from tile to tile, of which exp is in range, beside large values is not."""
GENTLE = (
    {"N": 20, "tile": 1, "D": 4, "rise": 96.0, "causal": False, "dtype": "float32"},
    {"N": 104, "tile": 2, "D": 4, "rise": 96.0, "causal": True, "dtype": "float32"},
    {"N": 135, "tile": 1, "D": 1, "rise": 730.0, "causal": True, "dtype": "float64"},
)
"""Rises past what exp reaches in the dtype, in steps of less than 5.5, 2 and 5.5 a tile: what takes a new maximum only
after a step of so much never does, and 8 powers of two are 5.5. In float64, sums of float32 overflow no sooner."""
ABOVE = (1e3, 1e11)
"""How far hidden scores are above the others: by hundreds, and as far as a float32 of the contract's magnitudes is."""
SPECIAL = tuple(name for name in FAMILIES if name != "normal")
ROWS = ("normal",) * 10 + SPECIAL
"""Of each array: half of the draws normal, so that one strange array does not hide what the others show."""
INACCURATE = "results are less accurate than the inputs allow"
"""The fault of what loses digits on plain inputs."""


def times(size: str, dtype: str) -> float:
    """Return what makes normal values plain, tiny or huge."""
    low, high = MAGNITUDES[dtype]
    return {"plain": 1.0, "tiny": low * 10, "huge": high / 10}[size]


def ramp(draw: Draw, sizes: Sizes, *, rising: bool, height: float = HEIGHT) -> tuple[Floats, Floats]:
    """Draw q and k whose scores run from -400 to 400, or another height, or back, with the key's position."""
    B, H, N, _ = sizes
    heights = np.linspace(-height, height, N) * (1 if rising else -1)
    return _along(draw, sizes, np.broadcast_to(heights, (B, H, N)))


def far_above(draw: Draw, sizes: Sizes, far: float = FAR, place: int | None = None) -> tuple[Floats, Floats]:
    """Draw q and k where one key, at a place or at any, scores far above all others, for every query."""
    B, H, N, _ = sizes
    heights = draw.normal(B, H, N)
    heights[:, :, draw.integer(0, N - 1) if place is None else place] += far
    return _along(draw, sizes, heights)


def near(draw: Draw, sizes: Sizes, height: float, *, last_rises: bool = False) -> tuple[Floats, Floats]:
    """Draw q and k whose scores all lie near a height, those of a row `APART`.

    Args:
        last_rises: true if those of the last head rise from key to key, so that its last tile holds the largest.
    """
    B, H, N, _ = sizes
    ranks = draw.rng.permuted(np.broadcast_to(np.arange(N), (B, H, N)), axis=-1)
    if last_rises:
        ranks[:, -1] = np.arange(N)[:: 1 if height > 0 else -1]
    return _along(draw, sizes, height * (1 + APART * ranks))


def positive(draw: Draw, sizes: Sizes) -> tuple[Floats, Floats]:
    """Draw q and k whose scores are all above 0, and a few units at most: keys times 1e9 score far above."""
    return _along(draw, sizes, 0.5 + abs(draw.normal(*sizes[:3])))


def set_scores(draw: Draw, sizes: Sizes, arrays: dict[str, Floats], scores: str) -> None:
    """Give arrays named q and k the scores of a name; leave "plain" ones, and magnitudes at the ends of a dtype's."""
    if scores == "x30":
        arrays["q"], arrays["k"] = 30 * arrays["q"], 30 * arrays["k"]
    elif scores in ("rising", "falling"):
        arrays["q"], arrays["k"] = ramp(draw, sizes, rising=scores == "rising")
    elif scores == "far above":
        arrays["q"], arrays["k"] = far_above(draw, sizes)


def _along(draw: Draw, sizes: Sizes, heights: Floats) -> tuple[Floats, Floats]:
    """Draw q and k whose scores are `heights` (B,H,N) of the key, a little more or less for each query."""
    features = sizes[3]
    direction = draw.normal(features)
    direction = direction / np.linalg.norm(direction) if np.linalg.norm(direction) > 0 else np.ones(features)
    size = 1 + 0.05 * draw.uniform(*sizes[:3], 1)
    return np.sqrt(features) * size * direction, heights[..., None] * direction
