"""`harness try` imports replies, grades them and writes a page, in a workspace of its own: no board changes."""

import json
import subprocess
from pathlib import Path

import pytest
from cli_runs import ZEROS

from tests.commands import called


def reply(source: str) -> str:
    return f"Here it is.\n\n```python answer.py\n{source}```\n"


@pytest.fixture
def place(root: Path, tmp_path: Path) -> Path:
    """A folder outside the workspace with a right reply, a wrong one, and one without code."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "right.md").write_text(reply((root / "references" / "rows" / "reference.py").read_text()))
    (place / "wrong.md").write_text(reply(ZEROS))
    (place / "none.md").write_text("I cannot do that.\n")
    return place


def tried(root: Path, place: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return called(root, "try", *words, "--challenge", "rows", cwd=place)


def marks(place: Path, folder: str = "tried") -> dict[str, float | None]:
    records = (place / folder / "reports" / "records" / "rows").glob("*.json")
    return {path.stem: json.loads(path.read_text())["overall"]["score"] for path in records}


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".harness" not in path.parts}


def test_replies_become_a_page_and_no_board_changes(root: Path, place: Path) -> None:
    before = files(root)
    told = tried(root, place, "right.md", "wrong.md", "none.md")
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == "open tried/reports/index.html"
    page = (place / "tried" / "reports" / "index.html").read_text()
    found = marks(place)
    assert all(model in page for model in ("right", "wrong", "none")) and set(found) == {"right", "wrong", "none"}
    assert found["right"] and found["wrong"] is not None and found["right"] > found["wrong"] > (found["none"] or 0)
    assert files(root) == before


def test_a_second_run_replaces_a_reply_and_keeps_the_others(root: Path, place: Path) -> None:
    assert tried(root, place, "none.md", "wrong.md").returncode == 0
    first = marks(place)
    (place / "none.md").write_text((place / "right.md").read_text())
    told = tried(root, place, "none.md")
    assert told.returncode == 0, told.stderr
    second = marks(place)
    assert (first["none"] or 0) < (second["none"] or 0) and second["wrong"] == first["wrong"]
    assert "wrong" in (place / "tried" / "reports" / "index.html").read_text()


def test_equal_names_are_told_apart(root: Path, place: Path) -> None:
    (place / "other").mkdir()
    (place / "other" / "none.md").write_text("Nor can I.\n")
    assert tried(root, place, "none.md", "other/none.md").returncode == 0
    assert set(marks(place)) == {"none", "none-2"}


def test_a_reply_that_cannot_be_read_costs_itself(root: Path, place: Path) -> None:
    told = tried(root, place, "none.md", "missing.md")
    assert told.returncode == 2 and "error: missing.md: cannot be read" in told.stderr
    assert set(marks(place)) == {"none"} and "open tried/reports/index.html" in told.stdout


def test_a_workspace_of_somebody_is_left_alone(root: Path, place: Path) -> None:
    before = files(root)
    told = tried(root, place, "none.md", "--into", str(root))
    assert told.returncode == 2 and "is a workspace already" in told.stderr
    assert files(root) == before
    assert called(root, "try", "none.md", "--challenge", "row", cwd=place).returncode == 2
    assert not (place / "tried").exists()
