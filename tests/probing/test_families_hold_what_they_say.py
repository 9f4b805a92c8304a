"""A family of values has the dtype, the shape and the peculiarity that its name says."""

import numpy as np
import pytest

from harness.probing import Draw
from harness.probing.families import FAMILIES, MAGNITUDES, SCALED, values

SHAPE = (40, 3, 12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("family", [*FAMILIES, *SCALED])
@pytest.mark.parametrize("shape", [SHAPE, (1,), (1, 1), (7,)])
def test_values_are_finite_and_in_the_range_that_contracts_name(family, dtype, shape):
    made = values(Draw(3), family, *shape, dtype=dtype)
    assert made.shape == shape and made.dtype == dtype and np.isfinite(made).all()
    assert abs(made).max() <= MAGNITUDES[dtype][1]


def test_peculiar_families_are_peculiar():
    def made(family):
        return values(Draw(3), family, *SHAPE).reshape(-1, SHAPE[-1])

    assert set(np.signbit(made("signed zeros")).ravel()) == {True, False} and not made("signed zeros").any()
    assert (made("equal rows") == made("equal rows")[0]).all()
    assert ((np.diff(made("sorted")) > 0).all(axis=1) | (np.diff(made("sorted")) < 0).all(axis=1)).all()
    assert ((made("one-hot") != 0).sum(axis=1) <= 1).all() and len(set(made("constant").ravel())) == 1
    assert (np.ptp(made("constant rows"), axis=1) == 0).all() and np.ptp(made("constant rows")) > 0
    special = np.ptp(made("some rows constant"), axis=1) == 0
    assert 10 < special.sum() < 80
    subnormal = values(Draw(3), "subnormal", 50, dtype="float32")
    assert (abs(subnormal[subnormal != 0]) < np.finfo(np.float32).smallest_normal).mean() > 0.9
