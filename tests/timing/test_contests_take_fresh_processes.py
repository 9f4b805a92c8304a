"""Near equals are timed in ever more processes, and what was timed in those before still counts."""

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.numerics.paired import LOOKS, PROCESSES, PairedComparison, PairedVerdict
from harness.timing.contest import IDENTITY_EVERY, RESTART_PAIRS, CallCost, ContestResult, Role, Trial, contest

SPREAD = 0.5
"""Standard deviation of the log of a cost: so noisy that nothing within a fifth is decided in 1912 pairs."""


class Sleeper:
    """A process that does nothing, and costs what it is told to."""

    def __init__(self, costs: Iterator[float]) -> None:
        self.process = subprocess.Popen(["sleep", "600"])
        # what it takes to start would count as work in the background
        while not Path(f"/proc/{self.process.pid}/stat").read_text().startswith(f"{self.process.pid} (sleep) S"):
            time.sleep(0.001)
        self.costs = costs
        self.played = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def run(self, given: object) -> CallCost:
        self.played += 1
        cost = next(self.costs)
        return CallCost(cost, cost)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Field:
    """Opens trials whose answers cost `factor` times the references, give or take `spread`."""

    def __init__(self, factor: float, spread: float) -> None:
        self.draw = random.Random(7)
        self.factor = factor
        self.spread = spread
        self.trials: list[dict[Role, Sleeper]] = []

    def costs(self, middle: float) -> Iterator[float]:
        while True:
            yield middle * self.draw.lognormvariate(0.0, self.spread)

    @contextmanager
    def start(self, count: int) -> Iterator[list[Trial]]:
        middles = {Role.ANSWER: 1e-3 * self.factor, Role.REFERENCE: 1e-3, Role.IDENTITY: 1e-6}
        trials = [{role: Sleeper(self.costs(middle)) for role, middle in middles.items()} for _ in range(count)]
        self.trials += trials
        try:
            yield [Trial(trial, lambda: None) for trial in trials]
        finally:
            for trial in trials:
                for sleeper in trial.values():
                    sleeper.close()


def raced(factor: float, spread: float) -> tuple[Field, ContestResult]:
    field = Field(factor, spread)
    return field, contest(field.start, seconds=60.0)


@pytest.fixture(scope="module")
def undecided() -> tuple[Field, ContestResult]:
    return raced(1.0, SPREAD)


def test_what_stays_open_is_timed_in_nine_process_pairs(undecided: tuple[Field, ContestResult]) -> None:
    field, result = undecided
    assert result.comparison.verdict is PairedVerdict.UNCLEAR
    assert (result.comparison.pairs, result.comparison.processes) == (LOOKS[-1], (1 + len(RESTART_PAIRS)) * PROCESSES)
    assert len(field.trials) == 9


def test_no_process_is_left(undecided: tuple[Field, ContestResult]) -> None:
    assert all(sleeper.process.poll() is not None for trial in undecided[0].trials for sleeper in trial.values())


def test_the_identity_plays_in_one_round_of_four(undecided: tuple[Field, ContestResult]) -> None:
    for trial in undecided[0].trials:
        # two more rounds of each trial warm up, and are not counted
        rounds, identity = trial[Role.ANSWER].played - 2, trial[Role.IDENTITY].played
        assert (
            (rounds + IDENTITY_EVERY - 1) // IDENTITY_EVERY
            <= identity
            <= (rounds + IDENTITY_EVERY - 1) // IDENTITY_EVERY + 2
        )
        assert trial[Role.REFERENCE].played == trial[Role.ANSWER].played


def test_a_plain_difference_needs_three() -> None:
    field, result = raced(1.5, 0.05)
    assert result.comparison.verdict is PairedVerdict.SLOWER
    assert len(field.trials) == PROCESSES


def test_a_contest_may_stop_when_both_clocks_say_enough() -> None:
    field = Field(1.0, 0.05)
    result = contest(field.start, seconds=60.0, enough=lambda compared: compared.high < 1.25)
    assert result.comparison.pairs < LOOKS[-1] and result.comparison.high < 1.25
    assert result.wall.high < 1.25


def test_a_contest_goes_on_where_one_clock_does_not_say_enough() -> None:
    asked = []

    def enough(compared: PairedComparison) -> bool:
        asked.append(compared)
        return len(asked) % 2 == 1  # of processor time, never of wall time

    field = Field(1.0, SPREAD)
    result = contest(field.start, seconds=60.0, enough=enough)
    assert result.comparison.pairs == LOOKS[-1]
