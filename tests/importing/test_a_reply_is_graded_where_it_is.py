"""`harness grade reply.md --challenge C` grades the answer in it, and publishes nothing over anybody's record."""

import json
import shutil
from pathlib import Path

import pytest

from harness.workspace import Workspace
from tests.commands import called
from tests.toy import CHALLENGE_ID, REFERENCE, add_submission, make_workspace

RIGHT = f"```python\n{REFERENCE.strip()}\n```\n"
WRONG = RIGHT.replace("total * scale", "total")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


def reply(workspace: Workspace, text: str, name: str = "answer.md") -> str:
    (workspace.root / name).write_text(text)
    return name


def marks(workspace: Workspace, *arguments: str) -> dict[str, str]:
    """The outcome of each criterion, from what `--json` prints."""
    done = called(workspace.root, "grade", *arguments, "--challenge", CHALLENGE_ID, "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    return {item["criterion"]: item["outcome"] for item in record["evidence"]}


def test_a_right_and_a_wrong_reply_get_the_marks_they_earn(workspace: Workspace) -> None:
    draft = f"### answer.py\n\n{WRONG}\nThat forgets the scale.\n\n### answer.py\n\n{RIGHT}"
    assert marks(workspace, reply(workspace, draft)) == {"values": "passed", "linear": "passed"}
    assert marks(workspace, reply(workspace, WRONG))["values"] == "failed"


def test_an_imported_reply_is_graded_by_its_name(workspace: Workspace) -> None:
    given = reply(workspace, f"### sums.py\n\n{RIGHT}")
    assert called(workspace.root, "import", "reply", given, "--model", "m", "--challenge", CHALLENGE_ID).returncode == 0
    done = called(workspace.root, "grade", f"m/{CHALLENGE_ID}", "--json")
    assert done.returncode == 0, done.stderr
    assert {item["outcome"] for item in json.loads(done.stdout)[0]["evidence"]} == {"passed"}
    assert workspace.record_path("m", CHALLENGE_ID).exists()


def test_source_that_does_not_parse_is_the_answers_failure_and_told(workspace: Workspace) -> None:
    given = reply(workspace, RIGHT.replace("return total", "return return total"))
    done = called(workspace.root, "grade", given, "--challenge", CHALLENGE_ID, "--json")
    assert "does not parse in its line 5" in done.stderr
    assert json.loads(done.stdout)[0]["status"] == "build_failed"


def test_nothing_is_published_over_the_record_of_another(workspace: Workspace) -> None:
    add_submission(workspace, "answer", REFERENCE)
    assert called(workspace.root, "grade", "--all").returncode == 0
    path = workspace.record_path("answer", CHALLENGE_ID)
    before = path.read_bytes()
    done = called(workspace.root, "grade", reply(workspace, WRONG), "--challenge", CHALLENGE_ID)
    command = f"harness import reply answer.md --model NAME --challenge {CHALLENGE_ID}"
    assert f"this mark is not on the board; to put it there: {command}" in done.stderr
    assert "not published" not in done.stderr and "--publish" not in done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in workspace.submissions_folder.iterdir()] == ["answer"]


def test_a_folder_elsewhere_is_published_only_when_asked(workspace: Workspace) -> None:
    folder = add_submission(workspace, "m", REFERENCE)
    elsewhere = workspace.root / "elsewhere"
    shutil.move(folder, elsewhere)
    path = workspace.record_path("m", CHALLENGE_ID)
    done = called(workspace.root, "grade", str(elsewhere))
    assert done.returncode == 0 and "--publish" in done.stderr and not path.exists()
    assert f"not published, because it lies outside submissions/: m/{CHALLENGE_ID}" in done.stderr
    done = called(workspace.root, "grade", str(elsewhere), "--publish")
    assert done.returncode == 0 and "not published" not in done.stderr and path.exists()
    assert f"published: {path.relative_to(workspace.root)}" in done.stderr


def test_a_reply_is_never_published_under_the_name_of_its_file(workspace: Workspace) -> None:
    done = called(workspace.root, "grade", reply(workspace, RIGHT), "--challenge", CHALLENGE_ID, "--publish")
    assert done.returncode == 2 and not workspace.records_folder.exists()
    assert f"harness import reply answer.md --model NAME --challenge {CHALLENGE_ID}" in done.stderr


def test_a_submission_behind_a_link_is_published(workspace: Workspace) -> None:
    folder = add_submission(workspace, "m", REFERENCE)
    shutil.move(folder, workspace.root / "elsewhere")
    folder.symlink_to(workspace.root / "elsewhere")
    assert called(workspace.root, "grade", "--all").returncode == 0
    assert workspace.record_path("m", CHALLENGE_ID).exists()


def test_a_reply_without_its_challenge_names_the_command(workspace: Workspace) -> None:
    done = called(workspace.root, "grade", reply(workspace, RIGHT))
    assert done.returncode == 2 and "harness grade answer.md --challenge CHALLENGE" in done.stderr
    done = called(workspace.root, "grade", "nobody", "--challenge", CHALLENGE_ID)
    assert done.returncode == 2 and "no submission, model or challenge 'nobody'" in done.stderr


@pytest.mark.parametrize(
    "bad",
    [
        f"{RIGHT}\n```submission.toml/x.py\nx = 1\n```\n", f'{RIGHT}\n``` file="{"x" * 256}.py"\nx = 1\n```\n',
        "x" * (3 << 20),
    ],
    ids=["submission.toml/x.py", "256 letters", "3 MiB"],
)  # fmt: skip
def test_a_reply_that_cannot_be_read_keeps_no_other_from_its_grade(workspace: Workspace, bad: str) -> None:
    names = [reply(workspace, text, f"{n}.md") for n, text in enumerate((RIGHT, bad, WRONG))]
    done = called(workspace.root, "grade", *names, "--challenge", CHALLENGE_ID, "--json")
    assert done.returncode == 2 and "error: 1.md: " in done.stderr and "judge error" not in done.stderr
    assert [record["model"] for record in json.loads(done.stdout)] == ["0", "2"]


def bare(workspace: Workspace, *names: str) -> str:
    folder = workspace.root / "my-kernels"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(REFERENCE)
    return "./my-kernels"


@pytest.mark.parametrize(
    "names",
    [
        ("sums.py",),
        ("answer.py", "more.py"),
        ("sums.py", "test_sums.py", "README.md"),
        ("src/sums.py", "tests/test_a.py"),
    ],
)
def test_a_folder_of_bare_files_is_graded_as_an_answer(workspace: Workspace, names: tuple[str, ...]) -> None:
    folder = bare(workspace, *names)
    assert set(marks(workspace, folder).values()) == {"passed"}
    assert not (workspace.root / "my-kernels" / "submission.toml").exists()
    assert not workspace.records_folder.exists()


def test_the_entry_of_a_folder_is_named_where_several_files_could_be_it(workspace: Workspace) -> None:
    folder = bare(workspace, "one.py", "two.py")
    done = called(workspace.root, "grade", folder, "--challenge", CHALLENGE_ID)
    assert done.returncode == 2 and "one.py, two.py" in done.stderr and "--entry FILE" in done.stderr
    assert set(marks(workspace, folder, "--entry", "two.py").values()) == {"passed"}
    done = called(workspace.root, "grade", folder, "--challenge", CHALLENGE_ID, "--entry", "three.py")
    assert done.returncode == 2 and "holds no file 'three.py'" in done.stderr


def test_the_command_that_repeats_a_criterion_names_the_path_given(workspace: Workspace) -> None:
    folder = bare(workspace, "one.py", "two.py")
    done = called(workspace.root, "grade", folder, "--challenge", CHALLENGE_ID, "--entry", "two.py")
    command = f"harness grade {folder} --entry two.py --challenge {CHALLENGE_ID} --criterion CRITERION --seed "
    assert command in " ".join(done.stdout.split())


def test_a_bare_folder_without_its_challenge_names_the_command(workspace: Workspace) -> None:
    folder = bare(workspace, "one.py")
    done = called(workspace.root, "grade", folder)
    assert done.returncode == 2 and f"harness grade {folder} --challenge CHALLENGE" in done.stderr
    submitted = str(add_submission(workspace, "m", REFERENCE))
    done = called(workspace.root, "grade", submitted, "--challenge", "beam_search")
    assert done.returncode == 2 and f"answers {CHALLENGE_ID}, as its submission.toml says" in done.stderr
    done = called(workspace.root, "grade", submitted, "--entry", "answer.py")
    assert done.returncode == 2 and "--entry names a file" in done.stderr
