"""What is required of results beside plainer calls, and what digits that are lost anyway may cost."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from harness.probing import CallFailed, FaultElsewhere, ProbeFailure, expect

from .scores import INACCURATE, Floats, times

STRUCTURE = {"float32": 1e-3, "float64": 1e-6}
"""Of the root mean square, what two results of one answer may differ by: digits are a criterion of their own."""
TIMES = 32.0
"""Times what an answer is off on plain inputs that it may be off elsewhere."""
ORDER = 1e-3
"""Of the largest exact entry, the error from which on digits that are lost anyway leave nothing to judge."""
EVEN = 1e3
"""Times the median error that the largest one may be where digits are lost everywhere, and not in some entries."""
LARGEST = 60.0
"""Exponent beyond which a weight may have become anything."""
Judge = Callable[[Any], Mapping[str, float]]
"""Makes a call of inputs and requires its results to be right; returns figures, none where wider bounds decided."""


def only_digits(off: Floats, right: Floats, most: float) -> bool:
    """Return whether errors `off` of an output are digits lost everywhere: small and about even.

    Args:
        most: of the root mean square, the largest error where only digits are lost.
    """
    largest = float(off.max())
    return bool(largest <= most * np.sqrt(np.mean(right * right)) and largest <= EVEN * np.median(off))


def judge_beside_plain(judge: Judge, given: Any, plain: Callable[[], Any], what: str) -> Mapping[str, float]:
    """Require finite and right results of q and k that have a property, where plain ones give such.

    Args:
        plain: returns the inputs with plain q and k.
        what: the property, as the subject of a sentence in the plural.
    """
    with expect.only_beside(lambda: judge(plain())):
        try:
            return judge(given)
        except CallFailed:
            raise
        except ProbeFailure as why:
            how = "wrong values" if np.isfinite(float(why.got or 0.0)) else "NaN or infinity"
            raise ProbeFailure(
                f"{what} give {how}", why.detail, where=why.where, expected=why.expected, got=why.got,
                measured=why.measured,
            ) from None  # fmt: skip


def judge_at_height(judge: Callable[[Any, str], None], given: Any, height: float) -> None:
    """Require finite and right results of scores near a height; name none where the same scores near 0 fail too.

    Args:
        judge: as `judge_beside_plain`, of inputs and the property of their q and k.
    """
    try:
        judge(given, f"scores near {height:g}")
    except (CallFailed, FaultElsewhere):
        raise
    except ProbeFailure:
        lowered = (given.k - given.k.mean(axis=2, keepdims=True)).astype(given.dtype)
        judge(given.but(k=lowered), "scores of a row that lie far apart")
        raise


def require_digits_left(outputs: Iterable[tuple[str, Floats, Floats]]) -> None:
    """Require errors below `ORDER` of the largest exact entry, of outputs that passed by wider bounds.

    Args:
        outputs: the name of each, what it is, and what it must be.

    Raises:
        FaultElsewhere: one error is larger. The answer loses digits on plain inputs too, so `accuracy` is charged.
    """
    for name, actual, wanted in outputs:
        off, largest = float(abs(actual - wanted).max()), float(abs(wanted).max())
        if not off <= ORDER * largest:
            seen = f"{name} is off by {off:.2g} of {largest:.2g} at most, and digits are lost on plain inputs as well"
            raise FaultElsewhere(INACCURATE, seen, fault_of="accuracy")


def with_values(given: Any, size_of_v: str, what: str) -> tuple[Any, str]:
    """Return inputs with v as large as is named, and the property of their q and k with what it stands beside.

    What is large inside may overflow beside large values.
    """
    size = times(size_of_v, given.dtype)
    beside = "" if size == 1 else f" beside values of about {size:g}"
    return given.but(v=size * given.v), what + beside
