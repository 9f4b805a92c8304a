"""Models are ranked by the plain mean of their overalls, and only where the means are over the same challenges."""

import itertools

import numpy as np
import pytest
from rubrics import graded

from harness.model import Provenance
from harness.scoring import standings
from harness.scoring.ranking import STABLE
from harness.scoring.strength import ahead, drawn_means

TASKS = ["a", "b"]


def both(model, first, second, **changes):
    return [graded(model, "a", first, **changes), graded(model, "b", second, **changes)]


def board(records):
    return {s.model: s for s in standings(records, TASKS)}


def test_the_higher_mean_ranks_first():
    places = standings([*both("low", 40, 49), *both("high", 90, 81)], TASKS)
    assert [(s.model, s.rank, s.mean, s.medal) for s in places] == [
        ("high", 1, 85.5, "gold"),
        ("low", 2, 44.5, "silver"),
    ]


def test_equal_means_share_rank_and_medal_and_stand_by_name():
    places = standings([*both("z", 60, 80), *both("y", 70, 70), *both("x", 50, 50), *both("w", 90, 90)], TASKS)
    assert [(s.model, s.rank, s.medal) for s in places] == [
        ("w", 1, "gold"), ("y", 2, "silver"), ("z", 2, "silver"), ("x", 4, None),
    ]  # fmt: skip


def test_the_order_of_records_never_matters():
    records = [*both("z", 60, 80), graded("y", "a", 99), *both("baseline", 100, 100, provenance=Provenance.BASELINE)]
    assert len({standings(order, TASKS) for order in itertools.permutations(records)}) == 1


def test_a_baseline_is_listed_last_and_takes_nobody_s_rank():
    places = standings([*both("baseline", 100, 100, provenance=Provenance.BASELINE), *both("m", 50, 50)], TASKS)
    assert [(s.model, s.rank) for s in places] == [("m", 1), ("baseline", None)]
    assert "baseline" in places[1].note
    assert places[1].mean == 100


@pytest.mark.parametrize("missing", [[], [graded("half", "b", None)]], ids=["no record", "judge error"])
def test_a_model_without_all_challenges_is_marked_and_not_ranked(missing):
    half = board([*both("whole", 50, 50), graded("half", "a", 100), *missing])["half"]
    assert (half.rank, half.medal, half.graded, half.of, half.mean) == (None, None, 1, 2, 100)
    assert half.note == "not ranked: graded on 1 of 2 challenges"


def test_a_grade_with_a_seed_chosen_by_hand_does_not_rank():
    chosen = [graded("m", "a", 90), graded("m", "b", 90, ranked=False)]
    assert "seed chosen by hand" in board([*chosen, *both("n", 50, 50)])["m"].note
    assert board([*chosen, *both("n", 50, 50)])["n"].rank == 1


def test_less_than_seventy_per_cent_coverage_earns_no_medal():
    places = board([*both("thin", 90, 90, coverage=0.69), *both("m", 50, 50, coverage=0.7)])
    assert (places["thin"].rank, places["thin"].medal) == (1, None)
    assert "no medal" in places["thin"].note
    assert (places["m"].rank, places["m"].medal) == (2, "silver")


def test_alone_a_model_wins_nothing():
    assert board(both("m", 90, 90))["m"].medal is None


def test_without_any_overall_there_is_no_mean():
    only = board([graded("m", "a", None)])["m"]
    assert (only.mean, only.rank, only.graded) == (None, None, 0)


def test_a_medal_goes_to_all_that_are_not_clearly_behind_its_best_and_to_nobody_else() -> None:
    rng = np.random.default_rng(7)
    ids = [f"c{number}" for number in range(4)]
    given = rng.integers(30, 90, size=(50, 4))
    records = [graded(f"m{m}", id, int(given[m, place])) for m in range(50) for place, id in enumerate(ids)]
    places = [s for s in standings(records, ids) if s.rank is not None]
    marks = np.array([given[int(s.model[1:])] for s in places], dtype=float)
    lead = ahead(drawn_means(marks), 0)
    for number, place in enumerate(places):
        # 50 models of like strength: the first group is long, and ends where the best is clearly ahead
        alike = all(lead[: number + 1] < STABLE)
        assert (place.medal == "gold") is alike
    assert 1 < sum(s.medal == "gold" for s in places) < 50
