"""Inputs by name: the families of values that q, k and v are drawn from, and what their scores look like."""

from harness.probing import Draw
from harness.probing.families import values

from .binding import Inputs
from .scores import SPECIAL, Sizes, set_scores, times

CHEAP = ("normal",) * 4 + ("some zeros", "equal rows", "sorted", "constant rows", "integers", "some rows constant")
"""Families that are drawn quickly."""
SCORES = ("plain",) * 8 + (
    "x30", "x30", "rising", "falling", "far above", "tiny q", "huge q", "tiny k", "huge k",
)  # fmt: skip
"""What the scores look like, and magnitudes at the ends of what the contract names, of q or of k."""
SIZES = ("plain",) * 6 + ("tiny", "huge")
"""Magnitudes of v, at the ends of what the contract names or not, whatever the scores look like."""
EVERY = (
    *({array: name} for name in SPECIAL for array in ("q", "k", "v")),
    *({"scores": name} for name in dict.fromkeys(SCORES)),
    *({"size_of_v": name} for name in dict.fromkeys(SIZES)),
)  # fmt: skip
"""Each family and each kind of scores once, all else normal."""


LATER = "the output at a position depends on later ones"
"""The fault of what takes hidden positions in."""
EXTREME = "the output does not survive extreme values"
"""The fault of what is right at plain magnitudes and wrong near the ends of a dtype's range."""


def inputs_of(
    draw: Draw, sizes: Sizes, tile: int, dtype: str, *, causal: bool, q: str, k: str, v: str, scores: str,
    size_of_v: str = "plain",
) -> Inputs:  # fmt: skip
    """Inputs of the families and the scores named, magnitudes within the contract's."""
    arrays = {"q": values(draw, q, *sizes), "k": values(draw, k, *sizes), "v": values(draw, v, *sizes)}
    set_scores(draw, sizes, arrays, scores)
    for how, _, which in (scores.partition(" "), (size_of_v, "", "v")):
        if which in arrays:
            arrays[which] *= times(how, dtype)
    return Inputs(*(arrays[name].astype(dtype) for name in ("q", "k", "v")), tile, causal)
