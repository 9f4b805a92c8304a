"""A verdict says who leads and what the lead is worth, as far as marks and intervals carry it."""

import pytest
import sample_records as sample

from harness.model import Outcome, Provenance, Round
from harness.report.pages import render_all
from harness.report.views.answers import answers, in_order
from harness.report.views.comparison import compare
from harness.report.views.inputs import ReportInputs
from harness.report.views.verdict import verdict


def told(*records) -> str:
    return " ".join(verdict(sample.CHALLENGE, in_order(answers(records))).sentences)


def marked(model, outcomes, **changes):
    return sample.record(model, sample.RIGHT | outcomes, provenance=Provenance.MODEL_OUTPUT, **changes)


MISSED = {"outcome": Outcome.FAILED, "detail": "not met"}
UNRUN = {"outcome": Outcome.NOT_RUN, "detail": "not run"}
# by the sample, a: (3 x 100 + 100 + 100 + 0) / 6; b: (3 x 100 + 25 + 100) / 5; without the tests, a has 100
BEHIND_AND_BETTER = marked("a", {"kill_rate": MISSED}), marked("b", {"kill_rate": UNRUN, "shapes": MISSED})
WINS = "a wins by 15 points against b: 100 to 85 on the 8 criteria both were assessed on (overalls: 83 and 85)"


@pytest.mark.parametrize(
    "page", ["scoreboard.md", "kv_cache.md", "index.html", "head_to_head/a_vs_b.md", "rounds/r.md"]
)
def test_every_page_has_the_winner_the_lead_and_the_marks_of_one_comparison(page):
    round = Round(id="r", title="r", models=("a", "b"), challenges=(sample.CHALLENGE.id,))
    text = render_all(ReportInputs([sample.CHALLENGE], BEHIND_AND_BETTER, rounds=[round]))[page]
    assert WINS in text
    assert "a split between" not in text.lower()


def test_the_board_s_winner_is_that_of_compare():
    (shared,) = compare([sample.CHALLENGE], BEHIND_AND_BETTER, "b", "a").challenges
    assert shared.result == f"{WINS}."


def test_nobody_wins_who_misses_what_is_critical_where_the_other_was_not_assessed():
    a = marked("a", {"causality": MISSED, "prefill_then_decode": UNRUN})
    b = marked("b", {"causality": UNRUN, "shapes": MISSED, "gqa": MISSED})
    assert "; a misses causality (critical), where b was not assessed, so its lead is no win" in told(a, b)
    assert "a wins" not in told(a, b)


def test_a_lead_inside_the_noise_is_a_split():
    a, b = marked("a", {}), marked("b", {"gqa": sample.PASSED | {"outcome": Outcome.PARTIAL, "fraction": 0.6}})
    assert "A split between a and b, 2 points apart: 98 to 96 on the 9 criteria both were assessed on; " in told(a, b)
    assert "a lead of up to 2 points counts as none" in told(a, b)


@pytest.mark.parametrize(
    ("high", "said"),
    [
        (98, "The intervals of the overalls overlap: what was not assessed could turn their order."),
        (81, "a has the higher overall whatever the parts not assessed would bring."),
    ],
)
def test_a_lead_is_worth_what_the_intervals_allow(high, said):
    right, wrong = marked("a", {}), marked("b", {"shapes": MISSED, "lint": MISSED})
    overall = wrong.overall.model_copy(update={"high": high})
    assert said in told(right, wrong.model_copy(update={"overall": overall}))


def test_a_baseline_never_leads():
    words = told(sample.record("a"), sample.baseline())
    assert words.startswith("a is the only model with a mark: 49 [40, 53], 87 %.")
    assert "baseline is a baseline and not ranked; it has 98 [85, 98], 87 %." in words


def test_without_a_mark_nobody_wins():
    assert told() == "No model has a mark on this challenge."


def test_critical_criteria_are_counted_from_the_evidence():
    assert "No model meets every critical criterion." in told(sample.record())
    assert "good meets every critical criterion that counts and was assessed." in told(
        sample.record(), sample.record("good", sample.RIGHT)
    )


def test_a_critical_criterion_that_was_not_run_is_no_miss():
    unrun, good = marked("a", {"causality": UNRUN}), marked("b", {})
    words = told(unrun, good)
    assert "a, b meet every critical criterion that counts and was assessed." in words
    assert "misses" not in words


def test_what_tells_models_apart_leaves_out_those_that_do_not_build():
    records = [sample.record(), sample.record("good", sample.RIGHT), sample.unbuilt()]
    common = dict(verdict(sample.CHALLENGE, in_order(answers(records))).common)
    assert common["Met in full by some"] == ("causality", "gqa")
    assert common["Met in full by none"] == ("kill_rate",)
    assert "first_token" in common["Met by all models"]
    assert "readability" not in sum(common.values(), ())
