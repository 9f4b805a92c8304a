"""Honest arithmetic passes, wrong numbers fail, and credit falls with the ratio between."""

import math

import numpy as np
import pytest
from layer_norms import HONEST, draw, naive_variance, oracle, pairwise

from harness.numerics import FULL, PASS, conditioning, credit, error_ratio, first_mismatch, judge, worst

OFFSETS = (0.0, 1e4, 1e8, 1e10)


def ratios(variant, inputs, rng) -> list[float]:
    spreads = conditioning(oracle, inputs, rng)
    outputs = zip(variant(*inputs), oracle(*inputs), spreads, strict=True)
    return [error_ratio(actual, expected, spread) for actual, expected, spread in outputs]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", HONEST)
def test_every_honest_variant_passes(name: str, dtype: str, offset: float) -> None:
    for shape, seeds in (((4, 8, 64), 3), ((2, 4, 256), 2)):
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            worst = max(ratios(HONEST[name], draw(rng, shape, dtype, offset), rng))
            assert worst <= PASS, f"{name} at {shape}, seed {seed}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairwise_sums_get_full_credit_for_most_seeds(dtype: str) -> None:
    """Measured: 50 of 50 seeds in float64 and 49 of 50 in float32."""
    worst = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        worst.append(max(ratios(pairwise, draw(rng, (4, 8, 64), dtype), rng)))
    assert sum(ratio <= FULL for ratio in worst) >= 18


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_ratio_is_steady_over_the_draws_of_the_spread(offset: float) -> None:
    """Measured standard deviation on one input: 4 to 18 % of the mean; twice that would move marks."""
    inputs = draw(np.random.default_rng(0), (4, 8, 64), offset=offset)
    seen = np.array([ratios(pairwise, inputs, np.random.default_rng(seed)) for seed in range(20)])
    assert (seen.std(axis=0) <= 0.36 * seen.mean(axis=0)).all()


NAN, INF = math.nan, math.inf


def softmax(logits):
    wide = logits.astype(np.longdouble)
    powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def layer_norm_ratios(actual, inputs, rng) -> list[float]:
    spreads = conditioning(oracle, inputs, rng)
    return [error_ratio(*judged) for judged in zip(actual, oracle(*inputs), spreads, strict=True)]


def test_cancelling_variance_fails_at_an_offset() -> None:
    """Measured 1.7e5 at offset 1e4; a fixed allclose accepts 90 % of such runs."""
    rng = np.random.default_rng(0)
    inputs = draw(rng, (4, 8, 64), offset=1e4)
    assert layer_norm_ratios(naive_variance(*inputs), inputs, rng)[1] > 1e3


def test_float32_arithmetic_fails_a_float64_answer() -> None:
    """float32 rounds 2^29 times coarser, so its ratio is about 2^29 times an honest one."""
    rng = np.random.default_rng(1)
    inputs = draw(rng, (4, 8, 64))
    narrow = pairwise(*(a.astype(np.float32) for a in inputs))
    assert min(layer_norm_ratios([a.astype(np.float64) for a in narrow], inputs, rng)) > 1e6


def test_a_millionth_off_fails() -> None:
    """1e-6 is 4.5e9 eps of float64."""
    rng = np.random.default_rng(2)
    inputs = draw(rng, (4, 8, 64))
    y, dx, dgamma, dbeta = pairwise(*inputs)
    assert layer_norm_ratios((y, dx * (1 + 1e-6), dgamma, dbeta), inputs, rng)[1] > 1e6


@pytest.mark.parametrize("null", ["zeros", "constant", "input"])
def test_null_answers_never_pass_a_softmax(null: str) -> None:
    """Probabilities of 50,000 logits are at most about 2e-3, so the usual allclose(1e-2, 1e-2) accepts zeros."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(2, 50_000)).astype(np.float32)
    expected = softmax(logits)
    answers = {"zeros": np.zeros_like(logits), "constant": np.full_like(logits, 1 / 50_000), "input": logits}
    spread = conditioning(softmax, [logits], rng)[0]
    assert np.allclose(answers["zeros"], expected.astype(np.float32), rtol=1e-2, atol=1e-2)
    assert error_ratio(answers[null], expected, spread) > 1e3 * PASS


def test_one_forgotten_token_in_a_thousand_fails() -> None:
    """Random values dilute it: the same answer passes allclose at 1e-2 of the largest value."""

    def attend(q, keys, values):
        return softmax(keys.astype(np.longdouble) @ q / np.sqrt(np.longdouble(len(q)))) @ values

    rng = np.random.default_rng(4)
    q, keys, values = rng.normal(size=16), rng.normal(size=(1021, 16)), rng.normal(size=(1021, 16))
    keys[0] -= 3.0 * q / np.linalg.norm(q)
    forgetful = attend(q, keys[1:], values[1:]).astype(np.float64)
    expected = attend(q, keys, values)
    assert np.allclose(forgetful, expected.astype(np.float64), rtol=1e-2, atol=1e-2)
    assert error_ratio(forgetful, expected, conditioning(attend, [q, keys, values], rng)[0]) > 1e6


@pytest.mark.parametrize(
    ("got", "right"),
    [(NAN, 1.0), (1.0, NAN), (INF, -INF), (-INF, INF), (INF, 1.0), (0.0, -INF), (NAN, INF)],
)
def test_special_values_are_compared_before_any_tolerance(got: float, right: float) -> None:
    expected = np.array([[1.0, 2.0], [right, 4.0]], dtype=np.longdouble)
    actual = np.array([[1.0, 9.0], [got, 4.0]])
    judged = judge(actual, expected, spread=1e300)
    assert judged.ratio == INF and not judged.passed
    assert judged.index == (1, 0)
    assert str(judged.got) == str(got) and str(judged.expected) == str(right)


def test_equal_special_values_do_not_hide_the_rest() -> None:
    expected = np.array([NAN, INF, -INF, 1.0], dtype=np.longdouble)
    assert error_ratio(np.array([NAN, INF, -INF, 1.0]), expected, 0.0) == 0.0
    assert error_ratio(np.array([NAN, INF, -INF, 1.1]), expected, 0.0) > 1e6


def test_a_mismatch_is_put_in_words() -> None:
    mismatch = first_mismatch(np.array([[0.5, NAN], [NAN, 1.0]]), np.array([[0.5, -INF], [2.0, 1.0]]))
    assert str(mismatch) == "NaN at (0, 1) where -inf is right; 2 of 4 positions differ so"
    mismatch = first_mismatch(np.array([0.5]), np.array([NAN]))
    assert str(mismatch) == "0.5 at (0,) where NaN is right; 1 of 1 positions differ so"


def test_a_value_beyond_the_dtype_expects_an_infinity() -> None:
    expected = np.array([1e300, 1.0], dtype=np.longdouble)
    assert error_ratio(np.array([INF, 1.0], dtype=np.float32), expected, 0.0) == 0.0
    assert error_ratio(np.array([3e38, 1.0], dtype=np.float32), expected, 0.0) == INF


@pytest.mark.parametrize(
    "actual",
    [np.ones((2, 1)), np.ones(3), np.ones(2, dtype=np.int64), np.ones(2, dtype=bool), np.array([1.0, None])],
    ids=["broadcastable", "longer", "integer", "bool", "object"],
)
def test_a_wrong_shape_or_dtype_is_a_failure_not_an_exception(actual) -> None:
    judged = judge(actual, np.ones(2, dtype=np.longdouble), 1.0)
    assert judged.ratio == INF and judged.index is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_worst_position_is_named(dtype: str) -> None:
    expected = np.random.default_rng(5).normal(size=(3, 4, 5)).astype(dtype)
    actual = expected.copy()
    actual[1, 2, 3] += 0.25
    actual[2, 0, 0] -= 0.125
    assert worst(actual, expected) == (1, 2, 3)
    assert judge(actual, expected, 0.0).index == (1, 2, 3)


def test_nothing_expected_allows_nothing() -> None:
    zeros = np.zeros(4, dtype=np.longdouble)
    assert error_ratio(np.zeros(4), zeros, 0.0) == 0.0
    assert error_ratio(np.array([0.0, 0.0, 5e-324, 0.0]), zeros, 0.0) == INF


def test_an_empty_array_has_no_error() -> None:
    empty = np.empty((0, 3))
    assert judge(empty, empty, 0.0).ratio == 0.0
    assert judge(empty, empty, 0.0).index is None
    assert conditioning(lambda x: x, [empty.astype(np.longdouble)], np.random.default_rng(0)) == (0.0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_once_is_never_held_against_an_answer(dtype: str) -> None:
    """One large value among 50,000 small ones: half its ulp is 112 eps * rms, yet no dtype can do better."""
    expected = np.full(50_000, 1e-9, dtype=np.longdouble)
    expected[7] = 2 / np.longdouble(3)
    rounded = expected.astype(dtype)
    assert error_ratio(rounded, expected, 0.0) == 0.0
    rounded[7] = np.nextafter(rounded[7], dtype_one(dtype))
    assert 0.0 < error_ratio(rounded, expected, 0.0) <= 4.0


def dtype_one(dtype: str) -> np.floating:
    return np.dtype(dtype).type(1)


@pytest.mark.parametrize("spread", [-1.0, NAN, INF])
def test_a_spread_that_would_pass_anything_is_refused(spread: float) -> None:
    with pytest.raises(ValueError, match="spread must be finite"):
        judge(np.ones(2), np.ones(2, dtype=np.longdouble), spread)


def test_conditioning_leaves_what_is_not_a_floating_array_alone() -> None:
    seen = []

    def record(x, count, eps, flags):
        seen.append((x, count, eps, flags))
        return x

    x = np.array([1.0, -INF, NAN, 0.0], dtype=np.float32)
    (spread,) = conditioning(record, [x, 3, 1e-5, np.array([True])], np.random.default_rng(0), draws=4)
    assert spread == np.spacing(np.float32(1.0)) / 2
    for moved, count, eps, flags in seen[1:]:
        assert moved.dtype == np.longdouble and moved[1] == -INF and np.isnan(moved[2])
        assert abs(moved[0] - 1) == spread
        assert (count, eps, flags.tolist()) == (3, 1e-5, [True])


def test_conditioning_is_the_worst_of_its_draws() -> None:
    """A spread is the largest movement over all draws, not the last: this oracle moves most in the third of eight."""
    movements = iter([0.0, 1.0, 2.0, 7.0, 3.0, 0.5, 4.0, 1.0, 2.0])  # unmoved inputs first, then one for each draw

    def scripted(x: np.ndarray) -> np.ndarray:
        return np.array([next(movements)], np.longdouble)

    assert conditioning(scripted, [np.ones(1)], np.random.default_rng(0)) == (7.0,)
    assert next(movements, None) is None


@pytest.mark.parametrize(
    ("ratio", "earned"),
    [(0.0, 1.0), (FULL, 1.0), (math.sqrt(FULL * PASS), 0.85), (PASS, 0.7), (PASS * 1.001, 0.0), (math.inf, 0.0)],
)
def test_credit_at(ratio: float, earned: float) -> None:
    assert credit(ratio) == pytest.approx(earned)


def test_credit_never_rises_with_the_ratio() -> None:
    earned = [credit(1.05**step) for step in range(-20, 100)]
    assert earned == sorted(earned, reverse=True)


def test_nan_earns_nothing() -> None:
    assert credit(math.nan) == 0.0
