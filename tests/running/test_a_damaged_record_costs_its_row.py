"""A published record that cannot be read is left out and named; every command goes on with the rest and ends well."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import harness
from harness.store.database import Database
from harness.store.record_store import Store
from harness.workspace import Workspace, stored_files
from harness.workspace.stored_files import write_atomically
from tests.commands import called
from tests.toy import CHALLENGE_ID


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(stored_files.LARGEST + 1)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda path: path.write_text(path.read_text()[:1000]),
    "no JSON": lambda path: path.write_text("<html>"),
    "no text": lambda path: path.write_bytes(bytes(range(256))),
    "empty": lambda path: path.write_bytes(b""),
    "a list": lambda path: path.write_text("[]"),
    "another schema": lambda path: path.write_text(json.dumps({"schema_version": 2, "name": "x"})),
    "a newer schema": lambda path: path.write_text(json.dumps({"schema_version": 99})),
    "deep": lambda path: path.write_text("[" * 100_000),
    "huge": make_huge,
    "a folder": replace_by(Path.mkdir),
    "a pipe": replace_by(os.mkfifo),
    "a link to nothing": replace_by(lambda path: path.symlink_to("nowhere")),
    "a link to itself": replace_by(lambda path: path.symlink_to(path)),
}  # fmt: skip
COMMANDS = (
    "scoreboard", "scoreboard", "scoreboard --format json", "report", "show right/scaled_sum",
    "compare right wrong", "export --csv -", "export evidence --jsonl -", "ls submissions", "ls models",
)  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_commands_go_on_without_a_damaged_record(graded_toy, name: str) -> None:
    root = graded_toy.workspace.root
    path = graded_toy.workspace.record_path("wrong", CHALLENGE_ID)
    DAMAGES[name](path)
    for command in COMMANDS:
        ended = called(root, *command.split())
        reads = not command.startswith(("show", "ls"))
        if command == "compare right wrong":  # it needs both
            assert ended.returncode == 2, (command, ended.stderr)
        else:
            assert ended.returncode == 0, (command, ended.stderr)
            assert "right" in ended.stdout or "wrote" in ended.stdout
        assert (f"left out: {path}" in ended.stderr) is reads, command
        assert "Traceback" not in ended.stderr and ended.stderr.count("harness grade --force") <= 1
    assert list(harness.records(root)["model"]) == ["right"]
    ended = called(root, "show", "wrong/scaled_sum")
    assert ended.returncode in (2, 3) and "Traceback" not in ended.stderr


def test_a_damaged_attempt_costs_itself_alone(attempts) -> None:
    root = attempts.workspace.root
    attempts.workspace.record_path("m", CHALLENGE_ID, 2).write_text("{")
    for command in ("scoreboard", f"show m/{CHALLENGE_ID}", "export --csv -"):
        ended = called(root, *command.split())
        assert ended.returncode == 0 and "attempt-2.json: is not a record" in ended.stderr, command


def test_a_record_that_this_user_may_not_read_is_left_out(graded_toy, monkeypatch) -> None:
    path, whole = graded_toy.workspace.record_path("wrong", CHALLENGE_ID), os.open

    def refuse(place, *given, **named):
        if os.fspath(place) == str(path):
            raise PermissionError(13, "Permission denied")
        return whole(place, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    ended = called(graded_toy.workspace.root, "scoreboard")
    assert ended.returncode == 0 and f"left out: {path}: is not a record: [Errno 13] Permission denied" in ended.stderr


def test_a_folder_that_cannot_be_listed_is_named(graded_toy, monkeypatch) -> None:
    folder, whole = graded_toy.workspace.records_folder / CHALLENGE_ID, os.scandir

    def refuse(place):
        if os.fspath(place) == str(folder):
            raise PermissionError(13, "Permission denied")
        return whole(place)

    monkeypatch.setattr(os, "scandir", refuse)
    ended = called(graded_toy.workspace.root, "scoreboard")
    assert ended.returncode == 0 and f"left out: {folder}: cannot be listed: Permission denied" in ended.stderr


def test_many_damaged_records_are_counted(graded_toy) -> None:
    folder = graded_toy.workspace.records_folder / CHALLENGE_ID
    for number in range(25):
        (folder / f"model-{number}.json").write_text("{")
    told = called(graded_toy.workspace.root, "scoreboard").stderr
    assert told.count("is not a record") == 10 and "left out: 15 more records" in told


@pytest.mark.parametrize("body", ["x''", "x'789c'", "substr(body, 1, length(body) / 2)"])
def test_a_damaged_row_of_the_store_costs_its_record(graded_toy, body: str) -> None:
    root = graded_toy.workspace.root
    with sqlite3.connect(Store(graded_toy.workspace).path) as connection:
        connection.execute(f"UPDATE records SET body = {body} WHERE model = 'wrong'")
    ended = called(root, "export", "--made-here", "--csv", "-")
    assert ended.returncode == 0 and "right" in ended.stdout and "wrong" not in ended.stdout
    assert "left out: " in ended.stderr and "1 record that cannot be read" in ended.stderr
    assert called(root, "scoreboard").returncode == 0


def flushed(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[str]:
    """What was flushed to disk and renamed meanwhile, by the names of files, in order."""
    calls: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flush(descriptor: int) -> None:
        calls.append(f"flush {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")
        fsync(descriptor)

    def rename(path: Path, target: Path) -> Path:
        calls.append(f"rename {path.name} {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(Path, "replace", rename)
    act()
    monkeypatch.undo()
    return calls


def test_a_file_is_on_disk_before_it_takes_its_name_and_its_folder_after(tmp_path: Path, monkeypatch) -> None:
    """A machine that loses power leaves the old file or the new one, never an empty one, and no answer is undone."""
    first, second, third = flushed(monkeypatch, lambda: write_atomically(tmp_path / "kept.json", "{}"))
    assert first.startswith("flush .kept.json.") and second == f"rename {first.split()[1]} kept.json"
    assert third == f"flush {tmp_path.name}"


def test_a_published_record_is_on_disk_once_it_is_published(graded_toy, monkeypatch) -> None:
    store, record = Store(graded_toy.workspace), graded_toy.workspace.record(f"right/{CHALLENGE_ID}")
    calls = flushed(monkeypatch, lambda: store.publish(record.model_copy(update={"seed": record.seed + 1})))
    assert [call.split()[0] for call in calls] == ["flush", "rename", "flush"]
    assert calls[1].endswith(" right.json")


def test_a_kept_record_is_on_disk_once_it_is_added(graded_toy, monkeypatch) -> None:
    """SQLite waits for the disk at the end of each transaction, unless it is told not to."""
    path = Store(graded_toy.workspace).path
    levels: list[int] = []
    whole = Database.write

    def write(database: Database, action):
        def look(connection):
            levels.append(connection.execute("PRAGMA synchronous").fetchone()[0])
            return action(connection)

        return whole(database, look)

    monkeypatch.setattr(Database, "write", write)
    Store(Workspace(graded_toy.workspace.root)).add(graded_toy.workspace.record(f"right/{CHALLENGE_ID}"))
    assert levels == [2] and path.exists(), "PRAGMA synchronous = FULL"
