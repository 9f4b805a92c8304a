"""The layer norm agrees with a worked example, with a long-double oracle row by row, and with its own differences."""

import numpy as np
import pytest
from layernorm import backward, check_gradients, forward

SHAPES = [(1, 1, 1), (1, 1, 2), (2, 3, 1), (1, 7, 3), (5, 1, 8), (3, 4, 33)]


def draw(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    x, dy = rng.normal(size=(2, *shape)).astype(dtype)
    gamma, beta = rng.normal(1.0, 0.5, size=(2, shape[-1])).astype(dtype)
    return x, gamma, beta, dy


def by_rows(x, gamma, beta, dy, eps):
    """y, dx, dgamma, dbeta in long double, each row through the full Jacobian of its standardisation."""
    x, gamma, beta, dy = (values.astype(np.longdouble) for values in (x, gamma, beta, dy))
    features = x.shape[-1]
    y, dx = np.zeros_like(x), np.zeros_like(x)
    dgamma, dbeta = np.zeros_like(gamma), np.zeros_like(beta)
    for place in np.ndindex(x.shape[:2]):
        centred = x[place] - x[place].sum() / features
        std = np.sqrt((centred**2).sum() / features + np.longdouble(eps))
        jacobian = (np.eye(features) - 1 / np.longdouble(features)) / std
        jacobian -= np.outer(centred, centred) / features / std**3
        y[place] = gamma * centred / std + beta
        dx[place] = jacobian @ (gamma * dy[place])
        dgamma += dy[place] * centred / std
        dbeta += dy[place]
    return y, dx, dgamma, dbeta


def run(x, gamma, beta, dy, eps):
    y, cache = forward(x, gamma, beta, eps)
    return y, *backward(dy, cache)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_worked_example_is_exact(dtype):
    # mean 1, variance 1, eps 3: rstd = 1/2, every number below is a short binary fraction
    x = np.array([[[0, 2]], [[4, 2]]], dtype)
    gamma, beta, dy = np.array([2, 4], dtype), np.array([1, -1], dtype), np.array([[[1, 0]], [[0, 3]]], dtype)
    y, dx, dgamma, dbeta = run(x, gamma, beta, dy, 3.0)
    assert np.array_equal(y, [[[0, 1]], [[2, -3]]])
    assert np.array_equal(dx, [[[0.375, -0.375]], [[-2.25, 2.25]]])
    assert np.array_equal(dgamma, [-0.5, -1.5])
    assert np.array_equal(dbeta, [1, 3])
    assert {values.dtype for values in (y, dx, dgamma, dbeta)} == {np.dtype(dtype)}


@pytest.mark.parametrize("eps", [1e-5, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_the_full_jacobian(shape, eps):
    arguments = draw(shape)
    for got, wanted in zip(run(*arguments, eps), by_rows(*arguments, eps), strict=True):
        assert got.shape == wanted.shape
        # sums of at most 33 terms of size 1/std: a hundred roundings are ample
        assert np.abs(got - wanted).max() <= 100 * 2.0**-53 * (1 + np.abs(wanted).max())


def test_single_precision_is_kept_and_accurate():
    arguments = draw((3, 4, 33), np.float32)
    for got, wanted in zip(run(*arguments, 1e-5), by_rows(*arguments, 1e-5), strict=True):
        assert got.dtype == np.float32
        assert np.abs(got - wanted).max() <= 100 * 2.0**-24 * (1 + np.abs(wanted).max())


@pytest.mark.parametrize("offset", [2.0**10, 2.0**26])
def test_an_exact_shift_of_x_changes_nothing(offset):
    x, gamma, beta, dy = draw((2, 3, 16))
    x = np.round(x * 2.0**12) / 2.0**12     # the shifted sums below are then exact in 53 bits
    for got, wanted in zip(run(x + offset, gamma, beta, dy, 1e-5), run(x, gamma, beta, dy, 1e-5), strict=True):
        assert np.allclose(got, wanted, rtol=0, atol=1e-13 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("value", [0.0, 0.5, -1024.0])
def test_constant_rows_give_beta_and_centred_gradients(value):
    _, gamma, beta, dy = draw((2, 2, 8))
    y, dx, dgamma, dbeta = run(np.full((2, 2, 8), value), gamma, beta, dy, 0.25)
    flow = dy * gamma
    assert np.array_equal(y, np.broadcast_to(beta, y.shape))
    assert np.allclose(dx, 2 * (flow - flow.mean(axis=-1, keepdims=True)), rtol=0, atol=1e-14)
    assert not dgamma.any()
    assert np.array_equal(dbeta, dy.sum(axis=(0, 1)))


def test_calls_leave_no_trace():
    one, two = draw((2, 3, 8), seed=1), draw((2, 3, 8), seed=2)
    before = [values.copy() for values in one]
    y, cache = forward(*one[:3], 1e-5)
    first, kept = backward(one[3], cache), y.copy()
    run(*two, 1e-5)
    again = backward(one[3], cache)
    assert all(np.array_equal(a, b) for a, b in zip(one, before, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert np.array_equal(y, kept)


def test_cache_holds_the_minimum_and_survives_the_caller():
    x, gamma, beta, dy = draw((2, 3, 8))
    _, cache = forward(x, gamma, beta, 1e-5)
    shapes = {name: values.shape for name, values in cache.items()}
    assert shapes == {"xhat": (2, 3, 8), "rstd": (2, 3, 1), "gamma": (8,)}
    wanted = backward(dy, cache)
    gamma[:] = np.nan
    assert all(np.array_equal(a, b) for a, b in zip(backward(dy, cache), wanted, strict=True))


@pytest.mark.parametrize("change", [
    {"x": np.ones((3, 4))}, {"x": np.ones((1, 2, 3, 4))}, {"x": np.ones((0, 3, 4))}, {"gamma": np.ones(1)},
    {"gamma": np.ones((1, 4))}, {"beta": np.ones(3)}, {"beta": np.ones(1)},
    {"eps": 0.0}, {"eps": -1.0}, {"eps": np.nan},
])
def test_wrong_arguments_are_refused(change):
    arguments = {"x": np.ones((2, 3, 4)), "gamma": np.ones(4), "beta": np.ones(4), "eps": 1e-5}
    with pytest.raises(ValueError, match="must be"):
        forward(**(arguments | change))


@pytest.mark.parametrize("shape", [(1, 3, 4), (2, 3, 1), (6, 4)])
def test_a_dy_of_another_shape_is_refused(shape):
    _, cache = forward(np.ones((2, 3, 4)), np.ones(4), np.ones(4), 1e-5)
    with pytest.raises(ValueError, match="as x was"):
        backward(np.ones(shape), cache)


def fault(part, change):
    """A backward whose gradient number `part` went through `change`."""
    def wrong(dy, cache):
        gradients = [*backward(dy, cache)]
        gradients[part] = change(gradients[part])
        return tuple(gradients)

    return wrong


def bump(values):
    """Get one entry in the middle wrong by one part in ten thousand of the typical entry."""
    values = values.copy()
    values[tuple(length // 2 for length in values.shape)] += 1e-4 * np.sqrt((values**2).mean())
    return values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("shape", SHAPES)
def test_check_accepts_the_right_pair_and_keeps_its_inputs(shape, offset, dtype):
    x, gamma, beta, dy = draw(shape, dtype)
    x += dtype(offset)
    before = x.copy()
    assert check_gradients(forward, backward, x, gamma, beta, dy, 1e-5) is True
    assert np.array_equal(x, before)


def test_check_accepts_gradients_that_are_all_zero():
    x, gamma, beta, dy = draw((2, 3, 8))
    assert check_gradients(forward, backward, x, gamma, beta, 0 * dy, 1e-5) is True


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("change", [bump, lambda v: 1.001 * v, lambda v: 0 * v, lambda v: np.nan * v, lambda v: v[:1]])
def test_check_rejects_any_wrong_gradient(part, change):
    x, gamma, beta, dy = draw((2, 4, 64))
    assert check_gradients(forward, fault(part, change), x, gamma, beta, dy, 1e-5) is False


def test_check_rejects_a_backward_that_uses_the_latest_forward():
    latest = {}

    def remembering(x, gamma, beta, eps):
        y, cache = forward(x, gamma, beta, eps)
        latest.update(cache)
        return y, {}

    arguments = draw((2, 4, 16))
    assert check_gradients(remembering, lambda dy, _: backward(dy, latest), *arguments, 1e-5) is False
