"""The attention agrees with a worked example and with plain attention in long double, whatever the tiles."""

import numpy as np
import pytest
from flash_attention import flash_attention_fwd

SHAPES = [(1, 1, 1, 1), (1, 2, 5, 3), (2, 1, 8, 4), (2, 3, 17, 8)]
TILES = [1, 2, 3, 4, 8, 16, 40]


def draw(shape, dtype=np.float64, times=1.0, seed=0):
    rng = np.random.default_rng(seed)
    q, k, v = rng.normal(size=(3, *shape))
    return (times * q).astype(dtype), (times * k).astype(dtype), v.astype(dtype)


def plain(q, k, v, causal):
    """All scores at once, in long double."""
    q, k, v = (values.astype(np.longdouble) for values in (q, k, v))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(np.longdouble(q.shape[3]))
    if causal:
        scores[:, :, np.arange(q.shape[2])[:, None] < np.arange(q.shape[2])] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhij,bhjd->bhid", weights, v) / weights.sum(axis=-1, keepdims=True)


def assert_close(got, wanted, scores=1.0):
    # a score is off by some roundings of its size, and a weight by as much; sums of at most 48 terms
    unit = np.finfo(got.dtype).eps
    assert np.abs(got - wanted).max() <= 200 * unit * max(1.0, scores) * np.abs(wanted).max()


def test_worked_example():
    # D = 1: the scores of the second row are 0 and log 3, so the weights are 1/4 and 3/4
    q = np.array([[[[1.0], [1.0]]]])
    k = np.array([[[[0.0], [np.log(3.0)]]]])
    v = np.array([[[[4.0], [8.0]]]])
    assert_close(flash_attention_fwd(q, k, v, 1), np.array([[[[4.0], [7.0]]]]))
    assert_close(flash_attention_fwd(q, k, v, 1, False), np.array([[[[7.0], [7.0]]]]))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_plain_attention(shape, tile, causal):
    q, k, v = draw(shape)
    before = [values.copy() for values in (q, k, v)]
    o = flash_attention_fwd(q, k, v, tile, causal)
    assert_close(o, plain(q, k, v, causal))
    assert all(np.array_equal(a, b) for a, b in zip((q, k, v), before, strict=True))


def test_causal_is_the_default():
    q, k, v = draw((1, 2, 9, 4))
    assert np.array_equal(flash_attention_fwd(q, k, v, 4), flash_attention_fwd(q, k, v, 4, True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    q, k, v = draw((2, 2, 20, 8), dtype)
    o = flash_attention_fwd(q, k, v, 6)
    assert o.dtype == dtype
    assert_close(o, plain(q, k, v, True))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rising", [True, False])
def test_ramps_of_scores(rising, dtype, causal):
    _, _, v = draw((1, 2, 48, 4), dtype)
    ramp = np.linspace(-400, 400, 48)[:: 1 if rising else -1]
    q = np.ones((1, 2, 48, 4), dtype)
    k = np.broadcast_to(ramp[:, None] / 2, (1, 2, 48, 4)).astype(dtype)    # four features, scale 1/2
    o = flash_attention_fwd(q, k, v, 3, causal)
    assert np.isfinite(o).all()
    assert_close(o, plain(q, k, v, causal), scores=400.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores(dtype):
    q, k, v = draw((1, 1, 32, 8), dtype, times=30.0)
    assert_close(flash_attention_fwd(q, k, v, 5), plain(q, k, v, True), scores=3000.0)


def test_scores_below_zero_and_one_far_above():
    q, k, v = draw((1, 1, 12, 4))
    q, k = np.abs(q) + 10, -np.abs(k) - 50
    k[:, :, 7] = 0.0
    assert_close(flash_attention_fwd(q, k, v, 4), plain(q, k, v, True), scores=4000.0)


def test_the_future_does_not_matter():
    q, k, v = draw((1, 2, 11, 4))
    o = flash_attention_fwd(q, k, v, 4)
    k[:, :, 6:], v[:, :, 6:] = 7.0, -3.0
    assert np.array_equal(flash_attention_fwd(q, k, v, 4)[:, :, :6], o[:, :, :6])


def test_hidden_tiles_are_never_read():
    q, k, v = draw((1, 1, 12, 4))
    o = flash_attention_fwd(q, k, v, 4)
    k[:, :, 8:], v[:, :, 8:] = np.nan, np.nan
    assert np.array_equal(flash_attention_fwd(q, k, v, 4)[:, :, :8], o[:, :, :8])


def test_calls_leave_no_trace():
    one, two = draw((1, 2, 9, 4), seed=1), draw((1, 2, 9, 4), seed=2)
    first = flash_attention_fwd(*one, 4)
    kept = first.copy()
    flash_attention_fwd(*two, 4)
    assert np.array_equal(first, kept)
    assert np.array_equal(flash_attention_fwd(*one, 4), kept)


@pytest.mark.parametrize("change", [
    {"q": np.ones((3, 4))}, {"q": np.ones((0, 2, 3, 4))}, {"k": np.ones((1, 2, 3, 5))}, {"k": np.ones((1, 1, 3, 4))},
    {"v": np.ones((1, 2, 4, 4))}, {"v": np.ones((2, 2, 3, 4))}, {"tile_size": 0}, {"tile_size": -2},
])
def test_wrong_arguments_are_refused(change):
    arguments = {name: np.ones((1, 2, 3, 4)) for name in "qkv"} | {"tile_size": 2}
    with pytest.raises(ValueError, match="must"):
        flash_attention_fwd(**(arguments | change))
