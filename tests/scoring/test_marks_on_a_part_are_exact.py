"""Attempts marked together on a part of their criteria get the marks that exact arithmetic gives each of them."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rubrics import evidence, graded, rubric

from harness.model import Challenge, Outcome, Record, Severity, Status
from harness.scoring.assessed import AssessedAttempts, AssessedRecord, RubricColumns
from harness.scoring.record_summary import RecordSummary
from tests import shares

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
