"""Many records that changed are read by several processes; the board and what is refused are those of one process."""

import os
import time
from pathlib import Path

import pytest

from harness.model import Provenance, Record
from harness.report.views.board.scoreboard import measured_scoreboard
from harness.store import indexing
from harness.store.file_states import SETTLED_SECONDS
from harness.store.record_store import Store
from harness.workspace import Workspace
from tests.written import as_json

BUNDLED = Path(__file__).resolve().parents[2]
ANSWERS = [(model, attempt) for model in ("a", "b", "c") for attempt in (1, 2)]


@pytest.fixture
def board(tmp_path: Path) -> Workspace:
    """Three models with two attempts, none of them read yet, all long enough on disk to be relied on."""
    workspace = Workspace(tmp_path)
    (tmp_path / "challenges").symlink_to(BUNDLED / "challenges")
    record = next(one for one in Workspace(BUNDLED).records() if one.challenge == "kv_cache")
    for model, attempt in ANSWERS:
        other = {"model": model, "attempt": attempt, "origin": None, "provenance": Provenance.MODEL_OUTPUT}
        path = workspace.record_path(model, "kv_cache", attempt)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record.model_copy(update={**other, "outside": True}).to_json())
    time.sleep(SETTLED_SECONDS + 0.2)
    return workspace


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records that this process reads itself; two processes are started for two records and more."""
    monkeypatch.setattr(indexing, "MANY", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    read: list[str] = []
    whole = Workspace.record_in

    def record_in(workspace: Workspace, path: Path) -> Record:
        read.append(path.name)
        return whole(workspace, path)

    monkeypatch.setattr(Workspace, "record_in", record_in)
    return read


def test_all_are_read_by_the_others_and_the_board_is_the_same(board, read_here, monkeypatch):
    side_by_side = as_json(measured_scoreboard(Store(board).published.read_marks()))
    assert read_here == []
    monkeypatch.setattr(indexing, "MANY", 1000)
    board.cache_folder.rename(board.root / "kept")
    assert side_by_side == as_json(measured_scoreboard(Store(board).published.read_marks()))
    assert len(read_here) == len(ANSWERS)


def test_what_the_others_refuse_is_left_out_and_named(board, read_here, caplog):
    path = board.record_path("b", "kv_cache", 2)
    path.write_text("{")
    assert Store(board).published.read_marks().left_out == ("b/kv_cache/attempt-2",)
    assert f"left out: {path}: is not a record" in caplog.text and read_here == [path.name]


def test_few_records_start_no_process(board, read_here, monkeypatch):
    monkeypatch.setattr(indexing, "MANY", len(ANSWERS) + 1)
    Store(board).published.read_marks()
    assert len(read_here) == len(ANSWERS)
