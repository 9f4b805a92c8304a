"""Deprecated alias of `harness.source.python.syntax`, for one release."""

import warnings
from typing import Any

from harness.source.python import syntax


def __getattr__(name: str) -> Any:
    value = getattr(syntax, name)
    if not name.startswith("__"):
        moved = f"{__name__}.{name} is now {syntax.__name__}.{name}"
        warnings.warn(moved, DeprecationWarning, stacklevel=2)
    return value
