"""Error ratios, gradient checks, special values and scaling exponents, without I/O or policy."""

from harness.numerics.figures import beyond_rounding, distinct, instead
from harness.numerics.gradients import AFFINE_TOLERANCE, TOLERANCE, GradientFault, GradientReport, check_gradients
from harness.numerics.ratio import (
    FULL,
    PASS,
    Judged,
    comparable,
    conditioning,
    credit,
    error_ratio,
    judge,
    plain,
    rms,
    unequal,
    worst,
)
from harness.numerics.scaling import Exponent, Growth, fit_exponent
from harness.numerics.special import SpecialMismatch, first_mismatch

__all__ = [
    "AFFINE_TOLERANCE",
    "FULL",
    "PASS",
    "TOLERANCE",
    "Exponent",
    "GradientFault",
    "GradientReport",
    "Growth",
    "Judged",
    "SpecialMismatch",
    "beyond_rounding",
    "check_gradients",
    "comparable",
    "conditioning",
    "credit",
    "distinct",
    "error_ratio",
    "first_mismatch",
    "fit_exponent",
    "instead",
    "judge",
    "plain",
    "rms",
    "unequal",
    "worst",
]
