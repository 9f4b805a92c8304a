"""Families of values: inputs that optimised code treats in ways of their own, beside normal ones."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing.draw import Draw

Floats = NDArray[Any]
Family = Callable[[Draw, tuple[int, ...]], Floats]
"""Makes float64 values of a shape; the last axis is what a row runs along."""

MAGNITUDES = {"float32": (1e-12, 1e12), "float64": (1e-100, 1e100)}
"""Smallest and largest magnitude, beside 0, that the contracts name for a dtype."""


def _normal(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return draw.normal(*shape)


def _zeros(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.zeros(shape)


def _signed_zeros(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.copysign(0.0, draw.signs(*shape))


def _some_zeros(draw: Draw, shape: tuple[int, ...]) -> Floats:
    """Normal, about half of them zeros of both signs."""
    return np.where(draw.uniform(*shape) < 0, _signed_zeros(draw, shape), draw.normal(*shape))


def _equal_rows(draw: Draw, shape: tuple[int, ...]) -> Floats:
    """The same row everywhere."""
    return np.broadcast_to(draw.normal(*shape[-1:]), shape).copy()


def _partly_equal(draw: Draw, shape: tuple[int, ...]) -> Floats:
    """Every row has a run of one value, and shares the rest with its neighbour now and then."""
    values = draw.normal(*shape).reshape(-1, shape[-1])
    for row in values:
        begin, end = sorted((draw.integer(0, shape[-1]), draw.integer(0, shape[-1])))
        row[begin:end] = row[0]
    again = np.flatnonzero(draw.uniform(max(len(values) - 1, 0)) < 0) + 1
    values[again] = values[again - 1]
    return values.reshape(shape)


def _sorted(draw: Draw, shape: tuple[int, ...]) -> Floats:
    """Rows that rise, or all fall."""
    values = np.sort(draw.normal(*shape), axis=-1)
    return values if draw.integer(0, 1) else np.ascontiguousarray(values[..., ::-1])


def _one_hot(draw: Draw, shape: tuple[int, ...]) -> Floats:
    values = np.zeros(shape).reshape(-1, shape[-1])
    values[np.arange(len(values)), draw.rng.integers(0, shape[-1], len(values))] = draw.normal(len(values)) + 3
    return values.reshape(shape)


def _constant(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.full(shape, float(draw.normal(1)[0]) or 1.0)


def _constant_rows(draw: Draw, shape: tuple[int, ...]) -> Floats:
    """One value a row."""
    return np.repeat(draw.normal(*shape[:-1], 1), shape[-1], axis=-1)


def _integers(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return draw.rng.integers(-4, 5, shape).astype(np.float64)


def _some_rows(special: Family) -> Family:
    """About a third of the rows special ones, the others normal."""

    def mixed(draw: Draw, shape: tuple[int, ...]) -> Floats:
        values, other = draw.normal(*shape).reshape(-1, shape[-1]), special(draw, shape).reshape(-1, shape[-1])
        chosen = draw.uniform(len(values), low=0.0, high=1.0) < 1 / 3
        values[chosen] = other[chosen]
        return values.reshape(shape)

    return mixed


FAMILIES: Mapping[str, Family] = {
    "normal": _normal,
    "zeros": _zeros,
    "signed zeros": _signed_zeros,
    "some zeros": _some_zeros,
    "equal rows": _equal_rows,
    "partly equal": _partly_equal,
    "sorted": _sorted,
    "one-hot": _one_hot,
    "constant": _constant,
    "constant rows": _constant_rows,
    "integers": _integers,
    "some rows zero": _some_rows(_zeros),
    "some rows constant": _some_rows(_constant_rows),
    "some rows one-hot": _some_rows(_one_hot),
}
"""By name, the plainest first."""
SCALED = ("tiny", "huge", "mixed magnitudes", "subnormal")
"""Families whose magnitude depends on the dtype."""


def values(draw: Draw, family: str, *shape: int, dtype: str = "float64") -> Floats:
    """Values of a family.

    Args:
        draw: the source.
        family: one of `FAMILIES` or `SCALED`.
        *shape: at least one axis.
        dtype: of the values.
    """
    if family in FAMILIES:
        return FAMILIES[family](draw, shape).astype(dtype)
    return _scaled(draw, family, shape, dtype).astype(dtype)


def _scaled(draw: Draw, family: str, shape: tuple[int, ...], dtype: str) -> Floats:
    low, high = MAGNITUDES[dtype]
    normal = draw.normal(*shape)
    if family == "tiny":
        return normal * low * 10
    if family == "huge":
        return normal * high / 10
    if family == "mixed magnitudes":
        return normal * np.exp(draw.uniform(*shape, low=np.log(low) / 4, high=np.log(high) / 4))
    if family == "subnormal":
        return normal * float(np.finfo(dtype).smallest_normal) / 4
    raise ValueError(f"no family of values is called {family!r}")
