"""Inputs by name: the families of values that q, k, v and do are drawn from, and what their scores look like."""

import numpy as np

from harness.probing import Draw
from harness.probing.families import FAMILIES, MAGNITUDES, values

from .binding import Floats, Inputs

HEIGHT = 400.0
"""A ramp of scores runs from -400 to 400, so that its ends are further apart than 709, where float64's exp ends."""
FAR = 60.0
"""One score far above all others: beside exp(60) they are nothing in either dtype."""
APART = 1e-3
"""Of their height, what scores near one lie apart: more than float32 rounds off a score of 128 features."""
SPECIAL = tuple(name for name in FAMILIES if name != "normal")
ROWS = ("normal",) * 10 + SPECIAL
"""Of q, k, v and do: half of the draws normal, so that one strange array does not hide what the others show."""
CHEAP = ("normal",) * 4 + (
    "some zeros", "some rows zero", "equal rows", "sorted", "constant rows", "integers", "some rows constant",
)  # fmt: skip
"""Families that are drawn quickly."""
SCORES = ("plain",) * 8 + (
    "x30", "rising", "falling", "far above", "tiny q", "tiny k",
)  # fmt: skip
"""What the scores look like, and magnitudes at the low end of what the contract names, of q or of k."""
SIZED = ("nothing",) * 6 + ("tiny v", "huge v", "tiny do", "huge do")
"""Magnitudes of v or of do, at the ends of what the contract names or not, whatever the scores look like."""
EVERY = (
    *({array: name} for name in SPECIAL for array in ("q", "k", "v", "do")),
    *({"scores": name} for name in dict.fromkeys(SCORES)),
    *({"sized": name} for name in dict.fromkeys(SIZED)),
)  # fmt: skip
"""Each family and each kind of scores once, all else normal."""


LATER = "{} at a position depends on later keys and values"
"""The fault of what takes hidden positions in; the name of the result stands before it."""
INACCURATE = "results are less accurate than the inputs allow"
"""The fault of what loses digits on plain inputs."""
EXTREME = "results do not survive extreme values"
"""The fault of what is right at plain magnitudes and wrong near the ends of a dtype's range."""


def inputs_of(
    draw: Draw, sizes: tuple[int, int, int, int], tiles: tuple[int, int], dtype: str, *, causal: bool, q: str, k: str,
    v: str, do: str, scores: str, sized: str = "nothing",
) -> Inputs:  # fmt: skip
    """Inputs of the families and the scores named, magnitudes within the contract's."""
    families = {"q": q, "k": k, "v": v, "do": do}
    arrays = {name: values(draw, family, *sizes) for name, family in families.items()}
    if scores == "x30":
        arrays["q"], arrays["k"] = 30 * arrays["q"], 30 * arrays["k"]
    elif scores in ("rising", "falling"):
        arrays["q"], arrays["k"] = ramp(draw, sizes, rising=scores == "rising")
    elif scores == "far above":
        arrays["q"], arrays["k"] = far_above(draw, sizes)
    for how, _, which in (scores.partition(" "), sized.partition(" ")):
        if which in arrays:
            arrays[which] *= times(how, dtype)
    return Inputs(*(values.astype(dtype) for values in arrays.values()), *tiles, causal)


def times(size: str, dtype: str) -> float:
    """Return what makes normal values plain, tiny or huge."""
    low, high = MAGNITUDES[dtype]
    return {"plain": 1.0, "tiny": low * 10, "huge": high / 10}[size]


def ramp(
    draw: Draw, sizes: tuple[int, int, int, int], *, rising: bool, height: float = HEIGHT
) -> tuple[Floats, Floats]:
    """q and k (B,H,N,D) whose scores run from -400 to 400, or another height, or back, with the key's position."""
    B, H, N, _ = sizes
    heights = np.linspace(-height, height, N) * (1 if rising else -1)
    return _along(draw, sizes, np.broadcast_to(heights, (B, H, N)))


def far_above(
    draw: Draw, sizes: tuple[int, int, int, int], far: float = FAR, place: int | None = None
) -> tuple[Floats, Floats]:
    """q and k (B,H,N,D) where one key, at a place or at any, scores far above all others, for every query."""
    B, H, N, _ = sizes
    heights = draw.normal(B, H, N)
    heights[:, :, draw.integer(0, N - 1) if place is None else place] += far
    return _along(draw, sizes, heights)


def near(draw: Draw, sizes: tuple[int, int, int, int], height: float) -> tuple[Floats, Floats]:
    """q and k (B,H,N,D) whose scores all lie near a height, those of a row `APART`."""
    B, H, N, _ = sizes
    ranks = draw.rng.permuted(np.broadcast_to(np.arange(N), (B, H, N)), axis=-1)
    return _along(draw, sizes, height * (1 + APART * ranks))


def positive(draw: Draw, sizes: tuple[int, int, int, int]) -> tuple[Floats, Floats]:
    """Draw q and k (B,H,N,D) whose scores are all above 0, and a few units at most: keys times 1e9 score far above."""
    return _along(draw, sizes, 0.5 + abs(draw.normal(*sizes[:3])))


def _along(draw: Draw, sizes: tuple[int, int, int, int], heights: Floats) -> tuple[Floats, Floats]:
    """q and k whose scores are `heights` (B,H,N) of the key, a little more or less for each query."""
    features = sizes[3]
    direction = draw.normal(features)
    direction = direction / np.linalg.norm(direction) if np.linalg.norm(direction) > 0 else np.ones(features)
    size = 1 + 0.05 * draw.uniform(*sizes[:3], 1)
    return np.sqrt(features) * size * direction, heights[..., None] * direction
