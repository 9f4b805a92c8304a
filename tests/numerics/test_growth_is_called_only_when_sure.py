"""A cost is called linear or quadratic only when its exponent's whole interval says so, on enough sizes above overhead.

Bounds: [0.7, 1.35] is linear and [1.65, 2.35] quadratic; at least 5 sizes over a factor of 32, timed 5 times each, at
3 times the overhead or more.
"""

import math

import numpy as np
import pytest

from harness.numerics import fit_exponent

SIZES = (128, 256, 512, 1024, 2048, 4096)


def timings(cost, sizes=SIZES, repeats=7, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return {n: list(cost(n) * np.exp(noise * rng.normal(size=repeats))) for n in sizes}


def fit(times, **options):
    return fit_exponent(times, np.random.default_rng(0), **options)


@pytest.mark.parametrize(
    ("exponent", "growth"), [(1.0, "linear"), (2.0, "quadratic"), (1.5, "unclear"), (0.0, "unclear")]
)
def test_a_power_law_is_called_by_its_exponent(exponent: float, growth: str) -> None:
    """With 5 % noise, the median of 7 is good to 2.4 %, so a slope over a factor of 4 is off by about 0.03."""
    for seed in range(20):
        fitted = fit(timings(lambda n: 1e-7 * n**exponent, seed=seed))
        assert fitted.growth == growth, fitted
        assert abs(fitted.value - exponent) < 0.15
        assert fitted.low <= fitted.value <= fitted.high
        assert bool(fitted.reason) == (growth == "unclear")


def test_the_interval_mostly_holds_the_truth() -> None:
    held = [fit(timings(lambda n: n, seed=seed)) for seed in range(60)]
    assert sum(f.low <= 1.0 <= f.high for f in held) >= 54


def test_one_preempted_repeat_a_size_does_not_move_it() -> None:
    times = timings(lambda n: 1e-6 * n, repeats=9)
    for repeats in times.values():
        repeats[0] *= 50.0
    assert fit(times).growth == "linear"


def test_a_curve_that_turns_from_linear_to_quadratic_is_unclear() -> None:
    fitted = fit(timings(lambda n: n + n * n / 1500, noise=0.0))
    assert fitted.growth == "unclear"


def test_noise_as_large_as_the_signal_is_unclear() -> None:
    unclear = [fit(timings(lambda n: n, noise=1.5, seed=seed)).growth == "unclear" for seed in range(20)]
    assert sum(unclear) >= 15


def test_sizes_near_the_overhead_are_dropped() -> None:
    sizes = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
    times = timings(lambda n: 1e-3 + 1e-5 * n, sizes=sizes, noise=0.0)
    fitted = fit(times, overhead=1e-3)
    assert fitted.sizes == (256, 512, 1024, 2048, 4096, 8192)
    assert fitted.growth == "linear"


@pytest.mark.parametrize(
    ("times", "options", "reason"),
    [
        (timings(lambda n: n, sizes=SIZES[:4]), {}, "4 sizes lie above the overhead, 5 are needed"),
        (timings(lambda n: n, sizes=(10, 20, 30, 40, 50)), {}, "the sizes span a factor of 5, 32 is needed"),
        (timings(lambda n: n, repeats=3), {}, "a size was timed 3 times, 5 are needed"),
        (timings(lambda n: 1.0), {"overhead": 1.0}, "0 sizes lie above the overhead, 5 are needed"),
        ({}, {}, "0 sizes lie above the overhead, 5 are needed"),
    ],
    ids=["few sizes", "narrow range", "few repeats", "all overhead", "none"],
)
def test_too_little_is_unclear_and_says_why(times, options, reason: str) -> None:
    fitted = fit(times, **options)
    assert (fitted.growth, fitted.reason) == ("unclear", reason)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_that_cannot_be_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="size 256"):
        fit(timings(lambda n: n) | {256: [1.0, bad]})
