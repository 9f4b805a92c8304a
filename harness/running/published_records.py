"""The records under reports/records/: which were checked, and the views made of them, remembered in the store."""

import contextlib
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from harness.errors import StoreError
from harness.running.database import Database
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.model import Challenge, Record

SETTLED_SECONDS = 2.0
"""A file changed more recently may change again without its times showing it: nothing is remembered of it."""
TABLES = """
CREATE TABLE IF NOT EXISTS published (path TEXT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS views (name TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL)
"""


class PublishedRecords:
    """The published records of a workspace.

    What was found about them is remembered in the store, by the state of their files: size, times and place on disk.
    A store that cannot be used makes reading slower, never wrong.
    """

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self._workspace = workspace
        self._database = database

    def records(self) -> list["Record"]:
        """All of them, sorted by challenge and model.

        Raises:
            StoreError: one of them cannot be read, or its marks do not follow from its evidence.
        """
        records = self._workspace.records()
        self.check(records)
        return records

    def record(self, name: str) -> "Record":
        """The record of `MODEL/CHALLENGE`, or the one in a file.

        Raises:
            NotFoundError: there is none.
            StoreError: it cannot be read, or its marks do not follow from its evidence.
        """
        record = self._workspace.record(name)
        if record.challenge in self._workspace.challenges():
            _refuse_edited(name, self._workspace.challenge(record.challenge), record)
        return record

    def check(self, records: Iterable["Record"]) -> None:
        """Recompute the marks of the records that changed since they were last checked.

        Raises:
            StoreError: the marks of one do not follow from its evidence.
        """
        rubrics = {id: self._workspace.challenge(id) for id in self._workspace.challenges()}
        known = dict(self._rows("SELECT path, state FROM published"))
        source = _state(_source_files())
        checked = []
        for record in records:
            path = self._workspace.record_path(record.model, record.challenge)
            rubric = rubrics.get(record.challenge)
            if rubric is None:
                continue
            name = str(path.relative_to(self._workspace.root))
            state = source + _state([path, self._workspace.root / "challenges" / rubric.id / "challenge.toml"])
            if known.get(name) == state:
                continue
            _refuse_edited(str(path), rubric, record)
            if _settled([path]):
                checked.append((name, state))
        self._remember("INSERT OR REPLACE INTO published VALUES (?, ?)", checked)

    def view(self, name: str, make: Callable[[], Sequence[str]]) -> Sequence[str]:
        """Texts made from nothing but published records and rubrics: made again only when one of them changed.

        Args:
            name: of the view, with everything else that it depends on.
            make: makes the texts.
        """
        files = self._files()
        state = _state(files)
        kept = self._rows("SELECT body FROM views WHERE name = ? AND state = ?", (name, state))
        if kept:
            texts: list[str] = json.loads(zlib.decompress(kept[0][0]))
            return texts
        settled = _settled(files)
        made = make()
        if settled and _state(self._files()) == state:  # nothing changed while it was made
            row = (name, state, zlib.compress(json.dumps(made).encode()))
            self._remember("INSERT OR REPLACE INTO views VALUES (?, ?, ?)", [row])
        return made

    def _files(self) -> list[Path]:
        """Everything that views are made of."""
        root = self._workspace.root
        return [
            *sorted([*root.glob("reports/records/*/*.json"), *root.glob("challenges/*/challenge.toml")]),
            *_source_files(),
        ]

    def _rows(self, query: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.read(lambda c: c.execute(query, values).fetchall(), [])
        except StoreError:
            return []

    def _remember(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with contextlib.suppress(StoreError):
                self._database.write(lambda c: c.executemany(statement, rows))


def _refuse_edited(place: str, rubric: "Challenge", record: "Record") -> None:
    """Recompute the marks of a record.

    Raises:
        StoreError: they do not follow from its evidence.
    """
    if contradiction := _contradiction(rubric, record):
        raise StoreError(f"{place}: {contradiction}\n  harness grade {record.name} --force makes a new one")


def _contradiction(rubric: "Challenge", record: "Record") -> str:
    """What a record says that its evidence does not bear out; empty where nothing does.

    Of a record of another version of the rubric only the ceilings can be checked: its weights are not known.
    """
    from harness.model import Status
    from harness.scoring import score
    from harness.scoring.gates import highest_overall

    built = record.status is not Status.BUILD_FAILED
    if (record.overall.score or 0) > (top := highest_overall(record.evidence, built=built)):
        return f"overall does not follow from the evidence: it is {record.overall.score:g}, and can be {top:g} at most"
    stated = {(e.criterion, e.dimension, e.severity) for e in record.evidence}
    if stated != {(c.id, c.dimension, c.severity) for c in rubric.criteria} or len(stated) != len(record.evidence):
        return ""
    scored = score(rubric, record.evidence, built=built)
    for field in ("overall", "dimensions", "gates"):
        if getattr(record, field) != getattr(scored, field):
            return f"{field} does not follow from the evidence; the file was changed by hand or by another program"
    return ""


def _source_files() -> list[Path]:
    """The harness itself: another version may say something else."""
    return sorted(p for p in Path(harness.__file__).parent.rglob("*") if p.suffix in (".py", ".j2", ".css", ".js"))


def _state(files: Iterable[Path]) -> str:
    """A hash that changes when a file changes, comes or goes, without reading any."""
    seen = hashlib.sha256()
    for path in files:
        try:
            status = path.stat()
        except OSError:
            continue
        seen.update(f"{path}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}\n".encode())
    return seen.hexdigest()


def _settled(files: Iterable[Path]) -> bool:
    """Whether all changed long enough ago that their times tell every later change."""
    now = time.time()
    return all(now - path.stat().st_ctime > SETTLED_SECONDS for path in files)
