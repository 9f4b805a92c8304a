"""Comparison of figures that a submission claims with those measured."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.model import Claim

TOLERANCE = 0.05
"""Relative difference that still counts as right."""
ERROR_FACTOR = 10.0
"""Factor within which a claimed error (`*_error`) is right, as errors vary between runs."""


class Truth(StrEnum):
    """Truth of a claim."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class CheckedClaim:
    """One claim and the measured figure.

    Attributes:
        factor: claimed over measured figure; None without finite figures of the same sign.
    """

    claim: Claim
    truth: Truth
    measured: float | None
    factor: float | None
    detail: str


def check_claims(claims: Iterable[Claim], measured: Mapping[str, float]) -> tuple[CheckedClaim, ...]:
    """Compare each claim with the measured figure of the same name.

    A claim is right within `TOLERANCE`, a `*_error` within `ERROR_FACTOR`, a zero or infinity if equal, a NaN never.
    """
    return tuple(_check(claim, measured.get(claim.quantity)) for claim in claims)


def _check(claim: Claim, measured: float | None) -> CheckedClaim:
    stated = f"{claim.quantity} stated as {claim.value:.6g}"
    if measured is None or math.isnan(measured):
        return CheckedClaim(claim, Truth.UNKNOWN, None, None, f"{stated}: {Truth.UNKNOWN}")
    factor = _compute_factor(claim.value, measured)
    if _is_right(claim, measured, factor):
        return CheckedClaim(claim, Truth.RIGHT, measured, factor, f"{stated}, measured {measured:.6g}")
    if factor is None:
        by = ""
    elif factor >= 1:
        by = f": {factor:.3g} times too high"
    else:
        by = f": {1 / factor:.3g} times too low"
    return CheckedClaim(claim, Truth.WRONG, measured, factor, f"{stated}, measured {measured:.6g}{by}")


def _compute_factor(stated: float, measured: float) -> float | None:
    if not (math.isfinite(stated) and math.isfinite(measured)) or stated * measured <= 0:
        return None
    return stated / measured


def _is_right(claim: Claim, measured: float, factor: float | None) -> bool:
    if claim.value == measured:
        return True
    if factor is None:
        return False
    if claim.quantity.endswith("_error"):
        return 1 / ERROR_FACTOR <= factor <= ERROR_FACTOR
    return abs(factor - 1) <= TOLERANCE
