"""Projection and linear layer agree with worked examples and with sums taken entry by entry."""

import numpy as np
import pytest
from ternary import linear_backward, linear_forward, project

SIZES = [(3, 8, 4, 4), (2, 5, 3, 4), (4, 33, 5, 32), (1, 1, 1, 1), (2, 6, 3, 1), (2, 6, 3, 100), (3, 24, 7, 8)]


def by_entries(w, group):
    """t and s in long double, entry by entry."""
    w = w.astype(np.longdouble)
    s = np.zeros((len(w), -(-w.shape[1] // group)), np.longdouble)
    t = np.zeros(w.shape, np.int8)
    for i, g in np.ndindex(s.shape):
        members = range(g * group, min((g + 1) * group, w.shape[1]))
        s[i, g] = sum(abs(w[i, j]) for j in members) / len(members)
        for j in members:
            t[i, j] = 0 if abs(w[i, j]) <= s[i, g] / 2 else np.sign(w[i, j])
    return t, s


def used(w, group):
    t, s = by_entries(w, group)
    return t * s[:, np.arange(w.shape[1]) // group]


def draw(rows, columns, out, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape).astype(dtype) for shape in ((rows, columns), (out, columns), (rows, out)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_worked_example_is_exact(dtype):
    w = np.array([[1, -3, 0.5, 3.5, -2, 0.25], [0, 0, -0.0, 0, 8, 8]], dtype)
    t, s = project(w, 4)
    assert np.array_equal(s, [[2, 1.125], [0, 8]])
    assert np.array_equal(t, [[0, -1, 0, 1, -1, 0], [0, 0, 0, 0, 1, 1]])
    assert (t.dtype, s.dtype) == (np.int8, np.dtype(dtype))
    x = np.array([[1, 1, 1, 1, 1, 1], [0, 2, 0, 0, 0, 0]], dtype)
    y, cache = linear_forward(x, w, 4)
    assert np.array_equal(y, [[-1.125, 16], [-4, 0]])
    dx, dw = linear_backward(np.array([[1, 0], [0, 2]], dtype), cache)
    assert np.array_equal(dx, [[0, -2, 0, 2, -1.125, 0], [0, 0, 0, 0, 16, 16]])
    assert np.array_equal(dw, [[1, 1, 1, 1, 1, 1], [0, 4, 0, 0, 0, 0]])
    assert {a.dtype for a in (y, dx, dw)} == {np.dtype(dtype)}


def test_groups_of_32_are_taken_where_none_is_asked():
    w = np.random.default_rng(1).normal(size=(3, 70))
    for got, wanted in zip(project(w), project(w, 32), strict=True):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", SIZES)
def test_agrees_with_sums_entry_by_entry(sizes, dtype):
    rows, columns, out, group = sizes
    x, w, dy = draw(rows, columns, out, dtype)
    t, s = project(w, group)
    t_right, s_right = by_entries(w, group)
    assert np.array_equal(t, t_right)
    # sums of at most 33 terms: a hundred roundings are ample
    unit = 100 * np.finfo(dtype).eps
    assert np.abs(s - s_right).max() <= unit * np.abs(s_right).max()
    y, cache = linear_forward(x, w, group)
    dx, dw = linear_backward(dy, cache)
    for got, left, right in ((y, x, used(w, group).T), (dx, dy, used(w, group)), (dw, dy.T, x)):
        assert got.dtype == dtype
        assert (np.abs(got - left.astype(np.longdouble) @ right) <= unit * (abs(left) @ abs(right) + 1e-30)).all()


@pytest.mark.parametrize("size", [1e-30, 1e-9, 1e12])
def test_the_size_of_weights_does_not_matter(size):
    _, w, _ = draw(1, 20, 3)
    t, s = project(w, 8)
    t_scaled, s_scaled = project(w * size, 8)
    assert np.array_equal(t_scaled, t)
    assert np.allclose(s_scaled, s * size, rtol=1e-14, atol=0)


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_a_matrix_of_zeros_gives_zeros(value):
    t, s = project(np.full((3, 7), value), 4)
    assert not t.any()
    assert not s.any()
    assert np.isfinite(s).all()


def test_gradients_belong_to_their_forward_and_inputs_stay():
    x, w, dy = draw(3, 12, 4)
    before = [a.copy() for a in (x, w, dy)]
    _, cache = linear_forward(x, w, 8)
    first = linear_backward(dy, cache)
    linear_forward(2 * x, -w, 8)
    again = linear_backward(dy, cache)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip((x, w, dy), before, strict=True))


def test_the_gradient_of_w_does_not_depend_on_w():
    x, w, dy = draw(3, 12, 4)
    gradients = [linear_backward(dy, linear_forward(x, v, 8)[1])[1] for v in (w, 50 * w, 0 * w)]
    assert np.array_equal(gradients[0], gradients[1])
    assert np.array_equal(gradients[0], gradients[2])


@pytest.mark.parametrize("w", [np.ones(4), np.ones((1, 2, 3)), np.ones((0, 4)), np.ones((4, 0))])
def test_what_is_no_matrix_is_refused(w):
    with pytest.raises(ValueError, match="w must be"):
        project(w, 4)


@pytest.mark.parametrize("group", [0, -1])
def test_groups_below_one_are_refused(group):
    with pytest.raises(ValueError, match="group_size"):
        project(np.ones((2, 4)), group)


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (4,), (1, 2, 4)])
def test_an_x_that_does_not_fit_is_refused(shape):
    with pytest.raises(ValueError, match="x must be"):
        linear_forward(np.ones(shape), np.ones((3, 4)), 4)


@pytest.mark.parametrize("shape", [(2, 4), (1, 3), (3,), (3, 3)])
def test_a_dy_that_does_not_fit_is_refused(shape):
    _, cache = linear_forward(np.ones((2, 4)), np.ones((3, 4)), 4)
    with pytest.raises(ValueError, match="dy must be"):
        linear_backward(np.ones(shape), cache)
