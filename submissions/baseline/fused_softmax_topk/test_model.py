"""The algorithm finds the k largest logits and their probabilities, whatever the row looks like."""

import numpy as np
import pytest
from model import (
    LANES,
    LIST,
    MAX_K,
    SPAN,
    WARPS,
    Selection,
    Softmax,
    columns_of,
    compare_exchange,
    constant,
    fused_softmax_topk,
    keep_largest,
    keys_of,
    logits_of,
    sort,
)

PERIOD = WARPS * SPAN
"""Columns after which the same lane of the same warp is next."""


def check(logits, k, shift=0):
    """Every index exact, every probability within the rounding of float32 terms added one by one."""
    probs, indices = fused_softmax_topk(logits, k, shift)
    order = np.argsort(-logits.astype(float), axis=1, kind="stable")[:, :k]
    assert np.array_equal(indices, order)
    assert probs.dtype == np.float32 and indices.dtype == np.int32
    x = logits.astype(np.longdouble)
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    exact = np.take_along_axis(weights / weights.sum(axis=1, keepdims=True), order, axis=1)
    # a lane adds longest; an exponent of e rounds to e * 2**-24; exp, product and quotient add a few
    terms = -(-logits.shape[1] // PERIOD) * (SPAN // LANES) + 8
    finite = np.isfinite(np.take_along_axis(x, order, axis=1))
    spread = np.abs(np.where(finite, np.take_along_axis(x, order, axis=1) - x.max(axis=1, keepdims=True), 0))
    bound = (terms + 16 + spread) * 2.0**-23 * exact + np.finfo(np.float32).tiny
    assert (np.abs(probs - exact) <= bound).all()


def normal(rows, vocab, scale=3.0, seed=0):
    return (scale * np.random.default_rng(seed).normal(size=(rows, vocab))).astype(np.float32)


@pytest.mark.parametrize("vocab", [1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 2503])
def test_any_vocab_and_alignment(vocab):
    """Rows of an odd vocab begin at other places of a line, each one."""
    check(normal(3, vocab), min(vocab, 7), shift=31)
    check(normal(2, vocab), 1)
    check(normal(1, vocab), min(vocab, MAX_K), shift=1)


def test_a_real_vocabulary():
    check(normal(1, 50257), 50)


@pytest.mark.parametrize("k", [2, 8, 9, 31, 32, 33, 64, 100, 128, 129, 255, MAX_K])
def test_any_k(k):
    check(normal(1, 300), k)


@pytest.mark.parametrize("stride", [1, 2, LANES, 64, SPAN, 256, PERIOD])
def test_all_winners_on_one_stride(stride):
    """A stride of PERIOD puts all of them into one lane of one warp."""
    k = 40 if stride == PERIOD else MAX_K if stride < 256 else 100
    winners = slice(5, 5 + k * stride, stride)
    logits = normal(1, winners.stop + 1)
    logits[0, winners] += 100
    check(logits, k)


def test_rows_that_rise_fall_or_stand():
    rising = np.arange(6000, dtype=np.float32) / 50
    check(np.stack([rising, rising[::-1], np.zeros_like(rising)]), 100)


def test_a_rising_row_flushes_often_and_loses_nothing():
    selection = Selection(16)
    for begin in range(0, 40 * SPAN, SPAN):
        columns = np.arange(begin, begin + SPAN)
        selection.add(keys_of(columns.astype(np.float32), columns))
    assert columns_of(selection.entries)[:16].tolist() == list(range(40 * SPAN - 1, 40 * SPAN - 17, -1))
    assert selection.flushes == 20    # two spans fill the buffer


def test_a_falling_row_flushes_once_its_best_are_known():
    selection = Selection(16)
    for begin in range(0, 40 * SPAN, SPAN):
        columns = np.arange(begin, begin + SPAN)
        selection.add(keys_of(-columns.astype(np.float32), columns))
    assert columns_of(selection.entries)[:16].tolist() == list(range(16))
    assert selection.flushes == 1


def test_the_last_span_empties_the_buffer():
    selection = Selection(3)
    columns = np.arange(SPAN)
    selection.add(keys_of(columns.astype(np.float32), columns), last=True)
    assert columns_of(selection.entries)[:3].tolist() == [SPAN - 1, SPAN - 2, SPAN - 3]
    assert selection.buffered == 0


def test_ties_go_by_column():
    logits = np.zeros((1, 3000), np.float32)
    logits[0, [7, 2999, 1500]] = 1
    probs, indices = fused_softmax_topk(logits, 6)
    assert indices.tolist() == [[7, 1500, 2999, 0, 1, 2]]
    assert probs[0, 0] == probs[0, 2] > probs[0, 3] == probs[0, 5]


def test_minus_infinity_has_no_probability_and_nan_stays_in_its_row():
    logits = normal(3, 700)
    logits[0, 3:] = -np.inf
    logits[2, 50] = np.nan
    probs, indices = fused_softmax_topk(logits, 8)
    check(logits[:2], 8)
    assert (probs[0, 3:] == 0).all() and len(set(indices[0].tolist())) == 8


@pytest.mark.parametrize("offset", [-3e38, -16384, 16384, 3e38])
def test_large_offsets_do_not_overflow(offset):
    logits = np.full((2, 2000), offset, np.float32)
    probs, _ = fused_softmax_topk(logits, 4)
    np.testing.assert_allclose(probs, 1 / 2000, rtol=1e-6)
    check(normal(1, 2000) + np.float32(np.clip(offset, -16384, 16384)), 9)


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1, 11])
def test_other_k_are_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        fused_softmax_topk(normal(1, 10 if k == 11 else 400), k)


def test_keys_order_as_logits_and_columns_do_and_come_back():
    logits = np.array([np.inf, 3e38, 1, 1, 1e-40, 0, -0.0, -1e-40, -1, -3e38, -np.inf], np.float32)
    columns = np.array([9, 8, 0, 1, 7, 2**31 - 1, 5, 4, 3, 2, 6])
    keys = keys_of(logits, columns)
    assert (np.diff(keys.astype(object)) < 0).all() and keys[-1] > 0
    assert np.array_equal(logits_of(keys), logits) and np.array_equal(columns_of(keys), columns)


def test_the_network_sorts_and_keeps_the_largest():
    rng = np.random.default_rng(2)
    for keep in (0, 1, 100, LIST):
        a, b = (np.where(np.arange(LIST) < keep, rng.integers(1, 2**63, LIST), 0).astype(np.uint64) for _ in range(2))
        expected = np.sort(np.concatenate([a, b]))[::-1][:LIST]
        assert np.array_equal(sort(a), np.sort(a)[::-1])
        assert np.array_equal(keep_largest(sort(a), sort(b)), expected)


def test_a_step_of_the_network_exchanges_across_the_stride():
    entries = np.array([1, 2, 3, 4, 5, 6, 7, 8], np.uint64)
    assert compare_exchange(entries, 4, 2).tolist() == [3, 4, 1, 2, 5, 6, 7, 8]


def test_halves_of_different_scale_merge():
    softmax = Softmax(2)
    softmax.add(np.array([[0.0, 80.0], [-np.inf, 80.0]], np.float32))
    merged = softmax.halves_merged()
    assert merged.max.tolist() == [80.0] and merged.sum.tolist() == [2.0]


def test_sizes_are_those_of_the_kernel():
    assert constant("warp_list.cuh", "LANES") == LANES
    assert MAX_K <= LIST and LIST >= 2 * SPAN
