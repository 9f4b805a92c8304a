"""Every failed or partly met criterion that was really seen becomes one finding, the gravest first."""

from rubrics import evidence, rubric, seen

from harness.model import Counterexample, Evidence, Outcome, Severity
from harness.scoring import findings

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
TASK = rubric({"style": [MINOR, MAJOR], "correctness": [MAJOR, CRITICAL, CRITICAL]})


def test_the_gravest_come_first_and_then_the_rubric_decides():
    lost = evidence(TASK, {c.id: Outcome.FAILED for c in TASK.criteria})
    expected = ["correctness.1", "correctness.2", "style.1", "correctness.0", "style.0"]
    assert [f.criterion for f in findings(TASK, lost, {})] == expected
    assert [f.criterion for f in findings(TASK, lost[::-1], {})] == expected


def test_what_passed_was_not_run_or_lost_its_credit_to_another_yields_none():
    found = evidence(TASK, {"style.0": Outcome.NOT_RUN, "style.1": Outcome.JUDGE_ERROR, "correctness.0": 0.4})
    found[3] = seen(TASK, "correctness.1", Outcome.FAILED, rests_on="correctness.2")
    assert [f.criterion for f in findings(TASK, found, {})] == ["correctness.0"]


def test_a_finding_carries_what_the_evidence_holds():
    example = Counterexample(case={"probe": "p", "T": 2}, where="y[0, 1]", expected=1.0, got=2.0)
    known = TASK.criterion("correctness.1")
    item = Evidence(
        criterion=known.id, dimension=known.dimension, severity=known.severity, outcome=Outcome.FAILED,
        detail="dx is wrong: dx[0, 1] is 2 instead of 1", counterexample=example, diagnosis="agrees with `no mean`",
    )  # fmt: skip
    (finding,) = findings(TASK, [item], {known.id: "dx is wrong"})
    assert finding.title == "dx is wrong"
    assert finding.detail == "dx[0, 1] is 2 instead of 1"  # the title is not said twice
    assert (finding.counterexample, finding.diagnosis) == (example, "agrees with `no mean`")


def test_without_a_name_for_the_fault_the_criterion_itself_is_named():
    found = findings(TASK, evidence(TASK, {"style.0": Outcome.FAILED, "style.1": 0.857}), {})
    assert [f.title for f in found] == [
        "not met: Requirement 1 of style (85 % of the credit)",
        "not met: Requirement 0 of style",
    ]


def test_the_rubric_may_name_the_fault_of_a_criterion():
    named = TASK.model_copy(
        update={"criteria": tuple(c.model_copy(update={"unmet": f"no {c.id}"}) for c in TASK.criteria)}
    )
    found = findings(named, evidence(named, {"style.0": Outcome.FAILED, "style.1": 0.857}), {"style.0": "seen so"})
    assert [f.title for f in found] == ["no style.1 (85 % of the credit)", "seen so"]
