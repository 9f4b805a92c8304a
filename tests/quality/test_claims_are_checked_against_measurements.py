"""A claimed figure is right, wrong by a stated factor, or not measured; nothing unmeasured is right."""

import math

import pytest

from harness.model import Claim
from harness.quality.claims import Truth, check_claims

INF, NAN = math.inf, math.nan


def verdict(quantity: str, value: float, measured: dict[str, float]):
    (found,) = check_claims([Claim(quantity=quantity, value=float(value), where="ANALYSIS.md")], measured)
    return found


@pytest.mark.parametrize(
    ("value", "measured", "truth", "factor"),
    [
        (3, 3, Truth.RIGHT, 1.0),
        (1.049, 1.0, Truth.RIGHT, 1.049),
        (1.051, 1.0, Truth.WRONG, 1.051),
        (0.5, 2.0, Truth.WRONG, 0.25),
        (24_576, 12_288, Truth.WRONG, 2.0),
        (0, 0, Truth.RIGHT, None),
        (0, 1e-300, Truth.WRONG, None),
        (1, 0, Truth.WRONG, None),
        (-1, 1, Truth.WRONG, None),
        (-2, -2, Truth.RIGHT, 1.0),
        (INF, INF, Truth.RIGHT, None),
        (INF, 1, Truth.WRONG, None),
        (1, INF, Truth.WRONG, None),
        (-INF, INF, Truth.WRONG, None),
        (NAN, 1, Truth.WRONG, None),
        (1, NAN, Truth.UNKNOWN, None),
        (NAN, NAN, Truth.UNKNOWN, None),
        (1e-200, 1e-200, Truth.RIGHT, None),
    ],
)
def test_a_figure_is_right_within_five_percent(value, measured, truth, factor):
    found = verdict("cache_bytes", value, {"cache_bytes": measured})
    assert (found.truth, found.factor) == (truth, pytest.approx(factor) if factor is not None else None)


@pytest.mark.parametrize(
    ("value", "truth"), [(1e-10, Truth.RIGHT), (9e-10, Truth.RIGHT), (2e-9, Truth.WRONG), (5e-12, Truth.WRONG)]
)
def test_an_error_is_right_within_its_order_of_magnitude(value, truth):
    assert verdict("dx_relative_error", value, {"dx_relative_error": 1e-10}).truth is truth


def test_what_was_not_measured_is_neither_right_nor_wrong():
    found = verdict("tokens_per_second", 1e6, {"other": 1.0})
    assert (found.truth, found.measured) == (Truth.UNKNOWN, None)
    assert "not measured" in found.detail


def test_the_words_say_by_how_much():
    assert "2 times too high" in verdict("bytes", 4, {"bytes": 2}).detail
    assert "8 times too low" in verdict("bytes", 1, {"bytes": 8}).detail
