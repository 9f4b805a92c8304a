"""Several answers of one model to one challenge are graded each for itself, and no record replaces another's."""

import json
from pathlib import Path

import pytest

from harness.errors import NotFoundError, SpecError, StoreError
from harness.grading.replay import replay
from harness.grading.submission_grade import grade_one
from harness.model.submissions.name import SubmissionName
from harness.store.record_store import Store
from tests.attempts import add_attempt
from tests.commands import called
from tests.toy import CHALLENGE_ID, SUBMISSION, add_submission


def test_each_attempt_has_a_record_of_its_own(attempts) -> None:
    workspace = attempts.workspace
    folder = workspace.records_folder / CHALLENGE_ID / "m"
    assert sorted(path.name for path in folder.iterdir()) == ["attempt-1.json", "attempt-2.json", "attempt-3.json"]
    records = workspace.records()
    assert [record.attempt for record in records] == [1, 2, 3]
    assert [record.name for record in records] == [f"m/{CHALLENGE_ID}/attempt-{n}" for n in (1, 2, 3)]
    assert [record.overall.score for record in records][:2] == [100.0, 100.0] and records[2].overall.score < 60


def test_equal_files_of_two_attempts_are_graded_twice(attempts) -> None:
    """Attempts 1 and 2 hold the same bytes: the record of one never stands for the other."""
    workspace = attempts.workspace
    one, two = (workspace.record(f"m/{CHALLENGE_ID}/attempt-{n}") for n in (1, 2))
    assert one.key != two.key and one.seed != two.seed
    again = grade_one(workspace, workspace.folder_of(two))
    assert again.reused and again.record == two


def test_names_select_attempts(attempts) -> None:
    workspace = attempts.workspace
    folders = [workspace.submissions_folder / "m" / CHALLENGE_ID / f"attempt-{n}" for n in (1, 2, 3)]
    for name in ("m", CHALLENGE_ID, f"m/{CHALLENGE_ID}", str(folders[0].parent)):
        assert workspace.select([name]) == folders
    assert workspace.select([f"m/{CHALLENGE_ID}/attempt-2"]) == workspace.select([str(folders[1])]) == [folders[1]]
    with pytest.raises(NotFoundError, match=f"did you mean 'm/{CHALLENGE_ID}/attempt-"):
        workspace.select([f"m/{CHALLENGE_ID}/attempt-4"])


def test_attempts_are_ordered_by_number(toy) -> None:
    for number in (10, 9, 1):
        add_attempt(toy.workspace, "m", number, "x = 1")
    assert [folder.name for folder in toy.workspace.submissions()] == ["attempt-1", "attempt-9", "attempt-10"]


def test_an_attempt_is_replayed(attempts) -> None:
    record = attempts.workspace.record(f"m/{CHALLENGE_ID}/attempt-3")
    assert replay(attempts.workspace, record, "values").same


def test_the_index_knows_attempts(attempts) -> None:
    published = Store(attempts.workspace).published
    names = [SubmissionName("m", CHALLENGE_ID, n) for n in (1, 2, 3)]
    for _ in range(2):
        assert [summary.submission_name for summary in published.read_marks().summaries] == names
        assert [record.submission_name for record in published.records()] == names


def test_a_single_answer_beside_attempts_is_an_error_that_names_both(toy) -> None:
    workspace = toy.workspace
    attempt = add_attempt(workspace, "m", 2, "x = 1")
    single = add_submission(workspace, "m", "x = 1")
    assert workspace.select([f"m/{CHALLENGE_ID}"]) == [single, attempt]
    for folder in (single, attempt):
        with pytest.raises(SpecError) as raised:
            workspace.submission(folder)
        assert "submission.toml" in str(raised.value) and "attempt-2" in str(raised.value)
        assert "harness attempt" in str(raised.value) and "attempt-1" in str(raised.value), "where its files can go"


def test_a_single_answer_may_have_a_folder_that_is_called_so(toy) -> None:
    folder = add_submission(toy.workspace, "m", "x = 1")
    (folder / "attempt-1").mkdir()
    (folder / "attempt-1" / "notes.md").write_text("words")
    assert toy.workspace.submissions() == [folder]
    assert toy.workspace.submission(folder).about.attempt is None


@pytest.mark.parametrize(
    ("stated", "message"), [(2, "is 2, but the folder is 'attempt-1'"), (0, "greater"), (True, "int")]
)
def test_the_stated_number_is_that_of_the_folder(toy, stated: object, message: str) -> None:
    toml = f"{SUBMISSION}attempt = {json.dumps(stated)}\n"
    folder = add_attempt(toy.workspace, "m", 1, "x = 1", toml)
    with pytest.raises(SpecError, match=message) as raised:
        toy.workspace.submission(folder)
    assert "submission.attempt" in str(raised.value)


def test_a_single_answer_has_no_number(toy) -> None:
    folder = add_submission(toy.workspace, "m", "x = 1", f"{SUBMISSION}attempt = 1\n")
    with pytest.raises(SpecError, match="move it to"):
        toy.workspace.submission(folder)


def test_a_record_of_the_other_form_is_not_published(attempts) -> None:
    """Both would count, and a model would be marked twice."""
    workspace = attempts.workspace
    record = workspace.record(f"m/{CHALLENGE_ID}/attempt-1")
    with pytest.raises(StoreError, match=r"attempt-1\.json"):
        Store(workspace).publish(record.model_copy(update={"attempt": None}))
    assert not workspace.record_path("m", CHALLENGE_ID).exists()


def test_a_record_in_the_place_of_another_attempt_is_refused(attempts) -> None:
    workspace = attempts.workspace
    place = workspace.record_path("m", CHALLENGE_ID, 4)
    place.write_bytes(workspace.record_path("m", CHALLENGE_ID, 1).read_bytes())
    with pytest.raises(StoreError, match=f"whose place is {CHALLENGE_ID}/m/attempt-1.json"):
        workspace.records()


@pytest.mark.parametrize(
    "path", [Path("m/c"), Path("m/c/attempt-1"), Path("m/c/attempt-12"), Path("m/c.d"), Path("a/b_c/attempt-3")]
)
def test_a_name_is_that_of_its_folder_and_of_its_record(path: Path) -> None:
    name = SubmissionName.of_folder(Path("/anywhere") / path)
    assert Path(str(name)) == path and SubmissionName.parse(str(path)) == name
    assert SubmissionName.of_record(Path(name.record)) == name


@pytest.mark.parametrize(
    "text", ["m", "m/", "/c", "m/c/", "m/c/attempt-0", "m/c/attempt-01", "m/c/2", "m/c/attempt-1/x"]
)
def test_what_is_no_name_is_none(text: str) -> None:
    assert SubmissionName.parse(text) is None


def test_the_command_line_names_each_attempt(attempts) -> None:
    listed = json.loads(called(attempts.workspace.root, "ls", "submissions", "--json").stdout)
    assert [(row["submission"], row["record"]) for row in listed] == [
        (f"m/{CHALLENGE_ID}/attempt-{n}", "yes") for n in (1, 2, 3)
    ]
    done = called(attempts.workspace.root, "grade", f"m/{CHALLENGE_ID}/attempt-2", "--json")
    assert [record["attempt"] for record in json.loads(done.stdout)] == [2], done.stderr
