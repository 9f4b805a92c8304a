"""An error ratio of 32 against the oracle passes, and one just above it fails with what was seen."""

import numpy as np
import pytest

from harness.probing import ProbeFailure, expect

RIGHT = np.array([1.0, 2.0, 3.0], np.longdouble)
SPREAD = 1e-10


def off_by(ratio: float) -> np.ndarray:
    values = RIGHT.astype(np.float64)
    values[1] += ratio * SPREAD
    return values


@pytest.mark.parametrize("ratio", [0.0, 1.0, 31.9])
def test_an_answer_just_below_the_bound_passes(ratio):
    assert expect.close("out", off_by(ratio), RIGHT, SPREAD) == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("ratio", [32.1, 100.0, 3200.0])
def test_an_answer_just_above_the_bound_fails(ratio):
    with pytest.raises(ProbeFailure, match="out is wrong") as caught:
        expect.close("out", off_by(ratio), RIGHT, SPREAD)
    assert caught.value.where == "out[1]"
    assert caught.value.measured["error_ratio"] == pytest.approx(ratio, rel=1e-3)


def test_a_limit_of_its_own_is_kept():
    assert expect.close("out", off_by(3.9), RIGHT, SPREAD, limit=4)
    with pytest.raises(ProbeFailure):
        expect.close("out", off_by(4.1), RIGHT, SPREAD, limit=4)
