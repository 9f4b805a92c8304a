"""Records under reports/records/, indexed in the store."""

import contextlib
import gc
import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError, StoreError
from harness.store import summary_index
from harness.store.database import Database
from harness.store.file_states import FileStates, RecordState, date_back, digest
from harness.store.indexing import index_side_by_side
from harness.store.seals import holds, seal
from harness.store.summary_index import SummaryIndex
from harness.workspace import Workspace
from harness.workspace.signatures import signature_path

if TYPE_CHECKING:
    from harness.model import Challenge, Record
    from harness.scoring.doubts import Doubt, DoubtKind
    from harness.scoring.duels import Duels, RoundRobin
    from harness.scoring.measured_marks import MeasuredMarks
    from harness.scoring.memory import FigureMemory
    from harness.scoring.record_summary import RecordSummary

TABLES = f"""
{summary_index.TABLES};
DROP TABLE IF EXISTS views;
CREATE TABLE views (name TEXT PRIMARY KEY, state TEXT NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL);
DROP TABLE IF EXISTS figures;
CREATE TABLE figures (name TEXT PRIMARY KEY, given BLOB NOT NULL, body BLOB NOT NULL, seal BLOB NOT NULL)
"""
MOST_NAMED = 10
"""Most omitted records to log one by one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadRecords:
    """Result of one reading of all published records.

    Attributes:
        records: records with a submission, by challenge, model and attempt.
        doubts: kinds of doubt that do not refuse a record, by name.
        removed: names of records whose submission is gone.
        left_out: names of unreadable and refused records.
    """

    records: list["Record"]
    doubts: Mapping[str, tuple["DoubtKind", ...]]
    removed: tuple[str, ...]
    left_out: tuple[str, ...]


class PublishedRecords:
    """The published records of a workspace.

    Results are cached in the store by the files' states (size, times, inode); errors of the store only cost time.
    Unreadable and refused records are left out with a warning. A malformed rubric raises `SpecError`.
    """

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self._workspace = workspace
        self._database = database
        self._probe_sets: dict[str, str] = {}

    def read(self) -> ReadRecords:
        """Read all records."""
        files = FileStates.of(self._workspace)
        rubrics, index = self._load_rubrics(files), self._open_index(files)
        kept, changed, removed = index.summaries(), {}, []
        records, doubts, failures = [], {}, dict[RecordState, StoreError]()
        for file in files.records:
            try:
                record = self._workspace.record_in(self._get_path(file))
                summary = kept.get(file.name) or self._check(file, rubrics, record)
            except StoreError as error:
                failures[file] = error
                continue
            if file.name not in kept:
                changed[file] = summary
            if file.name in files.absent and record.of_submission:
                removed.append(record.name)
                continue
            records.append(record)
            if summary.doubts:
                doubts[record.name] = summary.doubts
        index.keep(changed)
        _warn(map(str, failures.values()))
        return ReadRecords(records, doubts, tuple(sorted(removed)), tuple(str(file.submission) for file in failures))

    def records(self) -> list["Record"]:
        """Return `ReadRecords.records`."""
        return self.read().records

    def add(self, record: "Record") -> None:
        """Index a new record, so that the next board need not read it."""
        try:
            date_back(self._workspace.records_folder / record.submission_name.record)
            files = FileStates.of_one(self._workspace, record.submission_name)
            (file,) = files.records
            self._open_index(files).keep_written(file, self._check(file, self._load_rubrics(files), record))
        except (OSError, HarnessError):
            return  # the next reading reports it

    def index(self, share: slice) -> None:
        """Index the changed records of a share, a slice of all; `read_marks` reports the refused ones."""
        with _disable_gc():
            files = FileStates.of(self._workspace)
            rubrics, index = self._load_rubrics(files), self._open_index(files)
            known, changed = index.summaries(), {}
            for file in files.records[share]:
                if file.name not in known:
                    with contextlib.suppress(HarnessError):
                        changed[file] = self._check(file, rubrics, self._workspace.record_in(self._get_path(file)))
            index.keep(changed)

    def record(self, name: str) -> "Record":
        """Return the record of `MODEL/CHALLENGE` or `MODEL/CHALLENGE/attempt-N`, or the one in a file.

        Raises:
            NotFoundError: the record is unknown.
            StoreError: the record is unreadable or refused.
        """
        record = self._workspace.record(name)
        _refuse(name, record, self._find_current_doubts(record))
        return record

    def read_many(self, names: Iterable[str]) -> list["Record"]:
        """Return the readable records of these names.

        Raises:
            NotFoundError: a name has no record.
        """
        records, failures = [], []
        for name in names:
            try:
                records.append(self.record(name))
            except StoreError as error:
                failures.append(str(error))
        _warn(failures)
        return records

    def doubts(self, record: "Record") -> tuple["DoubtKind", ...]:
        """Return the kinds of doubt about a record."""
        from harness.scoring.doubts import DoubtKind

        kinds = tuple(dict.fromkeys(doubt.kind for doubt in self._find_current_doubts(record)))
        signed = signature_path(self._workspace.records_folder / record.submission_name.record).exists()
        unsigned = self._workspace.keys_folder.is_dir() and not signed
        return (*kinds, DoubtKind.UNSIGNED) if unsigned else kinds

    def _find_current_doubts(self, record: "Record") -> tuple["Doubt", ...]:
        self._probe_sets.clear()
        known = record.challenge in self._workspace.challenges()
        rubrics = {record.challenge: self._workspace.challenge(record.challenge)} if known else {}
        return self._find_doubts(rubrics, record)

    def _find_doubts(self, rubrics: Mapping[str, "Challenge"], record: "Record") -> tuple["Doubt", ...]:
        from harness.scoring.doubts import find_doubts

        return find_doubts(record, rubrics.get(record.challenge), partial(self._get_probe_set, record.challenge))

    def _get_probe_set(self, challenge: str) -> str:
        from harness.store.content_key import probe_set

        if challenge not in self._probe_sets:
            self._probe_sets[challenge] = probe_set(self._workspace, challenge, fresh=True)
        return self._probe_sets[challenge]

    def read_marks(self) -> "MeasuredMarks":
        """Return the marks of all records and the duels."""
        from harness.scoring.memory import NO_MEMORY

        failures: list[str] = []
        with _disable_gc():
            marks = self._measure(FileStates.of(self._workspace), NO_MEMORY, failures)
        _warn(failures)
        return marks

    def _measure(self, files: FileStates, memory: "FigureMemory", failures: list[str]) -> "MeasuredMarks":
        from harness.scoring.measured_marks import MeasuredMarks

        rubrics = self._load_rubrics(files)
        every, left_out = self._load_summaries(files, rubrics, failures)
        removed = tuple(
            s.name for s in every if files.absent and s.submission_name.record in files.absent and s.of_submission
        )
        gone = {*removed}
        kept = tuple(s for s in every if s.name not in gone) if removed else every
        duels = self._load_duels(files, rubrics, kept)
        return MeasuredMarks(tuple(rubrics.values()), kept, duels, removed, left_out, memory)

    def view(self, name: str, make: Callable[[Callable[[], "MeasuredMarks"]], Sequence[str]]) -> Sequence[str]:
        """Return texts that depend on the measured marks alone, cached until a record or rubric changes.

        Args:
            name: name of the view, with all its other parameters.
            make: function that makes the texts from a function that returns the marks.
        """
        failures: list[str] = []
        with _disable_gc():
            texts = self._load_view(name, make, failures)
        _warn(failures)
        return texts

    def _load_view(
        self, name: str, make: Callable[[Callable[[], "MeasuredMarks"]], Sequence[str]], failures: list[str]
    ) -> Sequence[str]:
        files = FileStates.of(self._workspace)
        state = files.text
        before, body = self._load_views(name, "=").get(name, ("", b""))
        if before == state:
            kept = json.loads(zlib.decompress(body))
            failures += kept["failures"]
            texts: list[str] = kept["texts"]
            return texts
        # imported late: a cached view needs no numpy
        from harness.store.kept_figures import KeptFigures

        memory = KeptFigures(self._database, files.source)
        made = make(partial(self._measure, files, memory, failures))
        memory.keep()
        # if a file changed meanwhile, its state differs from the one saved here, so the stale entry is never used
        if files.settled:
            body = json.dumps({"texts": made, "failures": failures}).encode()
            self._remember_views([(name, state, zlib.compress(body))])
        return made

    def _load_rubrics(self, files: FileStates) -> dict[str, "Challenge"]:
        # cached, as TOML is slow to parse
        from harness.model import Challenge

        self._probe_sets.clear()
        kept = self._load_views("rubric *")
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

    def _load_summaries(
        self, files: FileStates, rubrics: Mapping[str, "Challenge"], failures: list[str]
    ) -> tuple[tuple["RecordSummary", ...], tuple[str, ...]]:
        index = self._open_index(files)
        found, changed = index.summaries(), {}
        if index_side_by_side(self._workspace.root, len(files.records) - len(found)):
            found = index.summaries()
        left_out = []
        for file in files.records:
            if file.name not in found:
                try:
                    changed[file] = self._check(file, rubrics, self._workspace.record_in(self._get_path(file)))
                    found[file.name] = changed[file]
                except StoreError as error:
                    failures.append(str(error))
                    left_out.append(str(file.submission))
        index.keep(changed)
        return tuple(found[file.name] for file in files.records if file.name in found), tuple(left_out)

    def _open_index(self, files: FileStates) -> SummaryIndex:
        def details(file: RecordState) -> str:
            from harness.scoring.record_summary import RecordSummary

            return RecordSummary.of(self._workspace.record_in(self._get_path(file))).details()

        return SummaryIndex(self._database, files, details)

    def _load_duels(
        self, files: FileStates, rubrics: Mapping[str, "Challenge"], summaries: Iterable["RecordSummary"]
    ) -> "Duels":
        from harness.scoring.duels import RoundRobin, duels, round_robin

        kept, changed = self._load_views("duels *"), []

        def play(rubric: "Challenge", own: Sequence["RecordSummary"]) -> RoundRobin:
            fought = {model: files.answers[rubric.id, model] for model in dict.fromkeys(one.model for one in own)}
            name, state = f"duels {rubric.id}", f"{files.source} {digest(map(' '.join, fought.items()))}"
            then, body = kept.get(name, ("", b""))
            if then == state:
                return _load_round(rubric, body)[1]
            # an entry of another version of the harness may have another format
            known, before = _load_round(rubric, body) if then.startswith(files.source) else ({}, None)
            played = round_robin(rubric, own, before, {one for one, then in known.items() if fought.get(one) == then})
            if files.settled:
                changed.append((name, state, json.dumps(fought).encode() + b"\n" + played.to_bytes()))
            return played

        found = duels(rubrics.values(), summaries, play)
        self._remember_views(changed)
        return found

    def _check(self, file: RecordState, rubrics: Mapping[str, "Challenge"], record: "Record") -> "RecordSummary":
        from harness.scoring.doubts import DoubtKind
        from harness.scoring.record_summary import RecordSummary

        doubts = self._find_doubts(rubrics, record)
        _refuse(str(self._get_path(file)), record, doubts)
        kinds = [doubt.kind for doubt in doubts]
        if self._workspace.keys_folder.is_dir() and not file.signed:
            kinds.append(DoubtKind.UNSIGNED)
        return RecordSummary.of(record, dict.fromkeys(kinds))

    def _get_path(self, file: RecordState) -> Path:
        return self._workspace.records_folder / file.name

    def _load_views(self, pattern: str, operator: str = "GLOB") -> dict[str, tuple[str, bytes]]:
        query = f"SELECT name, state, body, seal FROM views WHERE name {operator} ?"
        rows = self._database.read_cache(query, (pattern,))
        return {name: (state, body) for name, state, body, given in rows if holds(given, name, state, body)}

    def _remember_views(self, rows: Sequence[tuple[str, str, bytes]]) -> None:
        sealed = [(*row, seal(*row)) for row in rows]
        self._database.write_cache("INSERT OR REPLACE INTO views VALUES (?, ?, ?, ?)", sealed)


@contextlib.contextmanager
def _disable_gc() -> Iterator[None]:
    # scans of a hundred thousand live objects take a third of the time
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _load_round(rubric: "Challenge", body: bytes) -> tuple[dict[str, str], "RoundRobin"]:
    from harness.scoring.duels import RoundRobin

    states, _, rest = body.partition(b"\n")
    return json.loads(states), RoundRobin.of_bytes(rubric.id, rest)


def _refuse(place: str, record: "Record", doubts: Iterable["Doubt"]) -> None:
    from harness.scoring.doubts import describe_refusal

    if problem := describe_refusal(doubts):
        raise StoreError(f"{place}: {problem}\n  harness grade {record.name} --force makes a new one")


def _warn(failures: Iterable[str]) -> None:
    every = list(failures)
    for message in every[:MOST_NAMED]:
        _log.warning("left out: %s", message)
    if len(every) > MOST_NAMED:
        _log.warning("left out: %d more records that cannot be read or believed", len(every) - MOST_NAMED)
