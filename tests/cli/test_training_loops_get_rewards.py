"""`harness.grade` and `harness.grade_many` give training loops records, as the documentation shows it."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import ABOUT, ZEROS, Submit

import harness
from harness.errors import NotFoundError, SpecError
from harness.model import Record, Status
from tests.commands import environment

DOCUMENT = Path(__file__).parents[2] / "docs" / "training-loops.md"


@pytest.fixture(autouse=True)
def _workspace(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_WORKSPACE", str(root))


@pytest.fixture
def right(root: Path) -> str:
    return (root / "references" / "rows" / "reference.py").read_text()


def documented(name: str) -> Any:
    """A function of the documentation, from the block that defines it."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if f"def {name}(" in block]
    names: dict[str, Any] = {}
    exec(compile(block, str(DOCUMENT), "exec"), names)
    return names[name]


def test_the_documented_reward_orders_answers(right: str, root: Path) -> None:
    reward = documented("reward")
    overflows = right.replace("np.exp(logits - largest)", "np.exp(logits)")
    good, wrong, null, broken = (reward(a, "rows") for a in (right, overflows, ZEROS, "def softmax(:\n"))
    assert 0 <= broken <= null < wrong < good <= 1
    assert not (root / "reports").exists()


def test_the_documented_batch_keeps_its_order(right: str) -> None:
    first, second, third = documented("rewards")([ZEROS, right, ZEROS], "rows")
    assert first == third < second


def test_records_come_in_the_order_of_the_folders(submit: Submit) -> None:
    folders = [submit(name, source) for name, source in (("b", ZEROS), ("a", None), ("c", ZEROS), ("d", None))]
    records = harness.grade_many([*folders, folders[0]], jobs=2)
    assert [r.model for r in records] == ["b", "a", "c", "d", "b"]


def test_nothing_is_published_unless_asked(submit: Submit, root: Path) -> None:
    folder = submit("good")
    record = harness.grade(folder)
    assert isinstance(record, Record)
    assert not (root / "reports").exists()
    harness.grade(str(folder), publish=True)
    assert (root / "reports" / "records" / "rows" / "good.json").is_file()


def test_a_seed_chosen_by_hand_is_marked(submit: Submit) -> None:
    folder = submit("good")
    first, second, drawn = harness.grade(folder, seed=7), harness.grade(folder, seed=7), harness.grade(folder)
    assert (first.seed, first.ranked) == (second.seed, second.ranked) == (7, False)
    assert first.evidence == second.evidence
    assert drawn.ranked


def test_a_folder_of_bare_code_needs_only_the_challenge(tmp_path: Path, right: str) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "solution.py").write_text(right)
    assert harness.grade(folder, "rows").dimensions["correctness"].score == 100
    assert sorted(p.name for p in folder.iterdir()) == ["solution.py"]
    (folder / "more.py").write_text("")
    with pytest.raises(SpecError, match=r"2 \.py files"):
        harness.grade(folder, "rows")
    assert harness.grade(folder, "rows", entry="solution.py").status is Status.GRADED


def test_malformed_input_is_our_exception_before_anything_runs(submit: Submit, tmp_path: Path, root: Path) -> None:
    good, bad = submit("good"), submit("bad", about=ABOUT + "entri = 1\n")
    with pytest.raises(SpecError, match=r"submission\.entri"):
        harness.grade_many([good, bad], on_error="raise")
    assert not (root / ".harness").exists()
    with pytest.raises(SpecError, match="is no folder"):
        harness.grade(tmp_path / "nowhere", "rows")
    with pytest.raises(SpecError, match="not 'other'"):
        harness.grade(good, "other")
    with pytest.raises(NotFoundError, match="holds neither challenges/ nor"):
        harness.grade(good, workspace=tmp_path)


def test_many_processes_may_grade_at_once(submit: Submit, root: Path) -> None:
    folders = [submit("good"), submit("zeros", ZEROS)]
    program = "import sys, harness\nfor f in sys.argv[1:]: print(harness.grade(f).dimensions['correctness'].score)"
    line = [sys.executable, "-c", program, *map(str, folders)]
    processes = [
        subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(root))
        for _ in range(3)
    ]
    outputs = [p.communicate(timeout=120) for p in processes]
    assert [out for out, _ in outputs] == ["100.0\n0.0\n"] * 3, outputs
    assert not [p for p in (root / ".harness").rglob("*") if p.name.startswith(".") and p.is_file()]


def test_what_the_package_offers_is_typed_and_documented() -> None:
    assert {"grade", "grade_many", "Record"} <= set(dir(harness))
    for function in (harness.grade, harness.grade_many):
        assert inspect.getdoc(function)
        hints = inspect.signature(function)
        assert hints.return_annotation is not inspect.Signature.empty
        assert all(p.annotation is not inspect.Parameter.empty for p in hints.parameters.values())
    with pytest.raises(AttributeError, match="grad_many"):
        _ = harness.grad_many


def _huge(folder: Path) -> None:
    with (folder / "data.bin").open("wb") as file:
        file.truncate(40 << 20)


def _linked(folder: Path) -> None:
    (folder / "more.py").symlink_to("/etc/passwd")


def _backslash(folder: Path) -> None:
    (folder / "a\\b.txt").touch()


@pytest.mark.parametrize("spoil", [_huge, _linked, _backslash])
def test_files_that_cannot_be_graded_earn_0_alone_and_in_a_batch(submit: Submit, spoil: Callable[[Path], None]) -> None:
    folder = submit("bad")
    spoil(folder)
    alone, (batched, good) = harness.grade(folder), harness.grade_many([folder, submit("good")], jobs=2)
    assert (alone.reward, alone.status) == (batched.reward, batched.status) == (0, Status.BUILD_FAILED)
    assert alone.build == batched.build and alone.error is None
    assert good.status is Status.GRADED


def test_a_fault_of_the_files_stays_theirs_in_another_process(submit: Submit) -> None:
    """The entry is in a folder that is no part of the answer, which shows once it is graded."""
    folder = submit("bad")
    (folder / "reviews").mkdir()
    (folder / "answer.py").rename(folder / "reviews" / "answer.py")
    path = folder / "submission.toml"
    path.write_text(path.read_text().replace("answer.py", "reviews/answer.py"))
    good = submit("good")
    rewards = [[r.reward for r in harness.grade_many([folder, good], jobs=jobs)] for jobs in (1, 2)]
    assert [first for first, _ in rewards] == [0, 0]


def test_an_exception_under_one_folder_reaches_no_other(
    submit: Submit, tmp_path: Path, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(place: Path, *given: Any) -> str:
        raise OSError(5, "Input/output error")

    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "solution.py").write_text(right)
    monkeypatch.setattr("harness.api.render_submission", failing)
    bad, good = harness.grade_many([bare, submit("good")], "rows", jobs=1)
    assert (bad.status, bad.reward) == (Status.JUDGE_ERROR, None) and good.status is Status.GRADED
