"""Credit is whole up to the full-credit ratio, falls log-linearly to 0.7 at the passing one, and is nothing above."""

import math

import pytest

from harness.numerics import FULL, PASS, credit


@pytest.mark.parametrize(
    ("ratio", "earned"),
    [(0.0, 1.0), (FULL, 1.0), (math.sqrt(FULL * PASS), 0.85), (PASS, 0.7), (PASS * 1.001, 0.0), (math.inf, 0.0)],
)
def test_credit_at(ratio: float, earned: float) -> None:
    assert credit(ratio) == pytest.approx(earned)


def test_credit_never_rises_with_the_ratio() -> None:
    earned = [credit(1.05**step) for step in range(-20, 100)]
    assert earned == sorted(earned, reverse=True)


def test_nan_earns_nothing() -> None:
    assert credit(math.nan) == 0.0
