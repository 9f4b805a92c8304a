"""Figures an answer states about itself, against what was measured."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.model import Claim

TOLERANCE = 0.05
"""Relative difference that is still right."""
ERROR_FACTOR = 10.0
"""A stated error (a quantity named `*_error`) is right within this factor: errors vary from run to run."""


class Truth(StrEnum):
    """What became of a claim."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "not measured"


@dataclass(frozen=True)
class CheckedClaim:
    """One claim beside the measured figure.

    Attributes:
        claim: what was stated.
        truth: right, wrong, or not measured.
        measured: the measured figure, None when there is none.
        factor: stated over measured; None where that says nothing (nothing measured, a zero, opposite signs).
        detail: the comparison in words.
    """

    claim: Claim
    truth: Truth
    measured: float | None
    factor: float | None
    detail: str


def check_claims(claims: Iterable[Claim], measured: Mapping[str, float]) -> tuple[CheckedClaim, ...]:
    """Compare every claim with the measured figure of the same name.

    A claim is right within 5 % of the measured figure, a `*_error` within a factor of 10. A zero is right only against
    a zero, an infinity only against the same one; NaN, stated or measured, settles nothing in the claim's favour.

    Args:
        claims: as the submission states them.
        measured: figures by name.
    """
    return tuple(_check(claim, measured.get(claim.quantity)) for claim in claims)


def _check(claim: Claim, measured: float | None) -> CheckedClaim:
    stated = f"{claim.quantity} stated as {claim.value:.6g}"
    if measured is None or math.isnan(measured):
        return CheckedClaim(claim, Truth.UNKNOWN, None, None, f"{stated}: {Truth.UNKNOWN}")
    factor = _factor(claim.value, measured)
    if _right(claim, measured, factor):
        return CheckedClaim(claim, Truth.RIGHT, measured, factor, f"{stated}, measured {measured:.6g}")
    if factor is None:
        by = ""
    elif factor >= 1:
        by = f": {factor:.3g} times too high"
    else:
        by = f": {1 / factor:.3g} times too low"
    return CheckedClaim(claim, Truth.WRONG, measured, factor, f"{stated}, measured {measured:.6g}{by}")


def _factor(stated: float, measured: float) -> float | None:
    if not (math.isfinite(stated) and math.isfinite(measured)) or stated * measured <= 0:
        return None
    return stated / measured


def _right(claim: Claim, measured: float, factor: float | None) -> bool:
    if claim.value == measured:
        return True
    if factor is None:
        return False
    if claim.quantity.endswith("_error"):
        return 1 / ERROR_FACTOR <= factor <= ERROR_FACTOR
    return abs(factor - 1) <= TOLERANCE
