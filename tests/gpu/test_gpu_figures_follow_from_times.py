"""Figures of a GPU run follow from its times, with an interval that holds the median as often as it says."""

import numpy as np
import pytest

from harness.cuda.gpu.device import device_of, driver_version
from harness.cuda.gpu.figures import (
    clocks_agree,
    compute_round_ratio,
    median_interval,
    necessary_bytes,
    plan_repeats,
    plan_rows,
    turns,
)


@pytest.mark.parametrize("n", [10, 50, 51])
def test_the_interval_holds_the_median_nineteen_times_in_twenty(n: int) -> None:
    generator = np.random.default_rng(n)
    samples = generator.exponential(size=(4000, n))  # skewed, as times are; its median is log 2
    intervals = [median_interval(row) for row in samples]
    held = np.mean([i.low <= np.log(2) <= i.high for i in intervals])
    # at least 0.95 by construction; 4000 draws tell it to 0.0035, and three of these are allowed
    assert held >= 0.95 - 3 * 0.0035
    assert np.mean([i.high - i.low for i in intervals]) < 2.0


def test_of_few_values_the_interval_is_their_range() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == type(median_interval([1.0]))(2.0, 1.0, 3.0)


def test_a_ratio_is_taken_round_by_round() -> None:
    """A slow minute slows both contenders: their ratio stays."""
    weather = np.linspace(1, 10, 40)
    ratio = compute_round_ratio(np.stack([weather, 5 * weather], axis=1), of=1, to=0)
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((5, 5, 5))


def test_every_contender_has_a_turn_in_every_round_and_none_is_always_first() -> None:
    order = turns(60, 3, seed=1)
    assert all(sorted(row) == [0, 1, 2] for row in order)
    first = [row[0] for row in order]
    assert all(first.count(c) >= 8 for c in range(3))  # 20 expected, standard deviation 3.7
    assert order == turns(60, 3, seed=1)


@pytest.mark.parametrize(
    ("event_ms", "agree"), [(1.0, True), (1.9, True), (0.6, True), (0.1, False), (10.0, False), (0.0, False)]
)
def test_event_times_that_the_parents_clock_denies_are_not_trusted(event_ms: float, agree: bool) -> None:
    # 100 calls more take 100 ms more: a millisecond each
    assert clocks_agree(event_ms, few=(20, 0.030), many=(120, 0.130)) is agree


def test_what_the_task_must_move_is_counted() -> None:
    assert necessary_bytes(rows=2, vocab=1000, k=5) == 2 * 1000 * 4 + 2 * 5 * (4 + 4)
    assert plan_rows(50_257) == 1335 and plan_rows(128_256) == 523
    few, many = plan_repeats(0.1)
    assert many == 5000 and few == 1000
    assert plan_repeats(0.0)[1] == 100_000 and plan_repeats(10_000.0)[1] == 10


def test_the_driver_and_the_device_are_named() -> None:
    modules = (
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC 12\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\nGCC version: gcc 13.3.0\n",
    )
    assert [driver_version(text) for text in modules] == ["535.104.05", "580.82.07"]
    assert driver_version("") == ""
    said = {"name": "A GPU", "major": 9, "minor": 0, "memory": 80 << 30, "library": "/opt/driver/libcuda.so.1"}
    device = device_of(said, "580.82.07")
    assert device.architecture == "sm_90"
    assert device.library.parent in device.shown
    assert device_of({**said, "library": "/usr/lib/libcuda.so.1"}, "").library.parent not in device.shown
