"""The largest difference of any two arrays is found, exact where numbers are exact, and no size hides one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.numerics import (
    PASS,
    check_gradients,
    conditioning,
    credit,
    error_ratio,
    first_mismatch,
    judge,
    rms,
    unequal,
    worst,
)
from harness.numerics.special import position, round_values
from tests import shares
from tests.any_arrays import DTYPES, FLOATING, WHOLE, differ, pairs, values

EXAMPLES = settings(max_examples=shares.examples(200))
POWERS = st.integers(-300, 300).map(lambda n: 10.0**n)


@EXAMPLES
@given(pairs())
def test_one_entry_that_differs_is_the_worst(pair):
    wrong, right, index = pair
    assert worst(wrong, right) == index
    assert worst(right.copy(), right) is None
    assert np.argwhere(unequal(wrong, right)).tolist() == [list(index)]
    judged = judge(wrong, right, 0.0)
    assert judged.index == index and judged.ratio > 0
    assert error_ratio(right.copy(), right, 0.0) == 0.0


@EXAMPLES
@given(values(WHOLE[1:], smallest=1), st.sampled_from(DTYPES[1:]))
def test_numbers_are_compared_exactly_across_kinds(array, other):
    """int64 beside uint64 or float64 would be rounded by NumPy first."""
    with np.errstate(all="ignore"):
        wide = array.astype(other)
    finite = np.isfinite(wide.astype(np.longdouble))
    exact = [
        not f or Fraction(int(a)) != Fraction(int(w))
        for a, w, f in zip(array.flat, wide.flat, finite.flat, strict=True)
    ]
    assert np.asarray(unequal(array, wide)).ravel().tolist() == exact


@EXAMPLES
@given(pairs(FLOATING))
def test_special_values_are_compared_by_kind(pair):
    wrong, right, index = pair
    kinds = [
        (bool(np.isnan(v)), bool(np.isinf(v)), bool(v > 0) and bool(np.isinf(v))) for v in (wrong[index], right[index])
    ]
    found = first_mismatch(wrong, right)
    assert (found.index if found else None) == (index if kinds[0] != kinds[1] else None)
    assert first_mismatch(right.copy(), right) is None


@EXAMPLES
@given(st.sampled_from(FLOATING[2:]), POWERS, st.integers(1, 9))
def test_no_size_of_the_numbers_hides_an_error(dtype, power, size):
    """One entry off by 1e-6 of all is 4e9 eps of float64, whatever its size."""
    right = np.full(size, power, dtype)
    wrong = right.copy()
    wrong[-1] *= 1 + 1e-6
    assert error_ratio(wrong, right, 0.0) > 1e6 * PASS
    assert float(rms(right) / np.longdouble(right[0])) == pytest.approx(1)


@EXAMPLES
@given(values(FLOATING[:3], finite=True))
def test_rounding_once_is_right(oracle):
    for narrow in FLOATING[:3]:
        actual = round_values(oracle, np.dtype(narrow))
        assert actual.dtype == narrow and actual.shape == oracle.shape
        assert error_ratio(actual, oracle.astype(np.longdouble), 0.0) == 0.0


@EXAMPLES
@given(values(FLOATING, smallest=1, finite=True))
def test_the_first_of_the_largest_is_the_position(array):
    index = position(array)
    assert array[index] == array.max()
    assert not (array.ravel()[: np.ravel_multi_index(index, array.shape) if index else 0] == array.max()).any()


@EXAMPLES
@given(values((*WHOLE, *FLOATING[:3]), smallest=1))
def test_only_floats_move_when_inputs_are_rounded(array):
    (spread,) = conditioning(lambda x: x.astype(np.longdouble), (array,), np.random.default_rng(0))
    finite = array[np.isfinite(array)]
    half_ulp = float(np.spacing(np.abs(finite)).max(initial=0)) / 2 if array.dtype.kind == "f" else 0.0
    assert spread == pytest.approx(half_ulp, rel=1e-9, abs=5e-324)  # half of the smallest float64 is none


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_larger_ratio_earns_no_more(one, other):
    assert credit(min(one, other)) >= credit(max(one, other))
    assert (credit(one) > 0) == (one <= PASS)


@settings(max_examples=shares.examples(60))
@given(st.integers(2, 4), st.integers(2, 5), st.sampled_from((0, 1, 2)), st.integers(0, 2**32), st.floats(1e-4, 10.0))
def test_one_wrong_gradient_is_found(rows, width, which, seed, off):
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(size=(2, rows, width))
    gamma, beta = rng.normal(size=(2, width))
    right = (dy * gamma, (dy * x).sum(axis=0), dy.sum(axis=0))
    inputs = {"x": x, "gamma": gamma, "beta": beta, "dy": dy, "eps": 1e-5, "rng": rng}
    forward = lambda x, gamma, beta, eps: x * gamma + beta  # noqa: E731
    assert check_gradients(forward, right, **inputs).passed
    wrong = [each.copy() for each in right]
    index = tuple(rng.integers(0, size) for size in wrong[which].shape)
    wrong[which][index] += off
    report = check_gradients(forward, tuple(wrong), **inputs)
    assert [(fault.term, fault.index) for fault in report.faults] == [(("dx", "dgamma", "dbeta")[which], index)]
    assert differ(report.faults[0].got, report.faults[0].expected)
