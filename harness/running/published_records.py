"""The records under reports/records/, indexed in the store: only those that changed are read and checked again."""

import contextlib
import gc
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, StoreError
from harness.running import summary_index
from harness.running.database import Database
from harness.running.file_states import FileStates, RecordState, date_back, digest
from harness.running.indexing import Share, index_side_by_side
from harness.running.summary_index import SummaryIndex
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.model import Challenge, Record
    from harness.scoring.duels import Duels, RoundRobin
    from harness.scoring.measured_marks import MeasuredMarks
    from harness.scoring.memory import FigureMemory
    from harness.scoring.record_summary import RecordSummary

TABLES = f"""
{summary_index.TABLES};
DROP TABLE IF EXISTS views;
CREATE TABLE views (name TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS figures (name TEXT PRIMARY KEY, given BLOB NOT NULL, body BLOB NOT NULL)
"""
Row = tuple[Any, ...]


class PublishedRecords:
    """The published records of a workspace.

    What was found about them is remembered in the store, by the state of their files: size, times and place on disk.
    A store that cannot be used makes reading slower, never wrong.
    """

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self._workspace = workspace
        self._database = database

    def records(self) -> list["Record"]:
        """Those whose submissions were not removed, sorted by challenge, model and attempt.

        Raises:
            StoreError: one of them cannot be read, or its marks do not follow from its evidence.
        """
        files = FileStates.of(self._workspace)
        rubrics = self._rubrics(files)
        index = self._index(files)
        known = index.states()
        records, changed = [], {}
        for file in files.records:
            record = self._workspace.record_in(self._path(file))
            if not (file.name in files.absent and record.of_submission):
                records.append(record)
            if known.get(file.name) != files.of_record(file):
                changed[file] = self._checked(file, rubrics, record)
        index.keep(changed)
        return records

    def written(self, record: "Record") -> None:
        """Remember a record that was written just now, so that a board of many need not read it again."""
        try:
            date_back(self._workspace.records_folder / record.submission_name.record)
            files = FileStates.of_one(self._workspace, record.submission_name)
            (file,) = files.records
            self._index(files).keep_written(file, self._checked(file, self._rubrics(files), record))
        except (OSError, HarnessError):
            return  # whoever reads it finds out

    def index(self, share: Share) -> None:
        """Read the records of a share that changed, and keep them; those that are refused are left to `measured`."""
        with _nothing_collected():
            files = FileStates.of(self._workspace)
            rubrics, index = self._rubrics(files), self._index(files)
            known, changed = index.states(), {}
            for file in files.records[share.records]:
                if known.get(file.name) != files.of_record(file):
                    with contextlib.suppress(HarnessError):
                        changed[file] = self._checked(file, rubrics, self._workspace.record_in(self._path(file)))
            index.keep(changed)

    def removed(self) -> tuple[str, ...]:
        """Names of records whose submission was under submissions/ and is gone, sorted; no board shows them.

        Raises:
            StoreError: one of them cannot be read.
        """
        files = FileStates.of(self._workspace)
        absent = (self._workspace.record_in(self._path(f)) for f in files.records if f.name in files.absent)
        return tuple(sorted(record.name for record in absent if record.of_submission))

    def record(self, name: str) -> "Record":
        """The record of `MODEL/CHALLENGE` or `MODEL/CHALLENGE/attempt-N`, or the one in a file.

        Raises:
            NotFoundError: there is none.
            StoreError: it cannot be read, or its marks do not follow from its evidence.
        """
        record = self._workspace.record(name)
        if record.challenge in self._workspace.challenges():
            _refuse_edited(name, self._workspace.challenge(record.challenge), record)
        return record

    def measured(self) -> "MeasuredMarks":
        """The marks of all of them, and the duels; what did not change is read from the store.

        Raises:
            SpecError: a rubric is malformed.
            StoreError: a record cannot be read, or its marks do not follow from its evidence.
        """
        from harness.scoring.memory import NO_MEMORY

        with _nothing_collected():
            return self._measured(FileStates.of(self._workspace), NO_MEMORY)

    def _measured(self, files: FileStates, memory: "FigureMemory") -> "MeasuredMarks":
        from harness.scoring.measured_marks import MeasuredMarks

        rubrics = self._rubrics(files)
        every = self._summaries(files, rubrics)
        removed = tuple(
            s.name for s in every if files.absent and s.submission_name.record in files.absent and s.of_submission
        )
        left_out = {*removed}
        kept = tuple(s for s in every if s.name not in left_out) if removed else every
        return MeasuredMarks(tuple(rubrics.values()), kept, self._duels(files, rubrics, kept), removed, memory)

    def view(self, name: str, make: Callable[[Callable[[], "MeasuredMarks"]], Sequence[str]]) -> Sequence[str]:
        """Texts made from nothing but the measured marks: made again only when a record or a rubric changed.

        Args:
            name: of the view, with everything else that it depends on.
            make: makes the texts; it is given what finds the marks.

        Raises:
            SpecError, StoreError: as `measured`.
        """
        with _nothing_collected():
            return self._view(name, make)

    def _view(self, name: str, make: Callable[[Callable[[], "MeasuredMarks"]], Sequence[str]]) -> Sequence[str]:
        files = FileStates.of(self._workspace)
        state = files.text
        kept = self._rows("SELECT body FROM views WHERE name = ? AND state = ?", (name, state))
        if kept:
            texts: list[str] = json.loads(zlib.decompress(kept[0][0]))
            return texts
        # loaded here: a view that was kept needs no numpy
        from harness.running.kept_figures import KeptFigures

        memory = KeptFigures(self._database, files.source)
        made = make(partial(self._measured, files, memory))
        memory.keep()
        # made from what the files held now or later; if later, their state is another one and nobody asks for this one
        if files.settled:
            self._remember_views([(name, state, zlib.compress(json.dumps(made).encode()))])
        return made

    def _rubrics(self, files: FileStates) -> dict[str, "Challenge"]:
        """The rubrics by id: TOML takes long to read."""
        from harness.model import Challenge

        kept = self._views("rubric")
        rubrics, changed = {}, []
        for id, file in files.rubrics.items():
            name, state = f"rubric {id}", f"{files.source} {file.text}"
            if kept.get(name, ("",))[0] == state:
                rubrics[id] = Challenge.from_json(kept[name][1])
                continue
            rubrics[id] = self._workspace.challenge(id)
            if file.settled:
                changed.append((name, state, rubrics[id].to_json().encode()))
        self._remember_views(changed)
        return rubrics

    def _summaries(self, files: FileStates, rubrics: Mapping[str, "Challenge"]) -> tuple["RecordSummary", ...]:
        index = self._index(files)
        found, changed = index.summaries(), {}
        if index_side_by_side(self._workspace.root, len(files.records) - len(found)):
            found = index.summaries()
        for file in files.records:
            if file.name not in found:
                changed[file] = self._checked(file, rubrics, self._workspace.record_in(self._path(file)))
                found[file.name] = changed[file]
        index.keep(changed)
        return tuple(found[file.name] for file in files.records)

    def _index(self, files: FileStates) -> SummaryIndex:
        def details(file: RecordState) -> str:
            from harness.scoring.record_summary import RecordSummary

            return RecordSummary.of(self._workspace.record_in(self._path(file))).details()

        return SummaryIndex(self._database, files, details)

    def _duels(
        self, files: FileStates, rubrics: Mapping[str, "Challenge"], summaries: Iterable["RecordSummary"]
    ) -> "Duels":
        """The duels; only those of answers that changed are fought again."""
        from harness.scoring.duels import RoundRobin, duels, round_robin

        kept, changed = self._views("duels"), []

        def play(rubric: "Challenge", own: Sequence["RecordSummary"]) -> RoundRobin:
            fought = {model: files.answers[rubric.id, model] for model in dict.fromkeys(one.model for one in own)}
            name, state = f"duels {rubric.id}", f"{files.source} {digest(map(' '.join, fought.items()))}"
            then, body = kept.get(name, ("", b""))
            if then == state:
                return _kept_round(rubric, body)[1]
            # what another version of the harness kept may be of another form
            known, before = _kept_round(rubric, body) if then.startswith(files.source) else ({}, None)
            played = round_robin(rubric, own, before, {one for one, then in known.items() if fought.get(one) == then})
            if files.settled:
                changed.append((name, state, json.dumps(fought).encode() + b"\n" + played.to_bytes()))
            return played

        found = duels(rubrics.values(), summaries, play)
        self._remember_views(changed)
        return found

    def _checked(self, file: RecordState, rubrics: Mapping[str, "Challenge"], record: "Record") -> "RecordSummary":
        """A record in short.

        Raises:
            StoreError: its marks do not follow from its evidence.
        """
        from harness.scoring.record_summary import RecordSummary

        if record.challenge in rubrics:
            _refuse_edited(str(self._path(file)), rubrics[record.challenge], record)
        return RecordSummary.of(record)

    def _path(self, file: RecordState) -> Path:
        return self._workspace.records_folder / file.name

    def _views(self, kind: str) -> dict[str, tuple[str, bytes]]:
        """State and body of what is kept of one kind, by name."""
        rows = self._rows("SELECT name, state, body FROM views WHERE name GLOB ?", (f"{kind} *",))
        return {name: (state, body) for name, state, body in rows}

    def _rows(self, query: str, values: Sequence[str] = ()) -> list[Row]:
        try:
            return self._database.read(lambda c: c.execute(query, values).fetchall(), [])
        except StoreError:
            return []

    def _remember_views(self, rows: Sequence[Row]) -> None:
        self._remember("INSERT OR REPLACE INTO views VALUES (?, ?, ?)", rows)

    def _remember(self, statement: str, rows: Sequence[Row]) -> None:
        if rows:
            with contextlib.suppress(StoreError):
                self._database.write(lambda c: c.executemany(statement, rows))


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Python looks for no garbage: among a hundred thousand objects that all stay, that takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _kept_round(rubric: "Challenge", body: bytes) -> tuple[dict[str, str], "RoundRobin"]:
    """The state that the records of each model had, and their duels."""
    from harness.scoring.duels import RoundRobin

    states, _, rest = body.partition(b"\n")
    return json.loads(states), RoundRobin.of_bytes(rubric.id, rest)


def _refuse_edited(place: str, rubric: "Challenge", record: "Record") -> None:
    """Recompute the marks of a record.

    Raises:
        StoreError: they do not follow from its evidence.
    """
    if problem := contradiction(rubric, record):
        raise StoreError(f"{place}: {problem}\n  harness grade {record.name} --force makes a new one")


def contradiction(rubric: "Challenge", record: "Record") -> str:
    """What a record says that its evidence does not bear out; empty where nothing does.

    Of a record of another version of the rubric only the ceilings can be checked: its weights are not known.
    """
    from harness.model import Status
    from harness.scoring import score
    from harness.scoring.gates import highest_overall

    built = record.status is not Status.BUILD_FAILED
    if (record.overall.score or 0) > (top := highest_overall(record.evidence, built=built)):
        return f"overall does not follow from the evidence: it is {record.overall.score:g}, and can be {top:g} at most"
    if not is_of_rubric(record, rubric):
        return ""
    scored = score(rubric, record.evidence, built=built)
    for field in ("overall", "dimensions", "gates"):
        if getattr(record, field) != getattr(scored, field):
            return f"{field} does not follow from the evidence; the file was changed by hand or by another program"
    return ""


def is_of_rubric(record: "Record", rubric: "Challenge") -> bool:
    """Whether the evidence of a record is of the criteria of a rubric, each once, with heading and severity."""
    stated = {(e.criterion, e.dimension, e.severity) for e in record.evidence}
    asked = {(c.id, c.dimension, c.severity) for c in rubric.criteria}
    return stated == asked and len(stated) == len(record.evidence)
