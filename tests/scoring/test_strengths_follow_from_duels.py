"""Duels are decided under gates; strengths are finite, order models as their duels do, and are quickly found."""

import time

import numpy as np
import pytest
from rubrics import evidence, graded, rubric
from scipy.stats import kendalltau

from harness.model import Outcome, Record, Severity
from harness.scoring.duels import duel
from harness.scoring.strength import ahead, draw_means, elo, rank_chances, strengths


def test_the_published_nine_results_give_the_published_order() -> None:
    # rows qwen, glm, minimax: 3-0 and 3-0 over minimax, 2.5-0.5 between the first two
    wins = np.array([[0, 2.5, 3], [0.5, 0, 3], [0, 0, 0]])
    points = [elo(strength) for strength in strengths(wins)]
    # worked out beside this code by minorise-maximise: 1251, 1049 and 656
    assert points == pytest.approx([1251, 1049, 656], abs=1)


def test_nobody_who_never_won_or_never_lost_is_infinitely_weak_or_strong() -> None:
    found = strengths(np.array([[0.0, 40.0], [0.0, 0.0]]))
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(-found[1])


def test_models_that_never_met_are_equal() -> None:
    assert strengths(np.zeros((3, 3))).tolist() == [0.0, 0.0, 0.0]


def test_no_model_has_no_strength() -> None:
    assert strengths(np.zeros((0, 0))).tolist() == []


def test_the_slope_of_the_likelihood_is_nought_at_what_was_found() -> None:
    rng = np.random.default_rng(3)
    wins = rng.integers(0, 5, size=(12, 12)).astype(float)
    np.fill_diagonal(wins, 0.0)
    found = strengths(wins)
    expected = (wins + wins.T) / (1.0 + np.exp(found[None, :] - found[:, None]))
    slope = wins.sum(1) + 0.5 - expected.sum(1) - 1.0 / (1.0 + np.exp(-found))
    # Newton's last step was below 1e-9, and a curvature is at most some fifty duels
    assert np.abs(slope).max() < 1e-7


@pytest.mark.parametrize("wins", [np.zeros((2, 3)), np.array([[0.0, -1.0], [0.0, 0.0]]), np.full((2, 2), np.nan)])
def test_what_is_no_table_of_wins_is_refused(wins: np.ndarray) -> None:
    with pytest.raises(ValueError, match="wins must be"):
        strengths(wins)


@pytest.mark.alone
def test_a_thousand_models_and_a_hundred_thousand_duels_take_two_seconds() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=1000)
    first, second = rng.integers(0, 1000, size=(2, 100_000))
    won = rng.random(100_000) < 1.0 / (1.0 + np.exp(true[second] - true[first]))
    wins = np.zeros((1000, 1000))
    np.add.at(wins, (np.where(won, first, second), np.where(won, second, first)), 1.0)
    start = time.process_time()
    found = strengths(wins)
    assert time.process_time() - start < 2.0
    # other implementations of the same model come to 0.88 on such data
    assert kendalltau(found, true).statistic > 0.85


def test_a_lead_on_every_challenge_is_certain() -> None:
    marks = np.array([[90.0, 80.0, 70.0], [60.0, 50.0, 40.0]])
    assert rank_chances(draw_means(marks)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert ahead(draw_means(marks), 0).tolist() == [0.5, 1.0]


def test_one_challenge_can_turn_an_order_that_rests_on_it() -> None:
    marks = np.array([[100.0, 50.0, 50.0], [60.0, 51.0, 51.0]])
    # the first leads where its one good challenge is drawn at all: 1 - (2/3)^3 of the draws
    _, share = ahead(draw_means(marks), 0)
    # 1000 draws: five standard deviations are 0.075
    assert share == pytest.approx(1 - (2 / 3) ** 3, abs=0.075)


def test_chances_are_shares_of_all_draws() -> None:
    marks = np.random.default_rng(1).uniform(0, 100, size=(5, 4))
    chances = rank_chances(draw_means(marks))
    assert chances.sum(axis=1) == pytest.approx(np.ones(5))
    assert (rank_chances(draw_means(marks)) == chances).all()


def test_equal_marks_share_the_better_rank() -> None:
    assert rank_chances(draw_means(np.array([[50.0, 60.0], [50.0, 60.0]]))).tolist() == [[1.0, 0.0], [1.0, 0.0]]


CRITICAL, MAJOR = Severity.CRITICAL, Severity.MAJOR
TASK = rubric({"correctness": [CRITICAL] * 3, "style": [MAJOR] * 4}, weights={"correctness": 1.0, "style": 9.0})


def record(model: str, failed: str) -> Record:
    items = evidence(TASK, {failed: Outcome.FAILED})
    return graded(model, TASK.id, 50.0).model_copy(update={"evidence": tuple(items)})


def test_the_ceiling_on_the_overall_decides() -> None:
    """Without it the left one would win by 94 to 78: one critical criterion failed holds it at 59, less 10 / 3."""
    result = duel(TASK, record("left", "correctness.0"), record("right", "style.0"))
    assert (result.left_mark, result.right_mark) == (56.0, 78.0)
    assert result.winner == "right"
