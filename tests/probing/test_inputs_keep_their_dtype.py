"""`ArrayInputs.but` changes arrays and settings of a call, and leaves its dtype and layout as they were."""

from dataclasses import dataclass

import numpy as np
import pytest

from harness.probing.inputs import ArrayInputs


@dataclass(frozen=True)
class Inputs(ArrayInputs):
    x: np.ndarray
    y: np.ndarray
    size: int = 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_changed_arrays_are_contiguous_and_of_the_same_dtype(dtype):
    given = Inputs(np.ones((2, 3), dtype), np.ones(3, dtype))
    got = given.but(x=np.arange(6, dtype=np.longdouble).reshape(3, 2).T, y=2)
    assert got.x.dtype == got.y.dtype == dtype and got.x.flags.c_contiguous and got.x.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert got.y.tolist() == [2] and got.size == 3 and given.x.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_settings_are_taken_as_they_are():
    got = Inputs(np.ones(2), np.ones(2)).but(size=7)
    assert got.size == 7 and type(got) is Inputs


@pytest.mark.parametrize(("dtype", "wide"), [("float32", np.float64), ("float64", np.longdouble)])
def test_a_dtype_has_its_unit_and_a_wider_type(dtype, wide):
    given = Inputs(np.ones(2, dtype), np.ones(2, dtype))
    assert (given.dtype, given.wide) == (dtype, wide)
    one = np.ones(1, dtype)
    assert one + given.unit == one and one + 2.1 * given.unit > one
