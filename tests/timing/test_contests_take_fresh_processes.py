"""Near equals are timed in ever more processes, and what was timed in those before still counts."""

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.numerics.paired import LOOKS, PROCESSES, PairedVerdict
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

    def start(self) -> Trial:
        middles = {Role.ANSWER: 1e-3 * self.factor, Role.REFERENCE: 1e-3, Role.IDENTITY: 1e-6}
        self.trials.append({role: Sleeper(self.costs(middle)) for role, middle in middles.items()})
        return Trial(self.trials[-1], lambda: None)


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
