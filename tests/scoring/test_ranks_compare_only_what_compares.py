"""Models are ranked by the plain mean of their overalls, and only where the means are over the same challenges; what a
model lacks moves nobody else."""

import itertools

import numpy as np
import pytest
from rubrics import graded

from harness.model import Provenance
from harness.scoring import standings
from harness.scoring.ranking import find_largest_table
from harness.scoring.strength import STABLE, ahead, draw_means

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
def test_a_model_without_all_challenges_has_a_provisional_place_and_no_rank(missing):
    half = board([*both("whole", 50, 50), graded("half", "a", 100), *missing])["half"]
    assert (half.rank, half.medal, half.graded, half.of, half.mean) == (None, None, 1, 2, 100)
    assert (half.provisional, half.place, half.missing) == (1, "(1)", ("b",))
    assert half.note == "provisional: graded on 1 of 2 challenges, not on b"


def shown(records, over=TASKS):
    return {s.model: s.place for s in standings(records, over)}


def test_a_provisional_place_compares_only_what_the_model_has():
    whole = [*both("first", 90, 80), *both("second", 20, 70)]
    # 60 is between 90 and 20 on a; on both it would be between no others
    assert shown([*whole, graded("half", "a", 60)])["half"] == "(2)"
    assert shown([*whole, graded("half", "b", 60)])["half"] == "(3)"
    assert shown([*whole, graded("equal", "a", 90)])["equal"] == "(1)"


def test_a_sparse_model_moves_nobody():
    before = shown([*both("x", 90, 80), *both("y", 20, 70), graded("half", "a", 60)])
    for sparse in (graded("new", "a", 100), graded("new", "b", 0), graded("new", "other", 100)):
        after = shown([*both("x", 90, 80), *both("y", 20, 70), graded("half", "a", 60), sparse])
        assert {model: after[model] for model in before} == before


def test_a_challenge_outside_the_suite_moves_nobody():
    records = [*both("x", 90, 80), *both("y", 20, 70), graded("half", "a", 60)]
    more = [graded("y", "new", 100), graded("half", "new", 100)]
    assert standings([*records, *more], TASKS) == standings(records, TASKS)


def test_where_no_model_has_the_whole_suite_all_places_are_provisional():
    records = [graded("x", "a", 90), graded("y", "a", 80), graded("z", "b", 99)]
    assert shown(records) == {"x": "(1)", "y": "(2)", "z": ""}
    assert board(records)["z"].note == "not ranked: graded on 1 of 2 challenges, not on a"
    # what one of them has besides decides nothing
    assert shown([*records, graded("y", "c", 100)], ["a", "b", "c"]) == {"x": "(1)", "y": "(2)", "z": ""}


def test_without_a_suite_the_challenges_count_that_most_models_have_together():
    everyone = [r for number in range(3) for r in both(f"m{number}", number, number)]
    assert find_largest_table(everyone) == ("a", "b")
    assert find_largest_table([*everyone, graded("m0", "new", 100), graded("sparse", "c", 1)]) == ("a", "b")
    assert find_largest_table([*everyone, *(graded(f"sparse-{n}", "a", 1) for n in range(2))]) == ("a", "b")
    assert find_largest_table([*everyone, *(graded(f"m{n}", "new", 1) for n in range(3))]) == ("a", "b", "new")
    assert find_largest_table([*both("baseline", 1, 1, provenance=Provenance.BASELINE), graded("m", "b", 1)]) == ("b",)
    assert find_largest_table(both("baseline", 1, 1, provenance=Provenance.BASELINE)) == ("a", "b")
    assert find_largest_table([]) == ()


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
    lead = ahead(draw_means(marks), 0)
    for number, place in enumerate(places):
        # 50 models of like strength: the first group is long, and ends where the best is clearly ahead
        alike = all(lead[: number + 1] < STABLE)
        assert (place.medal == "gold") is alike
    assert 1 < sum(s.medal == "gold" for s in places) < 50


def test_models_asked_in_several_turns_are_ranked_among_themselves_and_move_nobody():
    once = [*both("first", 90, 80), *both("second", 20, 70), graded("half", "a", 60)]
    several = [*both("mended", 99, 99, turns=3), *both("partly", 70, 60), *both("tried", 50, 50, turns=2)]
    several[2] = several[2].model_copy(update={"turns": 3})  # one challenge asked so is enough
    places = standings([*once, *several], TASKS)
    assert places[:3] == standings(once, TASKS)
    assert [(s.model, s.rank, s.place, s.medal) for s in places[3:]] == [
        ("mended", 1, "1†", "gold"), ("partly", 2, "2†", "silver"), ("tried", 3, "3†", "bronze"),
    ]  # fmt: skip
    assert [s.turns for s in places] == [1, 1, 1, 3, 3, 2]


def test_a_model_asked_in_several_turns_that_lacks_challenges_is_placed_among_such():
    places = shown([*both("once", 10, 10), *both("mended", 90, 90, turns=3), graded("sparse", "a", 50, turns=3)])
    assert places == {"once": "1", "mended": "1†", "sparse": "(2)†"}


def test_answers_made_in_several_turns_do_not_decide_what_is_compared():
    once = [r for number in range(2) for r in both(f"m{number}", number, number)]
    several = [graded(f"t{number}", id, 1, turns=2) for number in range(9) for id in ("a", "b", "c")]
    assert find_largest_table([*once, *several]) == ("a", "b")
    assert find_largest_table(several) == ("a", "b", "c")
