"""A reply without an answer is an attempt that meets nothing, by whatever way it came in: leaving it out flatters."""

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from harness.errors import ReplyError
from harness.grading.submission_grade import grade_one
from harness.importing.sample_attempts import ImportedSample, RefusedSample, SampleImport
from harness.importing.samples import SampleFields, read_samples
from harness.importing.unanswered import UnansweredReply, importer_alone, importer_of
from harness.model import Status
from harness.model.submissions.name import SubmissionName
from harness.serving.answers import lay_out
from harness.serving.requests import GradeRequest
from harness.workspace import Workspace
from tests.commands import called
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

RIGHT = f"Here it is.\n\n```python\n{REFERENCE.strip()}\n```\n"
REPLIES = Path(__file__).parents[1] / "replies"
REFUSAL = (REPLIES / "ours" / "kv_cache" / "refusal.md").read_text()
C_CODE = (
    "This is fastest in C.\n\n```c\ndouble scaled(const double *x, int n, double scale) {\n"
    "    double total = 0;\n    for (int i = 0; i < n; i++) total += x[i];\n    return total * scale;\n}\n```\n"
)
NOTHING = {
    "a refusal": REFUSAL,
    "an empty file": "",
    "blank lines": " \n\t\n",
    "a question": (REPLIES / "ours" / "kv_cache" / "question_back.md").read_text(),
    "reasoning that never ends": "<think>\nThe sum has to be scaled. Let me think about the scale.\n",
    "code that is cut off": "```python\ndef scaled(x, scale):\n    total = 0\n",
    "code in C": C_CODE,
    "code in Rust": (REPLIES / "corpus" / "kv_cache" / "rust.md").read_text(),
    "a function left to be written": "```python\ndef scaled(x, scale):\n    raise NotImplementedError\n```\n",
    "a chat without a word": json.dumps({"choices": [{"message": {"role": "assistant", "content": ""}}]}),
    "a refusal in a chat": json.dumps({"role": "assistant", "content": None, "refusal": "I can't help with that."}),
    "a chat of reasoning alone": json.dumps({"content": [{"type": "thinking", "thinking": "Hm."}]}),
}
TWO = f"Option A:\n\n{RIGHT}\nOption B:\n\n{RIGHT.replace('total', 'sum_')}\nPick one.\n"
FAULTS = {
    "a name that leads elsewhere": RIGHT.replace("```python", "```python ../../x.py"),
    "JSON of something else": '{"error": {"message": "overloaded"}}',
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def imported(workspace: Workspace, *samples: dict[str, Any]) -> list[ImportedSample | RefusedSample]:
    path = workspace.root / "samples.jsonl"
    path.write_text("".join(json.dumps({"model": "m", "challenge": CHALLENGE_ID, **one}) + "\n" for one in samples))
    return list(SampleImport(workspace, path).run(read_samples(path, SampleFields())))


@pytest.mark.parametrize("kind", NOTHING)
def test_every_way_in_keeps_the_same_attempt_without_an_answer(workspace: Workspace, kind: str) -> None:
    reply = NOTHING[kind]
    (sample,) = imported(workspace, {"reply": reply})
    assert isinstance(sample, ImportedSample) and sample.unanswered
    about = workspace.submission(sample.folder).about
    assert (about.unanswered, about.entry, about.attempt) == (sample.unanswered, (), 1)
    assert (sample.folder / "reply.md").read_text() == reply
    served = workspace.root / "served"
    served.mkdir()
    request = GradeRequest.model_validate({"challenge": CHALLENGE_ID, "model": "m", "reply": reply or " "})
    lay_out(workspace, request, served)
    assert workspace.submission(served).about.unanswered == sample.unanswered


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_that_its_reader_can_mend_is_an_error_where_there_is_a_reader(workspace: Workspace, kind: str) -> None:
    (sample,) = imported(workspace, {"reply": FAULTS[kind]})
    assert isinstance(sample, RefusedSample) and not workspace.submissions()
    name, data = SubmissionName("m", CHALLENGE_ID), FAULTS[kind].encode()
    challenge = workspace.challenge(CHALLENGE_ID)
    with pytest.raises(ReplyError):
        importer_of("reply.md", data, name, challenge)
    alone = importer_alone("reply.md", data, name, challenge)
    assert isinstance(alone, UnansweredReply) and not alone.unread


def test_a_reply_that_may_be_meant_in_two_ways_is_an_attempt_that_is_not_graded(workspace: Workspace) -> None:
    made = imported(workspace, *({"reply": reply} for reply in (RIGHT, TWO, REFUSAL)))
    assert [isinstance(each, ImportedSample) and bool(each.unread) for each in made] == [False, True, False]
    records = {folder.name: grade_one(workspace, folder).record for folder in workspace.submissions()}
    unread = records["attempt-2"]
    assert (unread.status, unread.unread, unread.overall.score, unread.reward) == (Status.JUDGE_ERROR, True, None, None)
    assert not unread.findings and not records["attempt-1"].unread and not records["attempt-3"].unread
    shown = json.loads(called(workspace.root, "show", f"m/{CHALLENGE_ID}", "--json").stdout)
    assert [shown[key] for key in ("attempts", "marked", "unanswered", "unread", "passed")] == [3, 2, 1, 1, 1]
    assert "1 of 3 could not be read" in " ".join(called(workspace.root, "show", f"m/{CHALLENGE_ID}").stdout.split())
    assert called(workspace.root, "report").returncode == 0
    assert "1 of 3 could not be read" in (workspace.root / "reports" / "index.html").read_text()


def test_its_reader_may_choose_afterwards_and_how_it_was_asked_stays(workspace: Workspace) -> None:
    (sample,) = imported(workspace, {"reply": TWO})
    assert isinstance(sample, ImportedSample)
    (sample.folder / "asked.json").write_text("{}")
    words = ("import", "reply", str(sample.folder / "reply.md"), "--model", "m", "--challenge", CHALLENGE_ID)
    attempt = ("--attempt", "1")
    assert called(workspace.root, *words, *attempt).returncode == 2
    assert workspace.submission(sample.folder).about.unread == sample.unread
    assert called(workspace.root, *words, *attempt, "--take", "2").returncode == 0
    assert {path.name for path in sample.folder.iterdir()} == {"answer.py", "asked.json", "reply.md", "submission.toml"}
    assert "sum_" in (sample.folder / "answer.py").read_text()
    done = called(workspace.root, *words, *attempt, "--take", "1")
    assert done.returncode == 2 and "exists already" in done.stderr


def test_a_batch_with_a_doubt_exits_with_2_and_names_the_command(workspace: Workspace) -> None:
    lines = [{"model": "m", "challenge": CHALLENGE_ID, "reply": reply} for reply in (RIGHT, TWO)]
    (workspace.root / "two.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = called(workspace.root, "import", "samples", "two.jsonl")
    assert done.returncode == 2 and len(workspace.submissions()) == 2
    assert "could not be read" in done.stderr and "--attempt 2 --take" in done.stderr


def test_a_null_reply_is_an_empty_one_and_a_missing_or_failed_one_is_none(workspace: Workspace) -> None:
    null, missing, failed = imported(
        workspace, {"reply": None}, {"answer": RIGHT}, {"reply": None, "error": "time-out"}
    )
    assert isinstance(null, ImportedSample) and null.unanswered == "is empty"
    assert isinstance(missing, RefusedSample) and "has no reply" in missing.why
    assert isinstance(failed, RefusedSample) and "failed in the evaluation" in failed.why


def test_five_samples_of_which_one_refuses_are_five_attempts(workspace: Workspace) -> None:
    """One of five passes: 20 %, where the four with code alone would say 25 %."""
    wrong = RIGHT.replace("total * scale", "total")
    imported(workspace, *({"reply": reply} for reply in (RIGHT, wrong, REFUSAL, wrong, wrong)))
    records = [grade_one(workspace, folder).record for folder in workspace.submissions()]
    marks = [record.overall.score or 0.0 for record in records]
    assert len(marks) == 5 and marks[0] == 100 and marks[2] == 0
    done = called(workspace.root, "show", f"m/{CHALLENGE_ID}", "--json")
    shown = json.loads(done.stdout)
    assert (shown["attempts"], shown["marked"], shown["unanswered"], shown["passed"]) == (5, 5, 1, 1)
    assert shown["pass_at"]["1"] == pytest.approx(1 / 5) and shown["pass_at"]["4"] == pytest.approx(4 / 5)
    assert shown["overall"]["score"] == pytest.approx(sum(marks) / 5)
    assert shown["deviation"] == pytest.approx(stdev(marks))
    text = " ".join(called(workspace.root, "show", f"m/{CHALLENGE_ID}").stdout.split())
    assert "5, 1 of 5 gave no code that can be graded" in text and "pass@1: 20 %" in text
    assert called(workspace.root, "report").returncode == 0
    page = " ".join((workspace.root / "reports" / f"{CHALLENGE_ID}.md").read_text().split())
    assert "1 of 5 gave no code that can be graded" in page
    assert "1 of 5 gave no code that can be graded" in (workspace.root / "reports" / "index.html").read_text()


def test_commands_say_that_a_reply_holds_no_answer_and_go_on(workspace: Workspace) -> None:
    (workspace.root / "c.md").write_text(C_CODE)
    (workspace.root / "right.md").write_text(RIGHT)
    words = ("import", "reply", "c.md", "--model", "m", "--challenge", CHALLENGE_ID, "--attempt", "2")
    done = called(workspace.root, *words)
    assert done.returncode == 0 and "no whole file in Python that defines scaled" in done.stderr
    assert workspace.submission(workspace.submissions_folder / "m" / CHALLENGE_ID / "attempt-2").about.unanswered
    done = called(workspace.root, "grade", "c.md", "right.md", "--challenge", CHALLENGE_ID, "--json")
    assert done.returncode == 0, done.stderr
    marks = {record["model"]: (record["status"], record["overall"]["score"]) for record in json.loads(done.stdout)}
    assert marks == {"c": ("build_failed", 0), "right": ("graded", 100)}
