"""A failed critical criterion or build is a ceiling that no other merit lifts, and it names what put it there."""

import pytest
from rubrics import evidence, rubric, seen

from harness.model import Outcome, Severity
from harness.scoring import score

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
TASK = rubric({"correctness": [CRITICAL] * 5, "speed": [CRITICAL, MAJOR], "style": [MAJOR]}, {"correctness": 0.5})


def ceilings(scored):
    return {gate.dimension: gate.ceiling for gate in scored.gates}


def test_without_a_critical_failure_there_is_no_gate():
    scored = score(TASK, evidence(TASK, {"style.0": Outcome.FAILED, "speed.1": Outcome.FAILED}), built=True)
    assert scored.gates == ()


def test_one_critical_failure_caps_its_dimension_at_40_and_the_overall_at_59():
    scored = score(TASK, evidence(TASK, {"correctness.1": Outcome.FAILED}), built=True)
    assert ceilings(scored) == {None: 59, "correctness": 40}
    assert scored.dimensions["correctness"].score == 40  # 80 without the gate
    assert scored.dimensions["speed"].score == 100
    assert scored.overall.score == 57  # 59 - 10 / 6; (0.5 * 40 + 100 + 100) / 2.5 = 88 without
    overall, speed = scored.gates[0], scored.gates[1]
    assert overall.criteria == speed.criteria == ("correctness.1",)
    assert overall.reason == "a critical criterion failed: correctness.1"
    assert speed.reason == "a critical criterion of Correctness failed: correctness.1"


@pytest.mark.parametrize("second", ["correctness.4", "speed.0"])
def test_two_critical_failures_cap_the_overall_at_49_wherever_they_are(second):
    scored = score(TASK, evidence(TASK, {"correctness.1": Outcome.FAILED, second: Outcome.FAILED}), built=True)
    assert scored.overall.score == 46  # 49 - 20 / 6
    assert scored.gates[0].criteria == ("correctness.1", second)
    assert scored.gates[0].reason == f"2 critical criteria failed: correctness.1, {second}"


def test_a_claimed_option_with_wrong_values_gates_as_a_critical_criterion_does():
    plain = evidence(TASK)
    wrong = [*plain[:-1], seen(TASK, "style.0", Outcome.FAILED, wrong_option=True)]
    dear = [*plain[:-1], seen(TASK, "style.0", Outcome.FAILED)]  # what it costs alone was seen to fail
    assert score(TASK, dear, built=True).gates == ()
    scored = score(TASK, wrong, built=True)
    assert ceilings(scored) == {None: 59, "style": 40}
    assert scored.gates[0].reason == "an option that is claimed failed: style.0"
    beside = score(TASK, [seen(TASK, "correctness.0", Outcome.FAILED), *wrong[1:]], built=True)
    assert ceilings(beside) == {None: 49, "correctness": 40, "style": 40}
    assert beside.gates[0].reason == "2 critical criteria or options that are claimed failed: correctness.0, style.0"


def test_gates_cap_both_ends_of_the_interval_as_well():
    outcomes = {"correctness.1": Outcome.FAILED, "correctness.2": Outcome.NOT_RUN, "style.0": Outcome.NOT_RUN}
    scored = score(TASK, evidence(TASK, outcomes), built=True)
    correctness = scored.dimensions["correctness"]
    assert (correctness.low, correctness.high) == (40, 40)  # 60 and 80 without the gate
    assert (scored.overall.low, scored.overall.high) == (48, 57)  # low: (0.5 * 40 + 100 + 0) / 2.5


def test_under_a_ceiling_a_submission_that_meets_more_critical_criteria_has_the_higher_mark():
    """The further criterion that is not met depends on the first one's fault and is no gate of its own."""
    task = rubric({"correctness": [CRITICAL] * 8, "style": [MAJOR]}, {"style": 9.0})
    one = evidence(task, {"correctness.7": Outcome.FAILED})
    two = evidence(task, {"correctness.1": Outcome.FAILED})
    two[7] = seen(task, "correctness.7", Outcome.FAILED, rests_on="correctness.1")
    first, second = (score(task, found, built=True) for found in (one, two))
    assert ceilings(first) == ceilings(second) == {None: 59, "correctness": 40}
    assert (first.gates[0].unmet, second.gates[0].unmet) == (1 / 8, 2 / 8)
    assert (first.overall.score, second.overall.score) == (58, 57)  # 59 - 10 / 8 and 59 - 20 / 8


def test_what_was_not_assessed_moves_the_interval_under_a_ceiling_and_not_the_mark():
    task = rubric({"correctness": [CRITICAL] * 8, "style": [MAJOR]}, {"style": 9.0})
    open_ones = dict.fromkeys(("correctness.4", "correctness.5", "correctness.6", "correctness.7"), Outcome.NOT_RUN)
    overall = score(task, evidence(task, {"correctness.1": Outcome.FAILED, **open_ones}), built=True).overall
    # 59 less 10 times 5/8, 1/4 and 1/8
    assert (overall.low, overall.score, overall.high) == (53, 57, 58)


def test_a_gate_raises_no_mark_that_is_lower_anyway():
    lost = {c.id: Outcome.FAILED for c in TASK.criteria}
    scored = score(TASK, evidence(TASK, lost), built=True)
    assert scored.overall.score == scored.dimensions["correctness"].score == 0


def test_what_does_not_build_has_no_correctness_and_at_most_30():
    scored = score(TASK, evidence(TASK), built=False)
    assert ceilings(scored) == {None: 30, "correctness": 0}
    correctness = scored.dimensions["correctness"]
    assert (correctness.score, correctness.low, correctness.high) == (0, 0, 0)
    assert (scored.overall.score, scored.overall.low, scored.overall.high) == (30, 30, 30)
    assert all("does not build" in gate.reason and not gate.criteria for gate in scored.gates)


def test_what_does_not_build_has_correctness_0_even_where_nothing_could_be_probed():
    unrun = {c.id: Outcome.NOT_RUN for c in TASK.criteria if c.dimension == "correctness"}
    scored = score(TASK, evidence(TASK, unrun), built=False)
    assert scored.dimensions["correctness"].score == 0
    assert scored.dimensions["correctness"].high == 0


def test_each_mark_has_one_gate_the_strictest():
    scored = score(TASK, evidence(TASK, {c.id: Outcome.FAILED for c in TASK.criteria}), built=False)
    assert ceilings(scored) == {None: 30, "correctness": 0, "speed": 40}
    assert len(scored.gates) == 3


def test_credit_taken_for_another_criterion_gates_nothing():
    found = evidence(TASK, {"correctness.0": Outcome.FAILED})
    found[1] = seen(TASK, "correctness.1", Outcome.FAILED, rests_on="correctness.0")
    scored = score(TASK, found, built=True)
    assert scored.gates[0].criteria == ("correctness.0",)
    assert scored.gates[0].ceiling == 59


@pytest.mark.parametrize("outcome", [0.5, Outcome.NOT_RUN, Outcome.UNSUPPORTED, Outcome.JUDGE_ERROR])
def test_only_a_failure_that_was_seen_gates(outcome):
    assert score(TASK, evidence(TASK, {"correctness.0": outcome}), built=True).gates == ()
