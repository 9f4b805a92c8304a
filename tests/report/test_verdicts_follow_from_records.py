"""A verdict says who leads and what the lead is worth, as far as marks and intervals carry it."""

import pytest
import sample_records as sample

from harness.model import Score
from harness.report.views.answers import answers, in_order
from harness.report.views.verdict import verdict


def told(*records) -> str:
    return " ".join(verdict(sample.CHALLENGE, in_order(answers(records))).sentences)


def marked(model, point, low, high):
    return sample.record(model, overall=Score(score=point, low=low, high=high, coverage=0.9))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ((70, 60, 80), "A lead of 0 points is inside the noise of 2 points: a split."),
        ((68, 60, 80), "A lead of 2 points is inside the noise of 2 points: a split."),
        ((67, 60, 65), "a leads by 3 points, but the intervals overlap"),
        ((60, 60, 64), "a leads by 10 points, whatever the parts not assessed would bring."),
    ],
)
def test_a_lead_is_worth_what_the_intervals_allow(second, said):
    assert said in told(marked("a", 70, 65, 75), marked("b", *second))


def test_a_baseline_never_leads():
    words = told(marked("a", 50, 50, 50), sample.baseline())
    assert words.startswith("a is the only model with a mark: 50 [50, 50], 90 %.")
    assert "baseline is a baseline and not ranked; it has 98 [85, 98], 87 %." in words


def test_without_a_mark_nobody_wins():
    assert told() == "No model has a mark on this challenge."


def test_critical_criteria_are_counted_from_the_evidence():
    assert "No model meets every critical criterion." in told(sample.record())
    assert "good meets every critical criterion." in told(sample.record(), sample.record("good", sample.RIGHT))


def test_what_tells_models_apart_leaves_out_those_that_do_not_build():
    records = [sample.record(), sample.record("good", sample.RIGHT), sample.unbuilt()]
    common = dict(verdict(sample.CHALLENGE, in_order(answers(records))).common)
    assert common["What tells them apart"] == ("causality", "gqa")
    assert common["Met in full by none"] == ("kill_rate",)
    assert "first_token" in common["Met by all models"]
    assert "readability" not in sum(common.values(), ())
