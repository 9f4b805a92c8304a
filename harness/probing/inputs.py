"""Inputs of one call, as a challenge draws and changes them."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ArrayInputs:
    """Base of a challenge's inputs: arrays of one dtype, and settings.

    A subclass is a frozen dataclass whose first field is an array.
    """

    @property
    def dtype(self) -> str:
        """Name of the arrays' dtype."""
        return str(self._first.dtype.name)

    @property
    def unit(self) -> float:
        """Half the distance from 1 to the next number of the dtype."""
        return float(np.finfo(self._first.dtype).eps) / 2

    @property
    def wide(self) -> type:
        """Type of exact results: long double for float64, float64 for float32."""
        return np.longdouble if self.dtype == "float64" else np.float64

    def but(self, **changes: Any) -> Self:
        """Return the same with other values in some fields; arrays are made contiguous and of this dtype."""
        dtype = self._first.dtype
        held = {name: isinstance(getattr(self, name), np.ndarray) for name in changes}
        cast = {name: np.ascontiguousarray(v, dtype) if held[name] else v for name, v in changes.items()}
        return replace(self, **cast)

    @property
    def _first(self) -> NDArray[Any]:
        array: NDArray[Any] = getattr(self, fields(self)[0].name)
        return array
