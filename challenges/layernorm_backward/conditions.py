"""Conditions under which a layer norm may fail whatever else is asked of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.probing.conditions import Condition, missing_dtypes


def _constant_row(function: str, args: Sequence[Any]) -> bool:
    """Return whether a row of x is constant; of an array that lies in the answer's process nobody knows."""
    known = function == "forward" and isinstance(args[0], np.ndarray)
    return known and bool((args[0].max(axis=-1) == args[0].min(axis=-1)).any())


CONDITIONS = (*missing_dtypes(), Condition("a row of x is constant", "degenerate_rows", _constant_row))
