"""The parts on their own: masks, softmax, packing, and rows that come back as they went in."""

import numpy as np
import pytest
from attention import QUERY_BLOCK, attend, hidden, softmax
from quantization import Exact, Scaled, pack, unpack
from storage import Contiguous, Paged


def test_a_query_sees_itself_and_the_past():
    mask = hidden(np.array([2, 3]), np.arange(5), None)
    assert mask.tolist() == [[False, False, False, True, True], [False, False, False, False, True]]


def test_a_window_counts_the_query_itself():
    mask = hidden(np.array([2, 3]), np.arange(5), 2)
    assert mask.tolist() == [[True, False, False, True, True], [True, True, False, False, True]]


def test_softmax_is_exact_for_equal_scores_and_shifts():
    scores = np.array([[1e4, 1e4, 1e4, 1e4], [0.0, -np.inf, 0.0, -np.inf]])
    assert softmax(scores).tolist() == [[0.25] * 4, [0.5, 0.0, 0.5, 0.0]]


def test_queries_of_zero_give_prefix_means():
    n = 2 * QUERY_BLOCK + 3
    values = np.arange(n, dtype=float).reshape(n, 1, 1)
    out = attend(np.zeros((1, n, 1)), np.ones((n, 1, 1)), values)
    np.testing.assert_allclose(out[0, :, 0], np.arange(n) / 2, rtol=1e-12)


def test_every_pair_of_codes_survives_packing():
    codes = np.array([(a, b, c) for a in range(-8, 8) for b in range(-8, 8) for c in (-7, 0, 7)], np.int8)
    for width in (1, 2, 3):
        packed = pack(codes[:, :width])
        assert packed.shape[1] == (width + 1) // 2
        assert np.array_equal(unpack(packed, width), codes[:, :width])


@pytest.mark.parametrize(("bits", "top"), [(8, 127), (4, 7)])
def test_codes_use_their_whole_range_and_round_to_the_nearest(bits, top):
    codec = Scaled(bits, 4)
    x = np.array([[[top, -top, 1.4, -1.6]], [[0, 0, 0, 0]], [[-2e-9, 1e-9, 0, 2e-9]]], float)
    with np.errstate(all="raise"):
        back = codec.decode(codec.encode(x))
    np.testing.assert_allclose(back[0, 0], [top, -top, 1, -2], rtol=1e-15)
    assert not back[1].any()
    np.testing.assert_allclose(back[2], x[2], atol=1.0001e-9 / top)


@pytest.mark.parametrize("codec", [Exact(), Scaled(8, 3), Scaled(4, 3)])
@pytest.mark.parametrize("make", [lambda blank: Contiguous(3, blank), lambda blank: Paged(3, 2, blank)])
def test_rows_come_back_in_the_order_they_went_in(codec, make):
    rng = np.random.default_rng(1)
    store = make(codec.encode(np.empty((0, 2, 3))))
    written = {slot: [] for slot in range(3)}
    for slot, n in [(0, 3), (1, 1), (0, 1), (2, 4), (1, 2), (0, 5)]:
        rows = codec.encode(rng.normal(size=(n, 2, 3)))
        store.append(slot, rows)
        written[slot].append(rows)
    for slot, chunks in written.items():
        assert store.length(slot) == sum(len(chunk[0]) for chunk in chunks)
        for part, held in enumerate(store.read(slot)):
            assert np.array_equal(held, np.concatenate([chunk[part] for chunk in chunks]))
