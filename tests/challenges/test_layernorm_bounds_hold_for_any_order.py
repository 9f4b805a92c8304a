"""An honest layer norm stays within its bounds in any order of summation, at any size; one wrong entry does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.probing import Draw, ProbeFailure
from tests.checkout import code_of

CODE = code_of("layernorm_backward")
BINDING, BOUNDS, INPUTS = (CODE.module(name) for name in ("binding", "bounds", "inputs"))

Floats = NDArray[Any]
Sum = Callable[[Floats], Floats]


def left_to_right(values: Floats) -> Floats:
    """Over the last axis, every partial sum rounded to the dtype."""
    return np.cumsum(values, axis=-1, dtype=values.dtype)[..., -1]


def right_to_left(values: Floats) -> Floats:
    return left_to_right(values[..., ::-1])


def largest_last(values: Floats) -> Floats:
    return left_to_right(np.sort(values, axis=-1))


def in_lanes(values: Floats) -> Floats:
    """32 running sums side by side, as a warp takes them, then over the lanes."""
    padded = np.zeros((*values.shape[:-1], -(-values.shape[-1] // 32) * 32), values.dtype)
    padded[..., : values.shape[-1]] = values
    return left_to_right(left_to_right(np.swapaxes(padded.reshape(*values.shape[:-1], -1, 32), -1, -2)))


ORDERS = (left_to_right, right_to_left, largest_last, in_lanes)
SIZES = ((1, 3, 8192), (2, 3, 1037), (40_000, 1, 4), (37, 91, 13), (1, 1, 1), (3, 2, 2))


def honest(given: Any, total: Sum) -> Any:
    """All outputs in the dtype given, every sum taken by `total`."""
    features = given.x.dtype.type(given.x.shape[-1])
    centred = given.x - total(given.x)[..., None] / features
    rstd = 1 / np.sqrt(total(centred * centred)[..., None] / features + given.x.dtype.type(given.eps))
    xhat = centred * rstd
    flow = given.dy * given.gamma
    inside = flow - total(flow)[..., None] / features - xhat * (total(flow * xhat)[..., None] / features)
    dgamma, dbeta = (total(each.reshape(-1, given.x.shape[-1]).T) for each in (given.dy * xhat, given.dy))
    return BINDING.Results(xhat * given.gamma + given.beta, rstd * inside, dgamma, dbeta)


def normal(B: int, T: int, D: int, dtype: str, seed: int = 0) -> Any:
    return BINDING.draw_inputs(Draw(seed, str((B, T, D))), B, T, D, dtype)


def rejected(got: Any, given: Any) -> bool:
    try:
        BOUNDS.require_right(got, given)
    except ProbeFailure:
        return True
    return False


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ORDERS)
def test_an_honest_layer_norm_stays_within_its_bounds(order: Sum, dtype: str) -> None:
    """With room to spare: 0.61 is the most measured over 4 seeds, for one-hot rows left to right, where roundings add
    up."""
    draw = Draw(1, dtype)
    for B, T, D in SIZES:
        for x, dy in (("normal", "normal"), ("sorted", "equal rows"), ("one-hot", "one-hot")):
            plain = {"gamma": "normal", "beta": "normal", "scale": "plain", "eps": 1e-5}
            given = INPUTS.inputs_of(draw, B, T, D, dtype, x=x, dy=dy, **plain)
            with np.errstate(all="ignore"):
                shares = BOUNDS.require_right(honest(given, order), given)
            assert max(shares.values()) < 0.8, (B, T, D, x, dy, shares)


@pytest.mark.parametrize(("dtype", "by"), [("float32", 1e-3), ("float64", 1e-8)])
@pytest.mark.parametrize(("B", "T", "D"), [(2, 3, 16), (5, 7, 1037), (9, 300, 65)])
def test_one_entry_wrong_by_a_thousandth_is_seen(B: int, T: int, D: int, dtype: str, by: float) -> None:
    """1e-3 in float32 and 1e-8 in float64, of an entry that is not small beside its row."""
    given = normal(B, T, D, dtype)
    right = honest(given, np.add.reduce if D == 1 else (lambda values: values.sum(axis=-1)))
    assert not rejected(right, given)
    for name in BINDING.FIELDS:
        wrong = getattr(right, name).copy()
        place = np.unravel_index(int(np.argmax(abs(wrong))), wrong.shape)
        wrong[place] *= 1 + by
        assert rejected(right._replace(**{name: wrong}), given), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dropped", [1, 7, 64])
def test_rows_left_out_of_the_parameter_gradients_are_seen(dropped: int, dtype: str) -> None:
    given = normal(16, 1000, 48, dtype)
    right = honest(given, lambda values: values.sum(axis=-1))
    rest = given.but(x=given.x.reshape(1, -1, 48)[:, :-dropped], dy=given.dy.reshape(1, -1, 48)[:, :-dropped])
    fewer = honest(rest, lambda values: values.sum(axis=-1))
    for name in ("dgamma", "dbeta"):
        assert rejected(right._replace(**{name: getattr(fewer, name)}), given), name


@pytest.mark.parametrize(("dtype", "narrow"), [("float32", "float16"), ("float64", "float32")])
def test_narrower_sums_are_seen(dtype: str, narrow: str) -> None:
    """Sums of 4,000 terms, whatever else is done right."""
    for given in (normal(1, 3, 4000, dtype), normal(4, 1000, 5, dtype)):
        got = honest(given, lambda values: values.sum(axis=-1, dtype=narrow).astype(dtype))
        assert rejected(got, given)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_right_values_are_those_of_the_oracle(dtype: str) -> None:
    """Rounded once they are off by half a unit; the bounds have room for six of it, and for more in sums."""
    given = normal(3, 5, 33, dtype)
    exact = BINDING.Results(*(values.astype(dtype) for values in BINDING.exact(given)))
    assert max(BOUNDS.require_right(exact, given).values()) < 0.2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_worst_entry_of_many_blocks_is_named(dtype: str) -> None:
    """Rows are judged some at a time: the place of an entry counts those before, and of several the worst is told."""
    given = normal(7, 1000, 33, dtype)
    right = honest(given, lambda values: values.sum(axis=-1))
    for name in ("y", "dx"):
        wrong = getattr(right, name).copy()
        wrong[1, 2, 3] += 1.0
        wrong[5, 900, 20] += 1e6
        wrong[6, 999, 32] += 1.0
        with pytest.raises(ProbeFailure) as failure:
            BOUNDS.require_right(right._replace(**{name: wrong}), given)
        assert failure.value.where == f"{name}[5, 900, 20]"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_come_again_are_judged_each_time(dtype: str) -> None:
    """What is right of them is worked out once; a wrong entry in the last copy is seen, and all copies add up."""
    features = 64
    few = normal(1, BOUNDS.BLOCK // features, features, dtype)
    shape = (9, *few.x.shape[1:])
    given = few.but(x=np.broadcast_to(few.x, shape), dy=np.broadcast_to(few.dy, shape))
    right = honest(given, lambda values: values.sum(axis=-1))
    assert not rejected(right, given)
    wrong = right.dx.copy()
    wrong[-1, -1] *= 1.01
    assert rejected(right._replace(dx=wrong), given)
    assert rejected(right._replace(dbeta=right.dbeta * (8 / 9)), given)
