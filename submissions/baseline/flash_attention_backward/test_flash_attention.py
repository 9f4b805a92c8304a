"""Output and gradients agree with plain attention in long double and with finite differences, whatever the tiles."""

import numpy as np
import pytest
from flash_attention import flash_attention_bwd, flash_attention_fwd

SHAPES = [(1, 1, 1, 1), (1, 2, 5, 3), (2, 1, 8, 4), (2, 2, 17, 6)]
TILES = [(1, 1), (2, 3), (4, 4), (8, 5), (16, 40)]


def draw(shape, dtype=np.float64, times=1.0, seed=0):
    rng = np.random.default_rng(seed)
    q, k, v, do = rng.normal(size=(4, *shape))
    return (times * q).astype(dtype), (times * k).astype(dtype), v.astype(dtype), do.astype(dtype)


def plain(q, k, v, do, causal):
    """o, L and the gradients in long double, all scores at once, through the full Jacobian of the softmax."""
    q, k, v, do = (values.astype(np.longdouble) for values in (q, k, v, do))
    root = np.sqrt(np.longdouble(q.shape[3]))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / root
    if causal:
        scores[:, :, np.arange(q.shape[2])[:, None] < np.arange(q.shape[2])] = -np.inf
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    weights = weights / total
    slopes = np.einsum("bhid,bhjd->bhij", do, v)
    jacobian = np.einsum("bhij,jk->bhijk", weights, np.eye(q.shape[2], dtype=np.longdouble))
    jacobian = jacobian - weights[..., :, None] * weights[..., None, :]
    dscores = np.einsum("bhijk,bhij->bhik", jacobian, slopes) / root
    return (
        np.einsum("bhij,bhjd->bhid", weights, v), (largest + np.log(total))[..., 0],
        np.einsum("bhij,bhjd->bhid", dscores, k), np.einsum("bhij,bhid->bhjd", dscores, q),
        np.einsum("bhij,bhid->bhjd", weights, do),
    )


def run(q, k, v, do, tiles, causal=True):
    o, cache = flash_attention_fwd(q, k, v, tiles[0], causal)
    return o, cache["L"], *flash_attention_bwd(do, cache, tiles[1], causal)


def assert_close(got, wanted, size=1.0):
    # a score is off by some roundings of its size, and a weight by as much; sums of at most 48 terms
    for values, exact in zip(got, wanted, strict=True):
        unit = np.finfo(values.dtype).eps
        assert np.isfinite(values).all()
        assert np.abs(values - exact).max() <= 300 * unit * size * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_plain_attention(shape, tiles, causal):
    arguments = draw(shape)
    before = [values.copy() for values in arguments]
    assert_close(run(*arguments, tiles, causal), plain(*arguments, causal))
    assert all(np.array_equal(a, b) for a, b in zip(arguments, before, strict=True))


def test_worked_example():
    # D = 1: the second row has scores 0 and log 3, so weights 1/4 and 3/4, and slopes 4 and 8 with row sum 7
    q, do = np.array([[[[1.0], [1.0]]]]), np.array([[[[0.0], [1.0]]]])
    k, v = np.array([[[[0.0], [np.log(3.0)]]]]), np.array([[[[4.0], [8.0]]]])
    o, logsumexp, dq, dk, dv = run(q, k, v, do, (1, 1))
    assert np.allclose(o.ravel(), [4.0, 7.0])
    assert np.allclose(logsumexp.ravel(), [0.0, np.log(4.0)])
    assert np.allclose(dk.ravel(), [-0.75, 0.75])
    assert np.allclose(dq.ravel(), [0.0, 0.75 * np.log(3.0)])
    assert np.allclose(dv.ravel(), [0.25, 0.75])


@pytest.mark.parametrize("causal", [True, False])
def test_gradients_are_those_of_finite_differences(causal):
    q, k, v, do = draw((1, 2, 6, 3))
    gradients = run(q, k, v, do, (4, 5), causal)[2:]
    rng = np.random.default_rng(3)
    for part, gradient in enumerate(gradients):
        for _ in range(3):
            move = rng.normal(size=q.shape)
            ends = []
            for step in (1e-3, -1e-3, 2e-3, -2e-3):
                moved = [values + (step * move if place == part else 0) for place, values in enumerate((q, k, v))]
                ends.append((do * flash_attention_fwd(*moved, 4, causal)[0]).sum())
            slope = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / 12e-3
            assert abs(slope - (gradient * move).sum()) <= 1e-9 * np.abs(gradient * move).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    arguments = draw((2, 2, 20, 8), dtype)
    got = run(*arguments, (6, 7))
    assert {values.dtype for values in got} == {np.dtype(dtype)}
    assert_close(got, plain(*arguments, True))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rising", [True, False])
def test_ramps_of_scores(rising, dtype, causal):
    _, _, v, do = draw((1, 2, 48, 4), dtype)
    ramp = np.linspace(-400, 400, 48)[:: 1 if rising else -1]
    q = np.ones((1, 2, 48, 4), dtype)
    k = np.broadcast_to(ramp[:, None] / 2, (1, 2, 48, 4)).astype(dtype)    # four features, scale 1/2
    # terms of dq are as large as keys, whose sum nearly vanishes
    assert_close(run(q, k, v, do, (3, 3), causal), plain(q, k, v, do, causal), size=400.0 * 200.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores(dtype):
    arguments = draw((1, 1, 32, 8), dtype, times=30.0)
    assert_close(run(*arguments, (5, 4)), plain(*arguments, True), size=3000.0)


def test_scores_far_below_zero():
    q, k, v, do = draw((1, 1, 12, 4))
    q, k = np.abs(q) + 10, -np.abs(k) - 50
    assert_close(run(q, k, v, do, (4, 4)), plain(q, k, v, do, True), size=4000.0)


def test_causal_is_the_default():
    q, k, v, do = draw((1, 2, 9, 4))
    o, cache = flash_attention_fwd(q, k, v, 4)
    got = (o, cache["L"], *flash_attention_bwd(do, cache, 4))
    assert all(np.array_equal(a, b) for a, b in zip(got, run(q, k, v, do, (4, 4)), strict=True))


def test_the_future_does_not_matter():
    q, k, v, do = draw((1, 2, 11, 4))
    o, _, dq, *_ = run(q, k, v, do, (4, 4))
    k[:, :, 6:], v[:, :, 6:] = 7.0, -3.0
    moved = run(q, k, v, do, (4, 4))
    assert np.array_equal(moved[0][:, :, :6], o[:, :, :6])
    assert np.array_equal(moved[2][:, :, :6], dq[:, :, :6])


def test_hidden_tiles_are_never_read():
    q, k, v, do = draw((1, 1, 12, 4))
    o, cache = flash_attention_fwd(q, k, v, 4)
    dq = flash_attention_bwd(do, cache, 4)[0]
    k[:, :, 8:], v[:, :, 8:] = np.nan, np.nan
    again, cache = flash_attention_fwd(q, k, v, 4)
    assert np.array_equal(again[:, :, :8], o[:, :, :8])
    assert np.array_equal(flash_attention_bwd(do, cache, 4)[0][:, :, :8], dq[:, :, :8])


def test_cache_holds_five_arrays_and_stays():
    q, k, v, do = draw((1, 2, 7, 3))
    o, cache = flash_attention_fwd(q, k, v, 3)
    assert {name: values.shape for name, values in cache.items()} == {
        "O": q.shape, "L": q.shape[:3], "Q": q.shape, "K": q.shape, "V": q.shape,
    }
    kept = {name: values.copy() for name, values in cache.items()}
    first = flash_attention_bwd(do, cache, 3)
    flash_attention_fwd(*draw((1, 2, 7, 3), seed=5)[:3], 3)
    again = flash_attention_bwd(do, cache, 3)
    assert all(np.array_equal(cache[name], values) for name, values in kept.items())
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert np.array_equal(cache["O"], o)


@pytest.mark.parametrize("change", [
    {"q": np.ones((3, 4))}, {"q": np.ones((0, 2, 3, 4))}, {"k": np.ones((1, 2, 3, 5))}, {"k": np.ones((1, 1, 3, 4))},
    {"v": np.ones((1, 2, 4, 4))}, {"v": np.ones((2, 2, 3, 4))}, {"tile_size": 0}, {"tile_size": -2},
])
def test_wrong_arguments_are_refused(change):
    arguments = {name: np.ones((1, 2, 3, 4)) for name in "qkv"} | {"tile_size": 2}
    with pytest.raises(ValueError, match="must"):
        flash_attention_fwd(**(arguments | change))


@pytest.mark.parametrize("do, tile", [(np.ones((1, 1, 3, 4)), 2), (np.ones((1, 2, 3, 1)), 2), (np.ones((1, 2, 3, 4)), 0)])
def test_a_wrong_backward_is_refused(do, tile):
    _, cache = flash_attention_fwd(*(np.ones((1, 2, 3, 4)) for _ in range(3)), 2)
    with pytest.raises(ValueError, match="must"):
        flash_attention_bwd(do, cache, tile)
