"""A verdict on two costs is right or unclear: identical ones are never called different, a difference never hidden."""

import math
from collections import Counter

import numpy as np
import pytest

from harness.numerics.paired import (
    ALPHA,
    LOOKS,
    MARGIN,
    PairedComparison,
    PairedVerdict,
    Rule,
    compare,
    interval,
    log_ratios,
)

RUNS = 300
BETWEEN = 0.007
"""Standard deviation of log ratios between processes: five pairs of identical ones gave 0.8 % at a megabyte."""


def raced(ratio: float, seed: int, noise: float, between: float = BETWEEN) -> PairedComparison:
    """A whole sequential run on noise with heavy tails: one pair in ten is off by half as much again or more."""
    rng = np.random.default_rng(seed)
    bias = between * rng.standard_normal(3)
    processes: list[list[float]] = [[], [], []]
    rule, comparison = Rule(), compare([])
    for pair in range(LOOKS[-1]):
        tail = 0.5 * rng.standard_normal() if rng.random() < 0.1 else 0.0
        processes[pair % 3].append(math.log(ratio) + bias[pair % 3] + noise * rng.standard_normal() + tail)
        if pair + 1 in LOOKS and not comparison.decided:
            comparison = rule.look(processes)
    return comparison


def verdicts(ratio: float, noise: float) -> Counter[PairedVerdict]:
    return Counter(raced(ratio, seed, noise).verdict for seed in range(RUNS))


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_identical_costs_are_the_same_and_never_anything_else(noise):
    seen = verdicts(1.0, noise)
    assert seen[PairedVerdict.SAME] >= 0.95 * RUNS
    assert seen[PairedVerdict.FASTER] == seen[PairedVerdict.SLOWER] == 0


def test_identical_costs_in_heavy_noise_are_unclear_rather_than_different():
    seen = verdicts(1.0, 0.3)
    assert seen[PairedVerdict.FASTER] == seen[PairedVerdict.SLOWER] == 0


@pytest.mark.parametrize("noise", [0.01, 0.03])
@pytest.mark.parametrize(("ratio", "verdict"), [(1.05, "slower"), (1.2, "slower"), (0.95, "faster"), (0.5, "faster")])
def test_a_difference_is_called(ratio, verdict, noise):
    assert verdicts(ratio, noise)[PairedVerdict(verdict)] >= 0.99 * RUNS


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_large_difference_is_called_in_heavy_noise(noise):
    assert verdicts(1.5, noise)[PairedVerdict.SLOWER] >= 0.99 * RUNS


def test_one_process_that_disagrees_holds_a_verdict_back():
    agreeing, other = [0.05 + 0.001 * i for i in range(60)], [-0.01 - 0.001 * i for i in range(10)]
    assert compare([agreeing, agreeing, agreeing]).verdict is PairedVerdict.SLOWER
    assert compare([agreeing, agreeing, other]).verdict is PairedVerdict.UNCLEAR


def test_a_difference_needs_two_looks_in_a_row():
    rule, slower, even = Rule(), [[0.5] * 20] * 3, [[-0.1, 0.1] * 10] * 3
    looks = [rule.look(ratios).verdict for ratios in (slower, even, slower, slower)]
    assert looks == [PairedVerdict.UNCLEAR] * 3 + [PairedVerdict.SLOWER]


def test_two_processes_decide_nothing():
    assert compare([[0.5] * 100, [0.5] * 100]).verdict is PairedVerdict.UNCLEAR
    assert compare([[0.0] * 100, [0.0] * 100, []]).verdict is PairedVerdict.UNCLEAR


def test_nothing_is_decided_within_the_margin_of_the_margin():
    """A true ratio at the margin itself may not come out as the same and as different in turns without end."""
    seen = Counter(raced(math.exp(MARGIN), seed, 0.02, between=0.0).verdict for seed in range(RUNS))
    assert seen[PairedVerdict.UNCLEAR] >= 0.9 * RUNS
    assert seen[PairedVerdict.FASTER] == 0


@pytest.mark.parametrize("n", LOOKS)
def test_the_interval_misses_no_more_often_than_it_says(n):
    """The median lies under the value of rank k with probability P(Binomial(n, 1/2) < k), on either side."""
    low, high = interval([float(rank) for rank in range(1, n + 1)])
    assert low + high == n + 1
    miss = 2 * sum(math.comb(n, i) for i in range(int(low))) / 2**n
    wider = 2 * sum(math.comb(n, i) for i in range(int(low) + 1)) / 2**n
    assert miss <= ALPHA < wider


def test_too_few_values_have_no_interval():
    assert interval([0.0] * 8) == (-math.inf, math.inf)
    empty = compare([[], [], []])
    assert (empty.pairs, empty.processes, empty.verdict) == (0, 0, PairedVerdict.UNCLEAR)


def test_what_every_call_costs_is_taken_off_before_the_ratio():
    assert log_ratios([3.0, 5.0], [2.0, 3.0], overhead=1.0) == pytest.approx([math.log(2), math.log(2)])


def test_a_cost_at_the_overhead_counts_as_a_little():
    (ratio,) = log_ratios([1.0], [3.0], overhead=1.0)
    assert ratio == pytest.approx(math.log(0.05 / 2.0))


def test_costs_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="positive"):
        log_ratios([0.0], [1.0])
    with pytest.raises(ValueError, match="argument 2"):
        log_ratios([1.0], [1.0, 2.0])


def shifted(rng: np.random.Generator, processes: int, odd: int, pairs: int) -> list[list[float]]:
    """Log ratios around 1.10, and around 0.97 in the first `odd` processes."""
    middles = [math.log(0.97)] * odd + [math.log(1.10)] * (processes - odd)
    return [(middle + 0.05 * rng.standard_normal(pairs)).tolist() for middle in middles]


@pytest.mark.parametrize(
    ("processes", "odd", "verdict"),
    [
        (3, 0, PairedVerdict.SLOWER), (3, 1, PairedVerdict.UNCLEAR), (5, 1, PairedVerdict.UNCLEAR),
        (6, 1, PairedVerdict.SLOWER), (6, 2, PairedVerdict.UNCLEAR), (9, 1, PairedVerdict.SLOWER),
        (9, 2, PairedVerdict.UNCLEAR),
    ],
)  # fmt: skip
def test_one_odd_process_of_six_decides_nothing_and_stops_nothing(
    processes: int, odd: int, verdict: PairedVerdict
) -> None:
    # 1,800 pairs: the pooled interval is far beyond the margin in every case but that of one odd of three
    assert compare(shifted(np.random.default_rng(5), processes, odd, 1800 // processes)).verdict is verdict
