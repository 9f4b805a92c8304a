"""A reply that holds no answer is graded as one that meets nothing: leaving it out would flatter the model."""

import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from harness.errors import SpecError
from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import NO_ANSWER, Asked, Outcome, Record, Status
from harness.report.views import notes
from harness.scoring import score
from harness.scoring.doubts import find_doubts
from harness.scoring.record_summary import RecordSummary
from harness.workspace import Workspace
from tests.commands import called
from tests.toy import REFERENCE, SUBMISSION, add_submission, make_workspace
from tests.written import show, shown_markdown

UNANSWERED = SUBMISSION.replace('"answer.py"', '[]\nunanswered = "holds no code"')
TURNS = f"{SUBMISSION}turns = 3\n"
CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def submitted(workspace: Workspace, model: str, toml: str, source: str = REFERENCE) -> Path:
    folder = add_submission(workspace, model, source, toml)
    (folder / "reply.md").write_text("I would rather not.\n")
    return folder


def graded(workspace: Workspace, model: str, toml: str, source: str = REFERENCE) -> Record:
    return grade_one(workspace, submitted(workspace, model, toml, source)).record


def test_it_meets_no_criterion(workspace: Workspace) -> None:
    record = graded(workspace, "m", UNANSWERED)
    assert record.status is Status.BUILD_FAILED and record.overall.score == 0
    assert {e.outcome for e in record.evidence} == {Outcome.FAILED}
    (finding,) = record.findings
    assert (finding.title, finding.detail) == (NO_ANSWER, "the reply holds no code")
    assert {gate.reason for gate in record.gates} == {NO_ANSWER}


def test_no_review_can_give_it_points(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """The interval has no room for what nobody can review, and the record is no doubtful one."""
    for part in ("challenges", "references"):
        shutil.copytree(CHECKOUT / part / "layernorm_backward", workspace.root / part / "layernorm_backward")
    toml = UNANSWERED.replace("scaled_sum", "layernorm_backward").replace("holds no code", "is empty")
    folder = workspace.submissions_folder / "m" / "layernorm_backward"
    folder.mkdir(parents=True)
    (folder / "submission.toml").write_text(toml.format(model="m"))
    record, challenge = grade_one(workspace, folder).record, workspace.challenge("layernorm_backward")
    overall = record.overall
    assert (overall.score, overall.low, overall.high, overall.coverage) == (0, 0, 0, 1)
    assert any(c.review for c in challenge.criteria) and {e.outcome for e in record.evidence} == {Outcome.FAILED}
    assert not find_doubts(record, challenge, lambda: record.probe_set or "")
    Console(width=120).print(show(challenge, record))
    text = capsys.readouterr().out
    line = f"none of {len(challenge.criteria)} is met, because the reply holds no answer"
    assert "the reply is empty" in text and line in text and line in shown_markdown(challenge, record)
    assert "Took" not in text and "does not build" not in text and "check_gradients" not in text


def test_a_record_from_before_that_reason_is_no_forgery(workspace: Workspace) -> None:
    record = graded(workspace, "m", UNANSWERED)
    scored = score(workspace.challenge("scaled_sum"), record.evidence, built=False)
    assert scored.gates != record.gates
    older = record.model_copy(update={"gates": scored.gates})
    assert not find_doubts(older, workspace.challenge("scaled_sum"), lambda: record.probe_set or "")


def test_the_report_says_so(workspace: Workspace) -> None:
    graded(workspace, "m", UNANSWERED)
    assert called(workspace.root, "report").returncode == 0
    page = next((workspace.root / "reports").glob("scaled_sum.md")).read_text()
    assert "The reply holds no answer, so nothing was run" in page and "interpreter or compiler" not in page
    assert "holds no answer" in called(workspace.root, "show", "m/scaled_sum").stdout


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (SUBMISSION.replace('"answer.py"', "[]"), "must name a file"),
        (f'{SUBMISSION}unanswered = "no"\n', r"must be \[\]"),
    ],
)
def test_an_answer_has_an_entry_and_no_answer_has_none(workspace: Workspace, toml: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as error:
        graded(workspace, "m", toml)
    assert error.value.field == "submission.entry"


def test_several_turns_are_told_wherever_marks_are_compared(workspace: Workspace) -> None:
    records = [graded(workspace, "once", SUBMISSION), graded(workspace, "thrice", TURNS)]
    assert [record.turns for record in records] == [1, 3]
    assert "asked in up to 3 turns" in " ".join(records[1].remarks)
    told = " ".join(notes.notes([workspace.challenge("scaled_sum")], [RecordSummary.of(r) for r in records]))
    assert "Asked in several turns" in told and "thrice/scaled_sum" in told and "once/scaled_sum" not in told


def test_how_it_was_asked_is_no_part_of_the_answer(workspace: Workspace) -> None:
    folder = submitted(workspace, "m", SUBMISSION)
    key = grade_one(workspace, folder, Options(publish=False)).record.key
    (folder / "asked.json").write_text(json.dumps({"seconds": 2.5}))
    again = grade_one(workspace, folder, Options(publish=False))
    assert again.reused and again.record.key == key


def test_a_cost_is_stated_only_where_all_of_it_is_known() -> None:
    about = {
        "challenge": "rows", "attempt": 1, "began": "2026-11-24T10:00:00Z", "price_in": 1.0, "price_out": 10.0,
        "settings": {"server": "http://localhost", "model": "m", "prompt_sha256": "0"},
    }  # fmt: skip
    turn = {"reply": "", "seconds": 1, "prompt_tokens": 1000, "completion_tokens": 500}
    assert Asked.model_validate({**about, "turns": [turn, turn]}).cost == pytest.approx(0.012)
    uncounted = {**turn, "completion_tokens": None}
    assert Asked.model_validate({**about, "turns": [turn, uncounted]}).cost is None
    assert Asked.model_validate({**about, "price_in": None, "turns": [turn]}).cost is None
