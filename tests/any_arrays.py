"""Any arrays that cross, and what differs from them in one entry."""

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, from_dtype
from numpy.typing import NDArray

Values = NDArray[Any]
WHOLE = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
FLOATING = ("float16", "float32", "float64", "longdouble")
DTYPES = (*WHOLE, *FLOATING)


def values(dtypes: tuple[str, ...] = DTYPES, smallest: int = 0, finite: bool = False) -> st.SearchStrategy[Values]:
    """Arrays of any of some dtypes, with no axes to three, of `smallest` or more along each."""
    shapes = array_shapes(min_dims=0, max_dims=3, min_side=smallest, max_side=4)
    return st.sampled_from(dtypes).flatmap(lambda dtype: arrays(dtype, shapes, elements=entries(dtype, finite)))


def entries(dtype: str, finite: bool = False) -> st.SearchStrategy[Any]:
    return from_dtype(np.dtype(dtype), **({"allow_nan": False, "allow_infinity": False} if finite else {}))


def differ(one: Any, other: Any) -> bool:
    return bool(one != other) and not (one != one and other != other)


@st.composite
def pairs(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES) -> tuple[Values, Values, tuple[int, ...]]:
    """An array, another one that differs from it in one entry, and where."""
    right = draw(values(dtypes, smallest=1))
    index = tuple(draw(st.integers(0, size - 1)) for size in right.shape)
    wrong = right.copy()
    wrong[index] = draw(entries(right.dtype.name))
    assume(differ(wrong[index], right[index]))
    return wrong, right, index


def named(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name
