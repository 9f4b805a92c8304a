"""Deprecated alias of `harness.model.submissions.submission`, for one release."""

import warnings
from typing import Any

from harness.model.submissions import submission


def __getattr__(name: str) -> Any:
    value = getattr(submission, name)
    if not name.startswith("__"):
        moved = f"{__name__}.{name} is now {submission.__name__}.{name}"
        warnings.warn(moved, DeprecationWarning, stacklevel=2)
    return value
