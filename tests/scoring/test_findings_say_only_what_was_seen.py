"""Every failed or partly met criterion that was really seen becomes one finding, the gravest first."""

from collections.abc import Iterable

from rubrics import evidence, graded, rubric, seen

from harness.model import (
    BuildFailure,
    Counterexample,
    Diagnosis,
    Evidence,
    Finding,
    Location,
    Observation,
    Outcome,
    Severity,
    Status,
)

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR
TASK = rubric({"style": [MINOR, MAJOR], "correctness": [MAJOR, CRITICAL, CRITICAL]})


def findings(items: Iterable[Evidence]) -> tuple[Finding, ...]:
    return graded("m", "task", 50.0).model_copy(update={"evidence": tuple(items)}).findings


def test_the_gravest_come_first_and_then_the_rubric_decides():
    lost = evidence(TASK, {c.id: Outcome.FAILED for c in TASK.criteria})
    expected = ["correctness.1", "correctness.2", "style.1", "correctness.0", "style.0"]
    assert [f.criterion for f in findings(lost)] == expected


def test_what_caps_marks_and_what_failed_outright_come_before_what_was_met_in_part():
    found = evidence(TASK, {"style.1": 0.9, "correctness.0": Outcome.FAILED})
    found[0] = seen(TASK, "style.0", Outcome.FAILED, wrong_option=True)
    assert [f.criterion for f in findings(found)] == ["style.0", "correctness.0", "style.1"]


def test_among_equals_what_lost_most_comes_first():
    found = evidence(TASK, {"style.1": 0.4, "style.0": 0.9})
    same = [e.model_copy(update={"severity": found[0].severity}) for e in found]
    assert [f.criterion for f in findings(same) if f.criterion.startswith("style")] == ["style.1", "style.0"]


def test_what_passed_was_not_run_or_lost_its_credit_to_another_yields_none():
    found = evidence(TASK, {"style.0": Outcome.NOT_RUN, "style.1": Outcome.JUDGE_ERROR, "correctness.0": 0.4})
    found[3] = seen(TASK, "correctness.1", Outcome.FAILED, rests_on="correctness.2")
    assert [f.criterion for f in findings(found)] == ["correctness.0"]


def test_an_optional_feature_that_is_not_offered_is_no_fault():
    assert findings(evidence(TASK, {"style.0": Outcome.NOT_OFFERED})) == ()


def test_a_finding_carries_what_the_evidence_holds():
    example = Counterexample(probe="p", case={"T": 2}, where="y[0, 1]", expected=1.0, got=2.0)
    place, further = Location(file="a.py", line=3), Observation(title="dy is wrong")
    item = Evidence.of(
        TASK.criterion("correctness.1"), Outcome.FAILED, title="dx is wrong", detail="dx[0, 1] is 2 instead of 1",
        counterexample=example, locations=(place,), also=(further,),
        diagnosis=Diagnosis(words="agrees with `no mean`", established="agreement", mutant="no mean"),
    )  # fmt: skip
    (finding,) = findings([item])
    assert (finding.title, finding.detail) == ("dx is wrong", "dx[0, 1] is 2 instead of 1")
    assert (finding.counterexample, finding.diagnosis) == (example, "agrees with `no mean`")
    assert (finding.locations, finding.also) == ((place,), (further,))


def test_without_a_name_for_the_fault_the_criterion_itself_is_named():
    found = findings(evidence(TASK, {"style.0": Outcome.FAILED, "style.1": 0.857}))
    assert [f.title for f in found] == [
        "met in part: Requirement 1 of style (85 % of the credit)",
        "not met: Requirement 0 of style",
    ]


def test_the_rubric_may_name_the_fault_of_a_criterion():
    named = TASK.model_copy(
        update={"criteria": tuple(c.model_copy(update={"unmet": f"no {c.id}"}) for c in TASK.criteria)}
    )
    found = findings(evidence(named, {"style.0": Outcome.FAILED, "style.1": 0.857}))
    assert [f.title for f in found] == ["no style.1 (85 % of the credit)", "no style.0"]


def test_a_failed_build_comes_first_and_is_not_repeated_by_the_criterion_it_fails():
    failure = BuildFailure(stage="compiler", text="a.cu:3: no", criteria=("correctness.1",))
    record = graded("m", "task", 10.0, status=Status.BUILD_FAILED, build=failure)
    lost = evidence(TASK, {"correctness.1": Outcome.FAILED, "style.0": Outcome.FAILED})
    found = record.model_copy(update={"evidence": tuple(lost)}).findings
    assert [(f.criterion, f.detail) for f in found] == [("build", "a.cu:3: no"), ("style.0", "")]
