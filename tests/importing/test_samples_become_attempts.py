"""A file of many replies becomes attempts: each whole or not at all, and what is broken stops nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import NotFoundError, SpecError
from harness.grading.submission_grade import grade_one
from harness.importing.sample_attempts import ImportedSample, RefusedSample, SampleImport
from harness.importing.samples import MAX_LINE, SampleFields, parse_fields, read_samples, value_at
from harness.replies.text import ReplyText, reply_text
from harness.workspace import Workspace
from tests.commands import called
from tests.toy import CHALLENGE_ID, REFERENCE, make_workspace

NO_FIELDS = SampleFields()
REPLY = f"Here it is.\n\n```python\n{REFERENCE.strip()}\n```\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def sample(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "challenge": CHALLENGE_ID, "reply": REPLY} | changes


def taken(
    workspace: Workspace, content: Any, append: bool = False, fields: SampleFields = NO_FIELDS
) -> list[ImportedSample | RefusedSample]:
    """Import a list of lines (text or values to be made JSON), or bytes."""
    path = workspace.root / "given.jsonl"
    if isinstance(content, list):
        content = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in content).encode()
    path.write_bytes(content)
    return list(SampleImport(workspace, path, append).run(read_samples(path, fields)))


def made(workspace: Workspace) -> list[str]:
    root = workspace.submissions_folder
    return [str(folder.relative_to(root)) for folder in workspace.submissions()]


def inspect_log(*samples: dict[str, Any]) -> dict[str, Any]:
    """As inspect_ai writes a log with `--log-format json`."""
    return {"version": 2, "status": "success", "eval": {"task": "kernels", "model": "vendor/Model-1"},
            "samples": list(samples)}  # fmt: skip


def inspect_sample(epoch: int, content: Any, **changes: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "stop_reason": "stop"}
    return {"id": CHALLENGE_ID, "epoch": epoch, "input": "Write it.", "target": "",
            "output": {"model": "Model-1", "choices": [choice]}} | changes  # fmt: skip


def test_broken_lines_are_told_by_number_and_the_others_go_on(workspace: Workspace) -> None:
    lines: list[Any] = [
        sample(), "{broken", "", sample(reply="only words"), [1], sample(), sample(model="../m"),
        sample(challenge="scaled_sun"), sample(attempt="x"), sample(attempt=0), sample(reply=5), {"model": "m"},
        sample(reply=REPLY.replace("```python", "```python ../../x.py")), "null", sample(attempt=7),
    ]  # fmt: skip
    found = taken(workspace, lines)
    assert made(workspace) == [f"m/{CHALLENGE_ID}/attempt-{n}" for n in (1, 2, 3, 7)]
    refused = {one.place: one.why for one in found if isinstance(one, RefusedSample)}
    assert list(refused) == [f"line {n}" for n in (2, 5, 7, 8, 9, 10, 11, 12, 13, 14)]
    for place, why in refused.items():
        assert f"given.jsonl, {place}: " in why
    for place, words in (
        ("2", "column 2"),
        ("7", "'../m'"),
        ("8", "did you mean 'scaled_sum'"),
        ("12", "no challenge"),
    ):
        assert words in refused[f"line {place}"]
    assert not list(workspace.root.rglob("*.new.*")) and not (workspace.root / "x.py").exists()


def test_what_was_imported_is_graded(workspace: Workspace) -> None:
    taken(workspace, [sample(), sample(reply=REPLY.replace("* scale", ""))])
    marks = [grade_one(workspace, folder).record for folder in workspace.submissions()]
    assert [record.attempt for record in marks] == [1, 2]
    assert marks[0].overall.score == 100.0 > (marks[1].overall.score or 0)
    folder = workspace.submissions_folder / "m" / CHALLENGE_ID / "attempt-1"
    assert (folder / "reply.md").read_text() == REPLY


def test_a_mended_file_adds_what_was_missing_and_replaces_nothing(workspace: Workspace) -> None:
    doubtful = REPLY.replace("```python", "```python ../x.py")
    taken(workspace, [sample(), sample(reply=doubtful), sample()])
    kept = (workspace.submissions_folder / "m" / CHALLENGE_ID / "attempt-1" / "reply.md").stat()
    again = taken(workspace, [sample(reply=REPLY + "More.\n"), sample(), sample()])
    assert [type(one) for one in again] == [RefusedSample, ImportedSample, RefusedSample]
    assert all("exists already" in one.why for one in again if isinstance(one, RefusedSample))
    assert (workspace.submissions_folder / "m" / CHALLENGE_ID / "attempt-1" / "reply.md").stat() == kept


def test_appended_attempts_come_after_those_that_are_there(workspace: Workspace) -> None:
    taken(workspace, [sample(attempt=4)])
    taken(workspace, [sample(), sample(model="n"), sample()], append=True)
    assert made(workspace) == [f"{each}" for each in (
        f"m/{CHALLENGE_ID}/attempt-4", f"m/{CHALLENGE_ID}/attempt-5", f"m/{CHALLENGE_ID}/attempt-6",
        f"n/{CHALLENGE_ID}/attempt-1",
    )]  # fmt: skip


def test_the_same_attempt_twice_is_refused(workspace: Workspace) -> None:
    _, second = taken(workspace, [sample(attempt=2), sample(attempt="2")])
    assert isinstance(second, RefusedSample) and "as line 1 is already" in second.why


def test_attempts_do_not_join_a_single_answer(workspace: Workspace) -> None:
    reply = workspace.root / "reply.md"
    reply.write_text(REPLY)
    words = ("import", "reply", str(reply), "--model", "m", "--challenge", CHALLENGE_ID)
    assert called(workspace.root, *words).returncode == 0
    (refused,) = taken(workspace, [sample()])
    assert isinstance(refused, RefusedSample) and "cannot be a submission itself" in refused.why
    done = called(workspace.root, *words, "--attempt", "2")
    assert done.returncode == 2 and f"harness attempt m/{CHALLENGE_ID}" in done.stderr
    assert made(workspace) == [f"m/{CHALLENGE_ID}"]
    moved = called(workspace.root, "attempt", f"m/{CHALLENGE_ID}")
    assert moved.stdout == f"moved m/{CHALLENGE_ID} to m/{CHALLENGE_ID}/attempt-1\n"
    assert called(workspace.root, *words, "--attempt", "2").returncode == 0
    assert made(workspace) == [f"m/{CHALLENGE_ID}/attempt-{n}" for n in (1, 2)]


def test_a_single_answer_does_not_join_attempts(workspace: Workspace) -> None:
    reply = workspace.root / "reply.md"
    reply.write_text(REPLY)
    words = ("import", "reply", str(reply), "--model", "m", "--challenge", CHALLENGE_ID)
    done = called(workspace.root, *words, "--attempt", "2")
    assert done.returncode == 0 and f"harness grade m/{CHALLENGE_ID}/attempt-2" in done.stderr
    done = called(workspace.root, *words)
    assert done.returncode == 2 and "attempt-2" in done.stderr and "Traceback" not in done.stderr


def test_fields_are_found_where_they_are_said_to_be(workspace: Workspace) -> None:
    line = {"id": 1, "out": [{"text": REPLY}], "who": {"name": "Big Model:7b"}, "n": 3}
    paths = parse_fields(["reply=out.0.text", "model=who.name", "attempt=n"])
    (found,) = taken(workspace, [line], fields=SampleFields(paths, {"challenge": CHALLENGE_ID}))
    assert isinstance(found, ImportedSample) and str(found.name) == f"big-model-7b/{CHALLENGE_ID}/attempt-3"


@pytest.mark.parametrize("text", ["reply", "reply=", "replies=x", "=x"])
def test_what_names_no_field_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--field"):
        parse_fields([text])


@pytest.mark.parametrize(
    ("path", "found"), [("a.b", 1), ("c.1", 3), ("c.2", None), ("a.b.c", None), ("x", None), ("c.-1", None)]
)
def test_a_path_leads_to_its_value_or_nowhere(path: str, found: Any) -> None:
    assert value_at({"a": {"b": 1}, "c": [2, 3]}, path) == found


def test_two_models_never_share_a_folder(workspace: Workspace) -> None:
    first, second = taken(workspace, [sample(model="a/b"), sample(model="a-b")])
    assert isinstance(first, ImportedSample)
    assert isinstance(second, RefusedSample) and "would both be a-b" in second.why


@pytest.mark.parametrize("indent", [None, 2])
def test_a_log_of_inspect_is_known_by_its_structure(workspace: Workspace, indent: int | None) -> None:
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": REPLY}]
    log = inspect_log(
        inspect_sample(1, REPLY), inspect_sample(2, parts), inspect_sample(3, "", error={"message": "time-out"}),
        inspect_sample(4, REPLY, id=17, metadata={"challenge": CHALLENGE_ID}),
    )  # fmt: skip
    found = taken(workspace, json.dumps(log, indent=indent).encode())
    assert made(workspace) == [f"vendor-model-1/{CHALLENGE_ID}/attempt-{n}" for n in (1, 2, 4)]
    (refused,) = (one for one in found if isinstance(one, RefusedSample))
    assert refused.place == "sample 3" and "failed in the evaluation" in refused.why
    files = workspace.submissions_folder / "vendor-model-1" / CHALLENGE_ID
    assert len({(files / f"attempt-{n}" / "answer.py").read_text() for n in (1, 2, 4)}) == 1


def test_several_choices_of_one_sample_are_not_guessed_between(workspace: Workspace) -> None:
    several = inspect_sample(1, REPLY)
    several["output"]["choices"] *= 2
    (refused,) = taken(workspace, json.dumps(inspect_log(several)).encode())
    assert isinstance(refused, RefusedSample) and "2 choices" in refused.why


def test_an_array_is_read_as_lines_are(workspace: Workspace) -> None:
    found = taken(workspace, json.dumps([sample(), 5, sample()], indent=1).encode())
    assert [one.place for one in found] == ["sample 1", "sample 2", "sample 3"]
    assert made(workspace) == [f"m/{CHALLENGE_ID}/attempt-{n}" for n in (1, 2)]


def test_a_line_of_fifty_megabytes_is_passed_over(workspace: Workspace) -> None:
    path = workspace.root / "given.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(sample()).encode() + b"\n")
        file.write(b'{"model": "' + b"x" * (50 << 20) + b'"}\n')
        file.write(json.dumps(sample()).encode())
    done = called(workspace.root, "import", "samples", "given.jsonl")
    assert done.returncode == 2 and f"line 2: is longer than {MAX_LINE >> 20} MiB" in done.stderr
    assert done.stdout.splitlines() == [f"line {n}: m/{CHALLENGE_ID}/attempt-{a}" for n, a in ((1, 1), (3, 2))]
    assert "2 imported, 1 refused" in done.stderr and f"harness grade m/{CHALLENGE_ID}" in done.stderr


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no sample"), (b"\n \n", "holds no sample"), (b"PK\x03\x04abc", "inspect log dump"),
        (b"a\0b", "is not text"), (b"[]", "holds no sample"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_samples_is_an_error(workspace: Workspace, data: bytes, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        taken(workspace, data)
    assert not workspace.submissions_folder.exists()


@pytest.mark.parametrize(
    "line", [b"\xff\xfe\xfa", b'{"a": ' * 100_000, b"caf\xe9", b'{"attempt": ' + b"9" * 5000 + b"}"]
)
def test_a_line_that_is_no_json_stops_nothing(workspace: Workspace, line: bytes) -> None:
    first, second = taken(workspace, line + b"\n" + json.dumps(sample()).encode())
    assert isinstance(first, RefusedSample) and "line 1: " in first.why and isinstance(second, ImportedSample)


def test_a_byte_of_zero_breaks_its_line_alone(workspace: Workspace) -> None:
    data = json.dumps(sample()).encode()
    results = taken(workspace, b"\n".join([data, b"\0\1", data]))
    assert [type(result) for result in results] == [ImportedSample, RefusedSample, ImportedSample]


def test_a_file_that_is_not_there_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError, match="cannot be read"):
        list(read_samples(workspace.root / "none.jsonl", SampleFields()))


def test_half_a_character_in_a_reply_is_written_as_a_question_mark(workspace: Workspace) -> None:
    (found,) = taken(workspace, [json.dumps(sample(reply="\ud800\n" + REPLY))])
    assert isinstance(found, ImportedSample) and (found.folder / "reply.md").read_text().startswith("?\n")


@pytest.mark.parametrize("name", ["submission.toml/x.py", "x" * 256 + ".py", "\U0001f600" * 100 + ".py"], ids=ascii)
def test_a_name_no_file_can_have_costs_its_sample_alone(workspace: Workspace, name: str) -> None:
    bad = f'{REPLY}\n``` file="{name}"\nx = 1\n```\n'
    found = taken(workspace, [sample(), sample(reply=bad), sample()])
    assert [type(one) for one in found] == [ImportedSample, RefusedSample, ImportedSample]


def test_an_exception_under_one_sample_reaches_no_other(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(where: str, data: bytes) -> ReplyText:
        if b"trap" in data:
            raise RecursionError("maximum recursion depth exceeded")
        return reply_text(where, data)

    monkeypatch.setattr("harness.importing.unanswered.reply_text", failing)
    found = taken(workspace, [sample(), sample(reply=f"{REPLY}trap"), sample()])
    assert [type(one) for one in found] == [ImportedSample, RefusedSample, ImportedSample]
    assert isinstance(found[1], RefusedSample) and "RecursionError" in found[1].why
