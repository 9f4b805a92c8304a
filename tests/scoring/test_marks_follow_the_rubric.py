"""A mark is the satisfied share of what was assessed, exactly; the rest shows in interval and coverage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rubrics import evidence, graded, rubric

from harness.errors import JudgeError
from harness.model import Challenge, Outcome, Record, Severity, Status
from harness.scoring import dimension_score, score
from harness.scoring.assessed import AssessedAttempts, AssessedRecord, RubricColumns
from harness.scoring.record_summary import RecordSummary
from tests import shares

CRITICAL, MAJOR, MINOR = Severity.CRITICAL, Severity.MAJOR, Severity.MINOR


def test_a_dimension_weighs_severities_five_three_and_one():
    task = rubric({"speed": [CRITICAL, MAJOR, MINOR]})
    mark = dimension_score(evidence(task, {"speed.1": Outcome.FAILED}))
    assert mark.score == pytest.approx(100 * 6 / 9)
    assert (mark.low, mark.high, mark.coverage) == (mark.score, mark.score, 1)


def test_a_fraction_counts_as_its_share():
    task = rubric({"speed": [MAJOR, MINOR]})
    assert dimension_score(evidence(task, {"speed.0": 0.7})).score == pytest.approx(100 * (3 * 0.7 + 1) / 4)


@pytest.mark.parametrize("outcome", [Outcome.NOT_RUN, Outcome.UNSUPPORTED, Outcome.JUDGE_ERROR])
def test_what_was_not_assessed_is_lost_at_the_low_end_and_met_at_the_high_end(outcome):
    task = rubric({"speed": [CRITICAL, MAJOR, MINOR, MINOR]})
    mark = dimension_score(evidence(task, {"speed.1": outcome, "speed.2": Outcome.FAILED}))
    assert mark.score == pytest.approx(100 * 6 / 7)
    assert (mark.low, mark.high) == (60, 90)
    assert mark.coverage == 0.7


def test_a_dimension_nobody_assessed_has_no_point_and_counts_in_the_overall_interval_only():
    task = rubric({"correctness": [MAJOR], "review": [MAJOR]}, {"correctness": 3, "review": 1})
    scored = score(task, evidence(task, {"review.0": Outcome.NOT_RUN}), built=True)
    assert scored.dimensions["review"].score is None
    assert (scored.dimensions["review"].low, scored.dimensions["review"].high) == (0, 100)
    overall = scored.overall
    assert (overall.score, overall.low, overall.high, overall.coverage) == (100, 75, 100, 0.75)


@pytest.mark.parametrize("outcome", [Outcome.NOT_RUN, Outcome.UNSUPPORTED, Outcome.JUDGE_ERROR])
def test_without_a_word_on_the_anchor_there_is_an_interval_and_no_point(outcome):
    task = rubric({"correctness": [MAJOR, MAJOR], "quality": [MAJOR]})
    scored = score(task, evidence(task, {task.anchor: outcome}), built=True)
    assert (scored.overall.score, scored.overall.low, scored.overall.high) == (None, 75, 100)
    assert scored.dimensions["correctness"].score is None
    assert scored.dimensions["quality"].score == 100


def test_nothing_assessed_has_no_overall():
    task = rubric({"correctness": [MAJOR]})
    overall = score(task, evidence(task, {"correctness.0": Outcome.JUDGE_ERROR}), built=True).overall
    assert (overall.score, overall.low, overall.high, overall.coverage) == (None, 0, 100, 0)


def test_a_partly_assessed_dimension_keeps_its_whole_weight():
    task = rubric({"one": [MINOR] * 4, "two": [MINOR]})
    scored = score(task, evidence(task, dict.fromkeys(("one.1", "one.2", "one.3"), Outcome.NOT_RUN)
                                  | {"one.0": Outcome.FAILED}), built=True)  # fmt: skip
    assert scored.dimensions["one"].score == 0
    assert (scored.overall.score, scored.overall.coverage) == (50, 0.625)
    assert (scored.overall.low, scored.overall.high) == (50, 88)  # 87.5 goes up


@pytest.mark.parametrize(
    ("weights", "passed", "overall"),
    [
        ({"one": 1, "two": 1}, 1, 63),  # (100 + 25) / 2 = 62.5; rounding to even gives 62
        ({"one": 1, "two": 1}, 3, 88),  # 87.5 is even's 88 as well
        ({"one": 1, "two": 3}, 2, 63),  # 62.5 again, from other weights
        ({"one": 0.29, "two": 1.71}, 0, 15),  # 14.5 exactly; in floats 100 * 0.29 / 2 is 14.499999999999998
    ],
)
def test_the_overall_rounds_half_up_exactly(weights, passed, overall):
    task = rubric({"one": [MINOR], "two": [MINOR] * 4}, weights)
    failed = {f"two.{i}": Outcome.FAILED for i in range(passed, 4)}
    scored = score(task, evidence(task, failed), built=True)
    assert scored.overall.score == overall
    assert (scored.overall.low, scored.overall.high) == (overall, overall)


def test_dimensions_are_kept_unrounded_in_rubric_order():
    task = rubric({"zeal": [MAJOR, MINOR], "art": [MINOR]})
    scored = score(task, evidence(task, {"zeal.0": 1 / 3}), built=True)
    assert list(scored.dimensions) == ["zeal", "art"]
    assert scored.dimensions["zeal"].score == pytest.approx(50, abs=1e-12)


def test_evidence_that_does_not_fit_the_rubric_is_our_fault_and_refused():
    task, other = rubric({"one": [MINOR, MAJOR]}), rubric({"one": [MINOR, MINOR, MINOR]})
    whole = evidence(task)
    with pytest.raises(JudgeError, match=r"no evidence for criterion 'one\.1'"):
        score(task, whole[:1], built=True)
    with pytest.raises(JudgeError, match=r"more than one evidence for criterion 'one\.0'"):
        score(task, [*whole, whole[0]], built=True)
    with pytest.raises(JudgeError, match=r"unknown criterion 'one\.2'"):
        score(task, [*whole, evidence(other)[2]], built=True)
    with pytest.raises(JudgeError, match=r"'one\.1' disagrees with the rubric"):
        score(task, evidence(other)[:2], built=True)


QUICK = settings(max_examples=shares.examples(200))

severities = st.sampled_from(list(Severity))
outcomes = st.one_of(
    st.sampled_from([Outcome.PASSED, Outcome.FAILED, Outcome.NOT_RUN]),
    # of halves and quarters come means that lie between two whole points
    st.sampled_from([0.25, 0.5, 0.75]),
    st.floats(0.001, 0.999).map(lambda share: round(share, 3)),
)
weights = st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.5, 3.0])


def record(task: Challenge, found: dict[str, Outcome | float], *, built: bool) -> Record:
    status = Status.GRADED if built else Status.BUILD_FAILED
    items = tuple(evidence(task, found))
    return graded("model", task.id, 50.0).model_copy(update={"evidence": items, "status": status})


@st.composite
def attempts(draw) -> tuple[Challenge, list[Record]]:
    names = ["correctness", "speed", "style", "tests"][: draw(st.integers(1, 4))]
    shape = {d: draw(st.lists(severities, min_size=1, max_size=5)) for d in names}
    task = rubric(shape, {d: draw(weights) for d in names})
    drawn = st.fixed_dictionaries({c.id: outcomes for c in task.criteria})
    return task, [record(task, draw(drawn), built=draw(st.booleans())) for _ in range(draw(st.integers(1, 4)))]


def exact(task: Challenge, one: RecordSummary, common: frozenset[str]) -> float:
    mark = AssessedRecord(task, one.results, built=one.status is not Status.BUILD_FAILED).mark(common)
    return -1.0 if mark is None else mark


@QUICK
@given(attempts(), st.data())
def test_marks_found_together_are_those_found_one_by_one(case, data):
    """In binary where that decides them, exactly where they are ties."""
    task, records = case
    summaries = [RecordSummary.of(one) for one in records]
    together = AssessedAttempts(RubricColumns(task), summaries)
    common = frozenset(id for id in sorted(together.criteria) if data.draw(st.booleans()))
    for ids in (common, together.criteria):
        assert together.marks(ids).tolist() == [exact(task, one, ids) for one in summaries]


def test_a_half_point_goes_up():
    """Five of six criteria of one heading and none of a lighter one: 62.5, which floats fall short of."""
    shape = {"speed": [Severity.MAJOR], "correctness": [Severity.MAJOR] * 6}
    task = rubric(shape, {"speed": 0.1, "correctness": 0.3})
    failed = {"speed.0": Outcome.FAILED, "correctness.0": Outcome.FAILED}
    together = AssessedAttempts(RubricColumns(task), [RecordSummary.of(record(task, failed, built=True))])
    assert together.marks(together.criteria).tolist() == [63]


def test_a_record_of_another_version_of_the_rubric_is_marked_by_its_own_severities():
    """One criterion of two failed: half of the weight then, a sixth of it now."""
    then = rubric({"correctness": [Severity.MAJOR, Severity.MAJOR]})
    now = rubric({"correctness": [Severity.MINOR, Severity.CRITICAL]})
    failed = {"correctness.0": Outcome.FAILED}
    summaries = [RecordSummary.of(record(task, failed, built=True)) for task in (then, now)]
    together = AssessedAttempts(RubricColumns(now), summaries)
    marks = together.marks(together.criteria).tolist()
    assert marks == [exact(now, one, together.criteria) for one in summaries] and marks[0] == 50 < marks[1]
