"""Disk use of past runs, and removal of unused files."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator import archive, kept_programs
from harness.errors import StoreError
from harness.mutation.trials.journal import trials_folder, version_of
from harness.probing.challenge_code.code import ChallengeCode
from harness.store.record_store import Store
from harness.workspace import COLLECTIONS, Workspace
from harness.workspace.stored_files import remedy

IN_USE_SECONDS = 3600.0
"""Seconds since the last use during which a grade of another version may still need a file."""


@dataclass(frozen=True)
class DiskUse:
    """Disk use of one kind; `used` is the latest."""

    kind: str
    path: Path
    count: int
    size: int
    used: datetime | None


@dataclass(frozen=True)
class Unused:
    """A file, folder or set of records that the current version does not use.

    Attributes:
        path: for records, the store.
        size: bytes; 0 for records.
        rows: key and reusability of each record.
    """

    kind: str
    path: Path
    size: int
    rows: tuple[tuple[str, int], ...] = ()


def disk_uses(workspace: Workspace) -> list[DiskUse]:
    """Return the disk use of the workspace's local folder and the user's cache, by kind.

    Raises:
        PrerequisiteError: the user's cache folder cannot be made.
    """
    store = Store(workspace).path
    return [
        _measure_use("records made here", store, list(store.parent.glob(f"{store.name}*"))),
        _measure_use("trials of checks", trials_folder(workspace), _list_entries(trials_folder(workspace))),
        _measure_use(
            "fetched collections",
            workspace.cache_folder / COLLECTIONS,
            _list_entries(workspace.cache_folder / COLLECTIONS),
        ),
        _measure_use("compiled runtimes", archive.runtimes_folder(), list(_list_runtimes())),
        _measure_use("runtime objects", archive.runtimes_folder() / archive.OBJECTS, list(_list_objects())),
        _measure_use("checked programs", kept_programs.folder(), _list_entries(kept_programs.folder())),
        _measure_use("zig's cache", archive.cache_folder() / "zig", _list_entries(archive.cache_folder() / "zig")),
    ]


def list_prunable(workspace: Workspace, days: float) -> list[Unused]:
    """Return what the current version does not use, idle for `days` days, by kind.

    Unused are records other than the latest of each submission, trials of other sources of harness or challenge,
    and runtimes of other versions or compilers.

    Raises:
        HarnessError: the store, a challenge or the user's cache folder is unreadable.
    """
    compiler = host_compiler()
    current = archive.in_use(compiler) if compiler else frozenset[str]()
    versions = {version_of(ChallengeCode(workspace, workspace.challenge(id))) for id in workspace.challenges()}
    old_trials = (p for p in _list_entries(trials_folder(workspace)) if p.stem.rpartition("-")[2] not in versions)
    files = [
        *(("trials of a check", path) for path in old_trials),
        *(("compiled runtime", path) for path in _list_runtimes() if path.name not in current),
        *(("runtime object", path) for path in _list_objects() if path.name not in current),
        *(("checked program", path) for path in _list_entries(kept_programs.folder())),
    ]
    found = [Unused(kind, path, _measure_size(path)) for kind, path in files if _is_idle(path, days)]
    store = Store(workspace)
    rows = store.list_older(datetime.now(UTC) - timedelta(days=days))
    return [*found, *([Unused("superseded records", store.path, 0, tuple(rows))] if rows else [])]


def prune(workspace: Workspace, found: Iterable[Unused]) -> None:
    """Remove unused files and records; grades may run meanwhile.

    Raises:
        StoreError: a file or record cannot be removed.
    """
    for one in found:
        if one.rows:
            Store(workspace).discard(one.rows)
            continue
        try:
            if archive.runtimes_folder() in one.path.parents:
                with FileLock(archive.runtimes_folder() / archive.LOCK):  # grades that make runtimes hold this lock
                    _remove(one.path)
            else:
                _remove(one.path)
        except OSError as error:
            raise StoreError(f"{one.path}: cannot be removed: {error.strerror}\n  {remedy(error)}") from error


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink(missing_ok=True)
    elif _is_idle(path, 0):  # otherwise a grade has used it meanwhile
        aside = path.with_name(f".removing-{path.name}-{os.getpid()}")
        path.rename(aside)  # in one step, so that a grade finds all of it or none
        shutil.rmtree(aside)


def _measure_use(kind: str, place: Path, paths: list[Path]) -> DiskUse:
    times = [t for path in paths if (t := _get_last_use(path))]
    used = datetime.fromtimestamp(max(times), UTC).replace(microsecond=0) if times else None
    return DiskUse(kind, place, len(paths), sum(map(_measure_size, paths)), used)


def _list_entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _list_runtimes() -> Iterator[Path]:
    return (p for p in _list_entries(archive.runtimes_folder()) if p.is_dir() and p.name != archive.OBJECTS)


def _list_objects() -> list[Path]:
    return _list_entries(archive.runtimes_folder() / archive.OBJECTS)


def _get_last_use(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _is_idle(path: Path, days: float) -> bool:
    return time.time() - _get_last_use(path) > max(days * 86_400, IN_USE_SECONDS)


def _measure_size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_file())
