"""Inputs by name: the families of values that x, dy, gamma and beta are drawn from, and at which magnitudes."""

from harness.probing import Draw, InputUse
from harness.probing.families import FAMILIES, MAGNITUDES, values

from .binding import Floats, Inputs

DTYPES = ("float32", "float64")
DY_USES = (InputUse.READ_ONLY, InputUse.OVERWRITTEN)
"""What a caller may do with dy; x, gamma and beta stay as they are until the last backward."""
SPECIAL = tuple(name for name in FAMILIES if name != "normal")
ROWS = ("normal",) * 10 + SPECIAL
"""Of x and dy: half of the draws normal, so that one strange array does not hide what the others show."""
CHEAP = ("normal",) * 4 + ("some zeros", "equal rows", "sorted", "constant rows", "integers", "some rows constant")
"""Families of x and dy that are drawn quickly."""
LARGE = ("normal",) * 3 + ("some zeros", "equal rows", "some rows constant")
"""Of large x and dy: a reward draws as many as there are here."""
PARAMETERS = ("normal",) * 6 + (
    "ones", "minus ones", "negative", "zeros", "signed zeros", "some zeros", "one-hot", "constant", "integers",
)  # fmt: skip
"""Of gamma and beta."""
SCALES = ("plain",) * 8 + (
    "tiny x", "huge x", "tiny dy", "huge dy", "tiny gamma", "huge gamma", "huge beta", "some rows huge",
)  # fmt: skip
"""Magnitudes at the ends of what the contract names, of one array at a time: their products must stay in range."""
EPSILONS = (1e-5,) * 4 + (1e-12, 1e-8, 1e-3, 0.1, 1.0, 1000.0)


def elements(B: int, T: int, D: int) -> float:
    """What a case costs."""
    return float(B * T * D)


def inputs_of(
    draw: Draw, B: int, T: int, D: int, dtype: str, *, x: str, dy: str, gamma: str, beta: str, scale: str, eps: float
) -> Inputs:
    """Inputs of the families and the scale named, magnitudes within the contract's."""
    scaled = dict(zip(("how", "what"), scale.rsplit(" ", 1), strict=False)) if scale != "plain" else {}
    arrays = {
        "x": values(draw, x, B, T, D),
        "dy": values(draw, dy, B, T, D),
        "gamma": _parameter(draw, gamma, D),
        "beta": _parameter(draw, beta, D),
    }
    low, high = MAGNITUDES[dtype]
    if scaled.get("how") == "some rows":
        arrays["x"][draw.uniform(B, T) < 0] *= high / 10
    elif scaled:
        arrays[scaled["what"]] *= low * 10 if scaled["how"] == "tiny" else high / 10
    return Inputs(*(arrays[name].astype(dtype) for name in ("x", "gamma", "beta", "dy")), eps)


def _parameter(draw: Draw, family: str, features: int) -> Floats:
    """A gamma or beta (D,) as float64."""
    if family in ("ones", "minus ones"):
        return values(draw, "zeros", features) + (1.0 if family == "ones" else -1.0)
    if family == "negative":
        return -abs(values(draw, "normal", features))
    return values(draw, family, features)
