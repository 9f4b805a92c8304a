"""What runs leave on disk, and removing what this version of the harness no longer uses."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock

from harness.cuda import archive, kept_programs
from harness.cuda.host_compiler import host_compiler
from harness.errors import StoreError
from harness.probing.code import ChallengeCode
from harness.probing.trial_journal import trials_folder, version_of
from harness.running.store import Store
from harness.stored_files import remedy
from harness.workspace import COLLECTIONS, Workspace

IN_USE_SECONDS = 3600.0
"""What was used so recently may be in use by a grade of another version: it stays, whatever the bound is."""


@dataclass(frozen=True)
class DiskUse:
    """What lies on disk of one kind.

    Attributes:
        kind: what it is.
        path: where.
        count: how many there are.
        size: bytes.
        used: when one of them was last used; None where there is none.
    """

    kind: str
    path: Path
    count: int
    size: int
    used: datetime | None


@dataclass(frozen=True)
class Unused:
    """Something that the current version no longer uses.

    Attributes:
        kind: what it is.
        path: the file or folder; of records, that of the store.
        size: bytes; of records, in the store.
        rows: of records, their keys and reusabilities.
    """

    kind: str
    path: Path
    size: int
    rows: tuple[tuple[str, int], ...] = ()


def disk_uses(workspace: Workspace) -> list[DiskUse]:
    """What runs have left in the workspace's local folder and in the user's cache, by kind.

    Raises:
        PrerequisiteError: the user's cache folder cannot be made.
    """
    store = Store(workspace).path
    return [
        _use("records made here", store, list(store.parent.glob(f"{store.name}*"))),
        _use("trials of checks", trials_folder(workspace), _entries(trials_folder(workspace))),
        _use(
            "fetched collections", workspace.cache_folder / COLLECTIONS, _entries(workspace.cache_folder / COLLECTIONS)
        ),
        _use("compiled runtimes", archive.runtimes_folder(), list(_runtimes())),
        _use("runtime objects", archive.runtimes_folder() / archive.OBJECTS, list(_objects())),
        _use("checked programs", kept_programs.folder(), _entries(kept_programs.folder())),
        _use("zig's cache", archive.cache_folder() / "zig", _entries(archive.cache_folder() / "zig")),
    ]


def unused(workspace: Workspace, days: float) -> list[Unused]:
    """What the current version does not use and nobody has used for so many days, by kind.

    Of records these are all but the latest of each submission; of trials those of other sources of harness or
    challenge; of runtimes those of other versions or compilers.

    Raises:
        HarnessError: the store, a challenge or the user's cache folder cannot be read.
    """
    compiler = host_compiler()
    current = archive.in_use(compiler) if compiler else frozenset[str]()
    versions = {version_of(ChallengeCode(workspace, workspace.challenge(id))) for id in workspace.challenges()}
    old_trials = (p for p in _entries(trials_folder(workspace)) if p.stem.rpartition("-")[2] not in versions)
    files = [
        *(("trials of a check", path) for path in old_trials),
        *(("compiled runtime", path) for path in _runtimes() if path.name not in current),
        *(("runtime object", path) for path in _objects() if path.name not in current),
        *(("checked program", path) for path in _entries(kept_programs.folder())),
    ]
    found = [Unused(kind, path, _size(path)) for kind, path in files if _idle(path, days)]
    store = Store(workspace)
    rows = store.superseded(datetime.now(UTC) - timedelta(days=days))
    return [*found, *([Unused("superseded records", store.path, 0, tuple(rows))] if rows else [])]


def prune(workspace: Workspace, found: Iterable[Unused]) -> None:
    """Remove them; grades may go on meanwhile.

    Raises:
        StoreError: something cannot be removed.
    """
    for one in found:
        if one.rows:
            Store(workspace).discard(one.rows)
            continue
        try:
            if archive.runtimes_folder() in one.path.parents:
                with FileLock(archive.runtimes_folder() / archive.LOCK):  # nobody makes one of them at the same time
                    _remove(one.path)
            else:
                _remove(one.path)
        except OSError as error:
            raise StoreError(f"{one.path}: cannot be removed: {error.strerror}\n  {remedy(error)}") from error


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink(missing_ok=True)
    elif _idle(path, 0):  # else a grade took it up meanwhile
        aside = path.with_name(f".removing-{path.name}-{os.getpid()}")
        path.rename(aside)  # in one step: nobody finds half of it
        shutil.rmtree(aside)


def _use(kind: str, place: Path, paths: list[Path]) -> DiskUse:
    times = [t for path in paths if (t := _used(path))]
    used = datetime.fromtimestamp(max(times), UTC).replace(microsecond=0) if times else None
    return DiskUse(kind, place, len(paths), sum(map(_size, paths)), used)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _runtimes() -> Iterator[Path]:
    return (p for p in _entries(archive.runtimes_folder()) if p.is_dir() and p.name != archive.OBJECTS)


def _objects() -> list[Path]:
    return _entries(archive.runtimes_folder() / archive.OBJECTS)


def _used(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _idle(path: Path, days: float) -> bool:
    return time.time() - _used(path) > max(days * 86_400, IN_USE_SECONDS)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_file())
