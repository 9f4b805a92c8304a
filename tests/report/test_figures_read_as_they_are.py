"""Figures are rounded for reading without saying more, or less, than was measured."""

import math

import pytest

from harness.model import Counterexample
from harness.report import formatting


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "not assessed"), (0.0, "0"), (100.0, "100"), (66.66666666666667, "66.7"), (0.25, "0.3"), (2.05, "2.1"),
        (12.449, "12.4"),
    ],
)  # fmt: skip
def test_marks_are_rounded_half_up_to_one_decimal(value, shown):
    assert formatting.mark(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(1.0, "100 %"), (0.999, "99 %"), (0.57, "57 %"), (0.0, "0 %"), (2 / 3, "66 %")]
)
def test_shares_are_rounded_down(share, shown):
    assert formatting.percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.19001, "1.19"), (3.0, "3"), (12345, "12,345"), (12345.678, "12,346"), (1.5e-9, "1.5e-09"), (3e12, "3e+12"),
        (-0.5, "-0.5"), (True, "yes"), (False, "no"), ("float32", "float32"), (math.nan, "NaN"), (math.inf, "infinite"),
        (-math.inf, "minus infinite"), (0, "0"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, shown):
    assert formatting.number(value) == shown


def test_expected_and_seen_keep_nine_digits():
    example = Counterexample(probe="p", case={"T": 2, "offset": 1e8}, where="y[1]", expected=1.00000001, got=1.0)
    assert formatting.values(example) == "y[1]: expected 1.00000001, got 1"
    assert formatting.sizes(example) == "T = 2, offset = 100000000"
    assert example.probe == "p"


def test_a_unit_stands_behind_its_number():
    measured = {"largest_file_lines": 212, "complex_code_percent": 1.5, "bytes": 7, "cache_bytes_ratio": 2.0}
    assert formatting.figures(measured) == "largest file 212 lines, complex code 1.5 %, bytes 7, cache bytes ratio 2"


def test_the_box_is_told_as_a_part_of_its_stage():
    assert formatting.took({"box": 0.91, "build_and_probes": 4.7}) == "build and probes 4.7 s (in the box: 0.9 s)"


def test_figures_left_out_are_counted():
    assert formatting.figures({f"figure_{i}": i for i in range(6)}) == (
        "figure 0 0, figure 1 1, figure 2 2, figure 3 3, 2 more in the record"
    )
