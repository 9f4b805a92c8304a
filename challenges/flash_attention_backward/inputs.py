"""Inputs by name: the families of values that q, k, v and do are drawn from, and what their scores look like."""

from harness.probing import Draw
from harness.probing.families import values

from .binding import Inputs
from .flash_attention.scores import SPECIAL, Sizes, set_scores, times

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
EXTREME = "results do not survive extreme values"
"""The fault of what is right at plain magnitudes and wrong near the ends of a dtype's range."""


def inputs_of(
    draw: Draw, sizes: Sizes, tiles: tuple[int, int], dtype: str, *, causal: bool, q: str, k: str, v: str, do: str,
    scores: str, sized: str = "nothing",
) -> Inputs:  # fmt: skip
    """Inputs of the families and the scores named, magnitudes within the contract's."""
    families = {"q": q, "k": k, "v": v, "do": do}
    arrays = {name: values(draw, family, *sizes) for name, family in families.items()}
    set_scores(draw, sizes, arrays, scores)
    for how, _, which in (scores.partition(" "), sized.partition(" ")):
        if which in arrays:
            arrays[which] *= times(how, dtype)
    return Inputs(*(values.astype(dtype) for values in arrays.values()), *tiles, causal)
