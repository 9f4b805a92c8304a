"""Values that optimised code may treat differently from normal ones."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.probing.draw import Draw

Floats = NDArray[Any]
Family = Callable[[Draw, tuple[int, ...]], Floats]
"""Function that draws float64 values of a shape; rows lie along the last axis."""

MAGNITUDES = {"float32": (1e-12, 1e12), "float64": (1e-100, 1e100)}
"""Smallest and largest magnitude, beside 0, that contracts name for a dtype."""


def _draw_normal(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return draw.normal(*shape)


def _draw_zeros(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.zeros(shape)


def _draw_zeros_of_both_signs(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.copysign(0.0, draw.signs(*shape))


def _draw_some_zeros(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.where(draw.uniform(*shape) < 0, _draw_zeros_of_both_signs(draw, shape), draw.normal(*shape))


def _draw_equal_rows(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.broadcast_to(draw.normal(*shape[-1:]), shape).copy()


def _draw_partly_equal(draw: Draw, shape: tuple[int, ...]) -> Floats:
    values = draw.normal(*shape).reshape(-1, shape[-1])
    for row in values:
        begin, end = sorted((draw.integer(0, shape[-1]), draw.integer(0, shape[-1])))
        row[begin:end] = row[0]
    again = np.flatnonzero(draw.uniform(max(len(values) - 1, 0)) < 0) + 1
    values[again] = values[again - 1]
    return values.reshape(shape)


def _draw_in_order(draw: Draw, shape: tuple[int, ...]) -> Floats:
    values = np.sort(draw.normal(*shape), axis=-1)
    return values if draw.integer(0, 1) else np.ascontiguousarray(values[..., ::-1])


def _draw_one_hot(draw: Draw, shape: tuple[int, ...]) -> Floats:
    values = np.zeros(shape).reshape(-1, shape[-1])
    values[np.arange(len(values)), draw.rng.integers(0, shape[-1], len(values))] = draw.normal(len(values)) + 3
    return values.reshape(shape)


def _draw_constant(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.full(shape, float(draw.normal(1)[0]) or 1.0)


def _draw_constant_rows(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return np.repeat(draw.normal(*shape[:-1], 1), shape[-1], axis=-1)


def _draw_integers(draw: Draw, shape: tuple[int, ...]) -> Floats:
    return draw.rng.integers(-4, 5, shape).astype(np.float64)


def _mix_rows(special: Family) -> Family:
    def mix(draw: Draw, shape: tuple[int, ...]) -> Floats:
        values, other = draw.normal(*shape).reshape(-1, shape[-1]), special(draw, shape).reshape(-1, shape[-1])
        chosen = draw.uniform(len(values), low=0.0, high=1.0) < 1 / 3
        values[chosen] = other[chosen]
        return values.reshape(shape)

    return mix


FAMILIES: Mapping[str, Family] = {
    "normal": _draw_normal,
    "zeros": _draw_zeros,
    "signed zeros": _draw_zeros_of_both_signs,
    "some zeros": _draw_some_zeros,
    "equal rows": _draw_equal_rows,
    "partly equal": _draw_partly_equal,
    "sorted": _draw_in_order,
    "one-hot": _draw_one_hot,
    "constant": _draw_constant,
    "constant rows": _draw_constant_rows,
    "integers": _draw_integers,
    "some rows zero": _mix_rows(_draw_zeros),
    "some rows constant": _mix_rows(_draw_constant_rows),
    "some rows one-hot": _mix_rows(_draw_one_hot),
}
"""Families by name, plainest first."""
SCALED = ("tiny", "huge", "mixed magnitudes", "subnormal")
"""Families whose magnitude depends on the dtype."""


def values(draw: Draw, family: str, *shape: int, dtype: str = "float64") -> Floats:
    """Draw values of a family in `FAMILIES` or `SCALED`; `shape` needs an axis or more."""
    if family in FAMILIES:
        return FAMILIES[family](draw, shape).astype(dtype)
    return _draw_at_scale(draw, family, shape, dtype).astype(dtype)


def _draw_at_scale(draw: Draw, family: str, shape: tuple[int, ...], dtype: str) -> Floats:
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
