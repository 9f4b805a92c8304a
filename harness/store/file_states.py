"""States of the files behind measured marks, found from metadata alone."""

import hashlib
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Self

import harness
from harness.model.submissions.name import SubmissionName
from harness.workspace import Workspace
from harness.workspace.signatures import PUBLIC_SUFFIX, SUFFIX
from harness.workspace.stored_files import remedy

SETTLED_SECONDS = 2.0
"""Seconds within which a changed file may change again with equal times; such states are never cached."""
_log = logging.getLogger(__name__)
SOURCES = (".py", ".j2", ".css", ".js")


@dataclass(frozen=True)
class FileState:
    """State of one file; `settled` if every later change will alter `text`."""

    text: str
    settled: bool


@dataclass(frozen=True)
class RecordState(FileState):
    """State of a record's file and its signature.

    Attributes:
        name: path below the folder of records.
    """

    name: str
    submission: SubmissionName
    signed: bool

    @property
    def challenge(self) -> str:
        """Id of the challenge."""
        return self.submission.challenge


@dataclass(frozen=True)
class FileStates:
    """States of all files at one moment.

    Attributes:
        source: state of the harness and the trusted keys.
        rubrics: states by challenge.
        records: states by challenge, model and attempt.
        absent: names of records without a folder under submissions/.
    """

    source: str
    rubrics: dict[str, FileState]
    records: tuple[RecordState, ...]
    absent: frozenset[str]

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Read the current states."""
        rubrics = {id: folder / "challenge.toml" for id, folder in sorted(workspace.challenge_folders().items())}
        by_name = sorted(_scan_records(workspace.records_folder), key=lambda r: (r.challenge, r.submission.order))
        records, there = tuple(by_name), _Folders(str(workspace.submissions_folder))
        return cls(
            _digest_source(workspace),
            {id: _make_state(os.stat(path)) for id, path in rubrics.items()},
            records,
            frozenset(file.name for file in records if file.submission not in there),
        )

    @classmethod
    def of_one(cls, workspace: Workspace, name: SubmissionName) -> Self:
        """Return the states of one new, unsigned record and its rubric."""
        folders = workspace.challenge_folders()
        rubrics = {name.challenge: folders[name.challenge] / "challenge.toml"} if name.challenge in folders else {}
        record = _make_record_state(name, os.stat(workspace.records_folder / name.record))
        states = {id: _make_state(os.stat(path)) for id, path in rubrics.items()}
        return cls(_digest_source(workspace), states, (record,), frozenset())

    @cached_property
    def settled(self) -> bool:
        """True if every file is settled."""
        return all(file.settled for file in (*self.rubrics.values(), *self.records))

    @property
    def text(self) -> str:
        """Digest of all states."""
        rubrics = (f"{id}\0{file.text}" for id, file in self.rubrics.items())
        records = (f"{file.name}\0{file.text}" for file in self.records)
        return digest([self.source, *rubrics, *records, *sorted(self.absent)])

    def of_record(self, file: RecordState) -> str:
        """Return the state of a record, its rubric and the harness."""
        return self._of_rubrics[file.challenge] + file.text

    @cached_property
    def answers(self) -> Mapping[tuple[str, str], str]:
        """Digests by challenge and model, of records, rubric and presence of folders."""
        states: dict[tuple[str, str], list[str]] = {}
        for file in self.records:
            text = f"{file.text} absent" if file.name in self.absent else file.text
            states.setdefault((file.challenge, file.submission.model), [self._of_rubrics[file.challenge]]).append(text)
        return {answer: digest(texts) for answer, texts in states.items()}

    @cached_property
    def _of_rubrics(self) -> Mapping[str, str]:
        rubrics = {id: file.text for id, file in self.rubrics.items()}
        return {id: f"{self.source} {rubrics.get(id, '')} " for id in {file.challenge for file in self.records}}

    def is_record_settled(self, file: RecordState) -> bool:
        """Return whether a record and its rubric are settled."""
        return file.settled and self.is_rubric_settled(file)

    def is_rubric_settled(self, file: RecordState) -> bool:
        """Return whether a record's rubric is settled."""
        rubric = self.rubrics.get(file.challenge)
        return rubric is None or rubric.settled


def date_back(path: Path) -> None:
    """Date a new file back so that it is settled at once: later writers set later times.

    Raises:
        OSError: the times cannot be set.
    """
    then = time.time_ns() - 2 * int(1e9 * SETTLED_SECONDS)
    os.utime(path, ns=(then, then))


def digest(texts: Iterable[str]) -> str:
    """Hash texts without line breaks."""
    return hashlib.sha256("\n".join(texts).encode(errors="surrogateescape")).hexdigest()


class _Folders:
    """Submissions with a folder. Lists each parent once: a check per submission would take seconds."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._listed: dict[str, frozenset[str]] = {}

    def __contains__(self, name: SubmissionName) -> bool:
        place, last = (name.model, name.challenge) if name.attempt is None else (name.answer, f"attempt-{name.attempt}")
        if place not in self._listed:
            self._listed[place] = frozenset(e.name for e in _list_entries(f"{self._root}/{place}") if _is_folder(e))
        return last in self._listed[place]


def _scan_records(folder: Path) -> Iterator[RecordState]:
    for challenge in _list_entries(folder):
        if _is_folder(challenge):
            entries = _list_entries(challenge)
            yield from _scan_files(challenge.name, entries)
            for file in entries:
                if _is_folder(file):
                    yield from _scan_files(challenge.name, _list_entries(file), file.name)


def _scan_files(challenge: str, entries: list[os.DirEntry[str]], model: str | None = None) -> Iterator[RecordState]:
    signatures = {file.name: _stat(file) for file in entries if file.name.endswith(SUFFIX)}
    for file in entries:
        if named := SubmissionName.of_record_file(challenge, file.name, model):
            yield _make_record_state(named, _stat(file), signatures.get(file.name + SUFFIX))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # such as a link to itself
        return False


def _stat(file: os.DirEntry[str]) -> os.stat_result:
    try:
        return file.stat()
    except OSError:
        return file.stat(follow_symlinks=False)


def _digest_source(workspace: Workspace) -> str:
    keys = sorted(map(str, workspace.keys_folder.glob(f"*{PUBLIC_SUFFIX}")))
    return digest([_digest_own_source(), str(workspace.keys_folder.is_dir()), *map(_format_file, keys)])


@cache
def _digest_own_source() -> str:
    return digest(map(_format_file, sorted(_list_sources())))


def _format_file(path: str) -> str:
    return f"{path}\0{_format_status(os.stat(path))}"


def _list_entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _log.warning("left out: %s: cannot be listed: %s\n  %s", os.fspath(folder), error.strerror, remedy(error))
        return []


def _list_sources() -> Iterator[str]:
    for folder, _, names in os.walk(Path(harness.__file__).parent):
        yield from (os.path.join(folder, name) for name in names if name.endswith(SOURCES))


def _make_record_state(
    named: SubmissionName, status: os.stat_result, signature: os.stat_result | None = None
) -> RecordState:
    text, settled = _format_status(status), _is_settled(status)
    if signature is not None:
        text, settled = f"{text} {_format_status(signature)}", settled and _is_settled(signature)
    return RecordState(text, settled, named.record, named, signature is not None)


def _make_state(status: os.stat_result) -> FileState:
    return FileState(_format_status(status), _is_settled(status))


def _is_settled(status: os.stat_result) -> bool:
    return time.time() - status.st_ctime > SETTLED_SECONDS


def _format_status(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
