"""The states of the files that measured marks are made from, found without reading any."""

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
from harness.model.submission_name import SubmissionName
from harness.signatures import PUBLIC_SUFFIX, SUFFIX
from harness.stored_files import remedy
from harness.workspace import Workspace

SETTLED_SECONDS = 2.0
"""A file changed more recently may change again without its times showing it: nothing is remembered of it."""
_log = logging.getLogger(__name__)
SOURCES = (".py", ".j2", ".css", ".js")


@dataclass(frozen=True)
class FileState:
    """One file.

    Attributes:
        text: size, times and place on disk.
        settled: whether every later change will show in these.
    """

    text: str
    settled: bool


@dataclass(frozen=True)
class RecordState(FileState):
    """The file of one record, and the signature beside it.

    Attributes:
        name: its path below their folder.
        submission: what it is of.
        signed: whether there is a signature.
    """

    name: str
    submission: SubmissionName
    signed: bool

    @property
    def challenge(self) -> str:
        """What was answered."""
        return self.submission.challenge


@dataclass(frozen=True)
class FileStates:
    """All of them at one moment.

    Attributes:
        source: of the harness itself and of the trusted keys: others may say something else.
        rubrics: by id of the challenge.
        records: by challenge, model and attempt.
        absent: names of those with no folder under submissions/.
    """

    source: str
    rubrics: dict[str, FileState]
    records: tuple[RecordState, ...]
    absent: frozenset[str]

    @classmethod
    def of(cls, workspace: Workspace) -> Self:
        """Those of a workspace now."""
        rubrics = {id: folder / "challenge.toml" for id, folder in sorted(workspace.challenge_folders().items())}
        by_name = sorted(_records(workspace.records_folder), key=lambda r: (r.challenge, r.submission.order))
        records, there = tuple(by_name), _Folders(str(workspace.submissions_folder))
        return cls(
            _source(workspace),
            {id: _state(os.stat(path)) for id, path in rubrics.items()},
            records,
            frozenset(file.name for file in records if file.submission not in there),
        )

    @classmethod
    def of_one(cls, workspace: Workspace, name: SubmissionName) -> Self:
        """That of one record, which has no signature yet, and its rubric; `absent` is left out."""
        folders = workspace.challenge_folders()
        rubrics = {name.challenge: folders[name.challenge] / "challenge.toml"} if name.challenge in folders else {}
        record = _record(name, os.stat(workspace.records_folder / name.record))
        states = {id: _state(os.stat(path)) for id, path in rubrics.items()}
        return cls(_source(workspace), states, (record,), frozenset())

    @cached_property
    def settled(self) -> bool:
        """Whether every later change of any will show."""
        return all(file.settled for file in (*self.rubrics.values(), *self.records))

    @property
    def text(self) -> str:
        """Changes when any of them changes, comes or goes."""
        rubrics = (f"{id}\0{file.text}" for id, file in self.rubrics.items())
        records = (f"{file.name}\0{file.text}" for file in self.records)
        return digest([self.source, *rubrics, *records, *sorted(self.absent)])

    def of_record(self, file: RecordState) -> str:
        """Changes when a record, its rubric or the harness changes."""
        return self._of_rubrics[file.challenge] + file.text

    @cached_property
    def answers(self) -> Mapping[tuple[str, str], str]:
        """By challenge and model: changes when any of its records does, or the folder of a submission goes or comes."""
        states: dict[tuple[str, str], list[str]] = {}
        for file in self.records:
            text = f"{file.text} absent" if file.name in self.absent else file.text
            states.setdefault((file.challenge, file.submission.model), [self._of_rubrics[file.challenge]]).append(text)
        return {answer: digest(texts) for answer, texts in states.items()}

    @cached_property
    def _of_rubrics(self) -> Mapping[str, str]:
        """What the states of all records of a challenge begin with."""
        rubrics = {id: file.text for id, file in self.rubrics.items()}
        return {id: f"{self.source} {rubrics.get(id, '')} " for id in {file.challenge for file in self.records}}

    def settled_record(self, file: RecordState) -> bool:
        """Whether every later change of a record or its rubric will show."""
        return file.settled and self.settled_rubric(file)

    def settled_rubric(self, file: RecordState) -> bool:
        """Whether every later change of a record's rubric will show."""
        rubric = self.rubrics.get(file.challenge)
        return rubric is None or rubric.settled


def date_back(path: Path) -> None:
    """Have a file that was written just now seem settled: whoever writes to it from here on sets a later time.

    Raises:
        OSError: it cannot be done.
    """
    then = time.time_ns() - 2 * int(1e9 * SETTLED_SECONDS)
    os.utime(path, ns=(then, then))


def digest(texts: Iterable[str]) -> str:
    """A hash of texts that hold no line breaks."""
    return hashlib.sha256("\n".join(texts).encode(errors="surrogateescape")).hexdigest()


class _Folders:
    """Which submissions have a folder; each folder of many is listed once, for a look at each one takes seconds."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._listed: dict[str, frozenset[str]] = {}

    def __contains__(self, name: SubmissionName) -> bool:
        place, last = (name.model, name.challenge) if name.attempt is None else (name.answer, f"attempt-{name.attempt}")
        if place not in self._listed:
            self._listed[place] = frozenset(e.name for e in _entries(f"{self._root}/{place}") if _is_folder(e))
        return last in self._listed[place]


def _records(folder: Path) -> Iterator[RecordState]:
    for challenge in _entries(folder):
        if _is_folder(challenge):
            entries = _entries(challenge)
            yield from _files(challenge.name, entries)
            for file in entries:
                if _is_folder(file):
                    yield from _files(challenge.name, _entries(file), file.name)


def _files(challenge: str, entries: list[os.DirEntry[str]], model: str | None = None) -> Iterator[RecordState]:
    """The records in the folder of a challenge, or of a model's attempts at it, each with the signature beside it."""
    signatures = {file.name: _status(file) for file in entries if file.name.endswith(SUFFIX)}
    for file in entries:
        if named := SubmissionName.of_record_file(challenge, file.name, model):
            yield _record(named, _status(file), signatures.get(file.name + SUFFIX))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _status(file: os.DirEntry[str]) -> os.stat_result:
    """Return the status of the file; of a link that leads nowhere, its own."""
    try:
        return file.stat()
    except OSError:
        return file.stat(follow_symlinks=False)


def _source(workspace: Workspace) -> str:
    return digest([_own_source(), str(workspace.keys_folder.is_dir()), *map(_stated, _keys(workspace))])


@cache
def _own_source() -> str:
    """That of the harness as this process found it when it first asked."""
    return digest(map(_stated, sorted(_sources())))


def _stated(path: str) -> str:
    return f"{path}\0{_text(os.stat(path))}"


def _keys(workspace: Workspace) -> list[str]:
    return sorted(map(str, workspace.keys_folder.glob(f"*{PUBLIC_SUFFIX}")))


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _log.warning("left out: %s: cannot be listed: %s\n  %s", os.fspath(folder), error.strerror, remedy(error))
        return []


def _sources() -> Iterator[str]:
    for folder, _, names in os.walk(Path(harness.__file__).parent):
        yield from (os.path.join(folder, name) for name in names if name.endswith(SOURCES))


def _record(named: SubmissionName, status: os.stat_result, signature: os.stat_result | None = None) -> RecordState:
    text, settled = _text(status), _is_settled(status)
    if signature is not None:
        text, settled = f"{text} {_text(signature)}", settled and _is_settled(signature)
    return RecordState(text, settled, named.record, named, signature is not None)


def _state(status: os.stat_result) -> FileState:
    return FileState(_text(status), _is_settled(status))


def _is_settled(status: os.stat_result) -> bool:
    return time.time() - status.st_ctime > SETTLED_SECONDS


def _text(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
