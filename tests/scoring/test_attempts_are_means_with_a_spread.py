"""Several attempts count as their mean, with a spread that says how far it can be trusted."""

from dataclasses import replace
from itertools import combinations
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model import BuildFailure, Outcome, Score, Severity, Status
from harness.model.submissions.name import SubmissionName
from harness.numerics.rounding import exact
from harness.scoring import score, standings
from harness.scoring.attempts import Attempts, by_answer, mean_score, pass_at_k
from harness.scoring.duels import Duel, RoundRobin, attempts_duel, duel, duels, round_robin, win_table
from harness.scoring.record_summary import RecordSummary
from harness.scoring.strength import AttemptMarks, draw_means, draw_weights
from tests.scoring.rubrics import evidence, graded, rubric

TASK = rubric({"correctness": [Severity.CRITICAL, Severity.MAJOR], "style": [Severity.MAJOR, Severity.MINOR]})
UNBUILT = {"status": Status.BUILD_FAILED, "build": BuildFailure(stage="import", text="No.")}


def attempt(model: str, number: int | None, *failed: str, **changes):
    found = evidence(TASK, dict.fromkeys(failed, Outcome.FAILED))
    scored = score(TASK, found, built=True)
    known = {"evidence": tuple(found), "overall": scored.overall, "dimensions": scored.dimensions}
    return graded(model, TASK.id, 0.0, attempt=number).model_copy(update=known | changes)


def together(*records) -> Attempts:
    (found,) = by_answer(map(RecordSummary.of, records))
    assert isinstance(found, Attempts)
    return found


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_what_an_enumeration_of_all_draws_gives(numbers) -> None:
    n, c, k = numbers
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize("numbers", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_pass_at_k_is_undefined_elsewhere(numbers) -> None:
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(*numbers)


def test_an_attempt_passes_that_builds_and_fails_no_critical_criterion() -> None:
    found = together(
        attempt("m", 1), attempt("m", 2, "style.0", "correctness.1"), attempt("m", 3, "correctness.0"),
        attempt("m", 4, **UNBUILT),
    )  # fmt: skip
    assert found.passed == 2
    assert found.pass_at(1) == 0.5 and found.pass_at(2) == pytest.approx(1 - 1 / 6) and found.pass_at(3) == 1.0


def test_mean_deviation_best_and_worst_are_those_of_the_marks() -> None:
    found = together(attempt("m", 2, "style.0"), attempt("m", 1), attempt("m", 3, "correctness.0"))
    marks = np.array(found.marks)
    assert marks[0] == 100.0 > marks[1] > marks[2] > 0, "by number"
    assert found.overall.score == pytest.approx(marks.mean())
    assert found.deviation == pytest.approx(marks.std(ddof=1))
    assert found.best.submission_name.attempt == 1 and found.worst.submission_name.attempt == 3
    assert found.overall.low <= found.overall.score <= found.overall.high
    assert found.dimensions["style"].score == pytest.approx((100 + 100 + 25) / 3)


def test_criteria_are_counted_by_the_attempts_that_meet_them() -> None:
    unseen = attempt("m", 3)
    others = tuple(
        e.model_copy(update={"outcome": Outcome.NOT_RUN, "detail": "late"}) if e.criterion == "style.1" else e
        for e in unseen.evidence
    )
    found = together(attempt("m", 1, "style.0"), attempt("m", 2), unseen.model_copy(update={"evidence": others}))
    counts = {tally.criterion: (tally.met, tally.assessed) for tally in found.criteria}
    assert counts == {"correctness.0": (3, 3), "correctness.1": (3, 3), "style.0": (2, 3), "style.1": (2, 2)}
    (fault,) = found.faults
    assert (fault.criterion, fault.attempts) == ("style.0", 1)


def test_an_attempt_that_the_harness_failed_to_grade_counts_in_nothing() -> None:
    found = together(attempt("m", 1), graded("m", TASK.id, None, attempt=2))
    assert found.overall.score == 100.0 and found.marks == (100.0,) and found.deviation is None
    assert found.pass_at(1) == 1.0 and found.status is Status.GRADED
    nothing = together(graded("m", TASK.id, None, attempt=1))
    assert nothing.overall.score is None and nothing.best is None and nothing.status is Status.JUDGE_ERROR


def test_one_attempt_has_its_own_interval() -> None:
    own = Score(score=70.0, low=60.0, high=80.0, coverage=0.8)
    assert mean_score([own]) == own


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8), st.integers(0, 10))
def test_the_interval_holds_the_mean_and_what_was_not_assessed(points: list[int], open_points: int) -> None:
    scores = [Score(score=p, low=p - open_points, high=p + open_points, coverage=0.9) for p in points]
    found = mean_score(scores)
    mean = float(sum(map(exact, points)) / len(points))
    assert found.score == pytest.approx(mean)
    assert found.low <= mean - open_points + 1e-6 and found.high >= mean + open_points - 1e-6
    assert found.low >= min(points) - open_points and found.high <= max(points) + open_points


def test_the_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    """Of 8 attempts; plain percentiles would hold it 85 times in 100."""
    draw = np.random.default_rng(5)
    hits = 0
    for marks in draw.normal(50, 10, size=(300, 8)):
        found = mean_score([Score(score=m, low=m, high=m, coverage=1) for m in marks])
        hits += found.low <= 50 <= found.high
    assert 0.91 <= hits / 300 <= 0.99


def test_means_of_drawn_attempts_spread_as_theory_says() -> None:
    """One challenge: the variance of the drawn mean is that of the marks over their number."""
    own = (20.0, 40.0, 60.0, 100.0)
    drawn = draw_means(np.array([[55.0], [55.0]]), [AttemptMarks(0, 0, own, 1)], draws=20_000)
    assert drawn[0].mean() == pytest.approx(55.0, abs=0.5)
    assert drawn[0].std() == pytest.approx(np.std(own) / sqrt(len(own)), rel=0.03)
    assert (drawn[1] == 55.0).all(), "a single answer is not drawn"


def test_attempts_are_drawn_anew_each_time_their_challenge_is() -> None:
    """Two challenges alike: the variance is that of attempts over both, and none of it of the challenges."""
    own = (0.0, 100.0)
    attempts = [AttemptMarks(0, column, own, column) for column in (0, 1)]
    drawn = draw_means(np.array([[50.0, 50.0]]), attempts, draws=40_000)
    assert drawn.std() == pytest.approx(50.0 / sqrt(2) / sqrt(2), rel=0.03)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_weights_of_a_draw_add_up_to_one(count: int) -> None:
    weights = draw_weights(count, 200)
    assert weights.shape == (200, count) and np.allclose(weights.sum(axis=1), 1.0)


def test_a_lead_that_turns_with_the_attempts_is_a_split() -> None:
    steady = [attempt("a", n, "style.1") for n in (1, 2, 3)]
    wild = [attempt("b", 1), attempt("b", 2, "correctness.0", "style.0"), attempt("b", 3)]
    found = attempts_duel(TASK, steady, wild)
    assert found.lead > 2 and found.ahead < 0.8 and found.winner is None and found.attempts == (3, 3)
    weak = [attempt("b", n, "correctness.0") for n in (1, 2, 3)]
    assert attempts_duel(TASK, steady, weak).winner == "a" == attempts_duel(TASK, weak, steady).winner


def test_single_answers_fight_as_they_did() -> None:
    left, right = attempt("b", None, "style.0"), attempt("a", None)
    assert duel(TASK, left, right) == attempts_duel(TASK, [left], [right])
    assert duel(TASK, left, right) == Duel(TASK.id, "b", "a", left.overall.score, 100.0, 4)


def test_all_duels_of_a_challenge_are_those_of_every_pair() -> None:
    sides = {
        "a": [attempt("a", n, "style.1") for n in (1, 2)], "b": [attempt("b", None, "correctness.0")],
        "c": [attempt("c", 1), attempt("c", 2, "style.0"), attempt("c", 3, "correctness.1")],
    }  # fmt: skip
    summaries = [RecordSummary.of(record) for side in sides.values() for record in side]
    every = duels([TASK], summaries)
    for found in every:
        alone = attempts_duel(TASK, sides[found.left], sides[found.right])
        assert alone == found
    models = sorted(sides)
    assert every.wins(models).tolist() == win_table(models, list(every)).tolist()


def test_a_round_is_what_was_kept_of_it() -> None:
    marks, compared = np.array([[-1, 5], [-1, 7], [3, -1]], np.int16), (frozenset("xy"), frozenset("x"))
    kept = RoundRobin("c", ("a", "a", "b"), compared, (0, 1), marks, (frozenset(), frozenset("y")))
    read = RoundRobin.of_bytes("c", kept.to_bytes())
    assert (read.marks == marks).all() and (read.criteria == [[2, 1], [1, 1]]).all()
    assert list(read.duels()) == list(kept.duels())
    (only,) = read.duels()
    assert (only.left_mark, only.right_mark, only.attempts) == (6.0, 3.0, (2, 1))


IDS = [criterion.id for criterion in TASK.criteria]


def drawn_side(draw: Random, model: str) -> list[RecordSummary]:
    """Up to four attempts of a model: every criterion of each passed, failed or was not run."""
    side = []
    for number in range(1, draw.randint(1, 4) + 1):
        failed = {id for id in IDS if draw.random() < 0.4}
        unseen = {id for id in IDS if draw.random() < 0.1}
        record = attempt(model, number, *failed)
        late = {"outcome": Outcome.NOT_RUN, "detail": "late", "title": ""}
        found = tuple(e.model_copy(update=late) if e.criterion in unseen else e for e in record.evidence)
        side.append(RecordSummary.of(record.model_copy(update={"evidence": found})))
    return side


@pytest.mark.parametrize("seed", range(20))
def test_a_round_after_a_change_is_that_round_fought_anew(seed: int) -> None:
    """One model's records change, one model comes, and one goes; the others' duels are taken from the round before."""
    draw = Random(seed)
    sides = {model: drawn_side(draw, model) for model in "abcdef"}
    before = round_robin(TASK, [s for side in sides.values() for s in side])
    kept = RoundRobin.of_bytes(TASK.id, before.to_bytes())
    assert list(kept.duels()) == list(before.duels())
    changed = {model: side for model, side in sides.items() if model != "e"}
    changed |= {"b": drawn_side(draw, "b"), "g": drawn_side(draw, "g")}
    ordered = [summary for side in changed.values() for summary in side]
    quick, anew = round_robin(TASK, ordered, kept, {"a", "c", "d", "f"}), round_robin(TASK, ordered)
    assert list(quick.duels()) == list(anew.duels())
    assert quick.wins().tolist() == anew.wins().tolist()
    assert quick.to_bytes() == anew.to_bytes()


def test_an_unchanged_answer_is_not_read_again() -> None:
    sides = {"a": [attempt("a", 1), attempt("a", 2, "style.0")], "b": [attempt("b", 1, "correctness.0")]}
    summaries = [RecordSummary.of(record) for side in sides.values() for record in side]
    before = round_robin(TASK, summaries)
    unread = [replace(one, details=lambda: pytest.fail("was read")) for one in summaries[:2]]
    again = round_robin(TASK, [*unread, RecordSummary.of(attempt("b", 1, "style.1"))], before, {"a"})
    anew = round_robin(TASK, [*summaries[:2], RecordSummary.of(attempt("b", 1, "style.1"))])
    assert list(again.duels()) == list(anew.duels())


def test_a_rank_that_turns_with_the_attempts_is_shared() -> None:
    """The same means: certain where every attempt has that mark, uncertain where they scatter."""

    def places(spread: float):
        marked = [graded("b", "c", 60.0)]
        marked += [graded("a", "c", 66.0 + d, attempt=n) for n, d in enumerate((-spread, 0, spread), 1)]
        return standings(by_answer(map(RecordSummary.of, marked)), ["c"])

    sure, unsure = places(0.0), places(30.0)
    assert [place.model for place in sure] == [place.model for place in unsure] == ["a", "b"]
    assert sure[0].chances == (1.0, 0.0) and sure[1].medal == "silver"
    assert 0.5 < unsure[0].chances[0] < 0.8 and unsure[1].medal == "gold"


def test_no_attempt_counts_twice_however_they_are_ordered() -> None:
    records = [attempt("m", n, *failed) for n, failed in enumerate([(), ("style.0",), ("correctness.0",)], 1)]
    first, second = together(*records), together(*records[::-1])
    assert first == second
    assert [s.submission_name for s in first.summaries] == [SubmissionName("m", TASK.id, n) for n in (1, 2, 3)]
    assert replace(first, summaries=first.summaries[:1]).marks == first.marks[:1]
