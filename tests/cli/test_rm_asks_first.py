"""`harness rm` says what goes before it removes anything, and removes nothing that was not agreed to."""

import io
import sys
from pathlib import Path

import pytest
from cli_runs import Run, Submit


class Terminal(io.StringIO):
    """Somebody types here."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(submit: Submit) -> Path:
    return submit("one")


@pytest.mark.parametrize(("typed", "gone"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_what_is_typed_decides(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, typed: str, gone: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    done = run("rm", "one/rows")
    assert done.returncode == 0
    assert "submissions/one/rows: 2 files" in done.stderr
    assert folder.exists() is not gone
    assert ("nothing was removed" in done.stderr) is not gone


def test_where_nobody_can_be_asked_nothing_goes_without_yes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert run("rm", "one").returncode == 2
    assert folder.exists()
    assert run("rm", "one", "--yes").stdout == "removed one/rows\n"
    assert not folder.parent.exists()


def test_an_unknown_name_is_told_with_the_nearest(run: Run, folder: Path) -> None:
    done = run("rm", "one/row", "--yes")
    assert done.returncode == 2
    assert "did you mean 'one/rows'" in done.stderr
    assert folder.exists()
