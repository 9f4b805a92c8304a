"""Cache of summaries of published records by the state of their files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.store.database import Database
from harness.store.file_states import FileStates, RecordState
from harness.store.seals import holds, seal

if TYPE_CHECKING:
    from harness.scoring.record_summary import RecordSummary

_SHORT = (
    "state, provenance, status, ranked, turns, score, low, high, coverage, harness, tier, device, integrity, criteria, "
    "shares, doubts, seal"
)
TABLES = f"""
DROP TABLE IF EXISTS published;
DROP TABLE IF EXISTS summaries;
CREATE TABLE summaries (
    path TEXT PRIMARY KEY, challenge TEXT NOT NULL, model TEXT NOT NULL, state TEXT NOT NULL, provenance TEXT NOT NULL,
    status TEXT NOT NULL, ranked INTEGER NOT NULL, turns INTEGER NOT NULL, score REAL, low REAL NOT NULL,
    high REAL NOT NULL, coverage REAL NOT NULL, harness TEXT NOT NULL, tier TEXT NOT NULL, device TEXT NOT NULL,
    integrity INTEGER NOT NULL, criteria TEXT NOT NULL, shares BLOB NOT NULL,
    doubts TEXT NOT NULL, seal BLOB NOT NULL, details TEXT NOT NULL, details_seal BLOB NOT NULL
);
CREATE INDEX summaries_in_short ON summaries (challenge, model, path, {_SHORT})
"""
"""The index covers every column except the details, which are long and seldom read."""
_COLUMNS = f"path, challenge, model, {_SHORT}, details, details_seal"
_INSERT = f"INSERT OR REPLACE INTO summaries ({_COLUMNS}) VALUES ({', '.join('?' * 22)})"


class SummaryIndex:
    """Cache of summaries in sealed rows. Errors of the store leave it empty.

    Args:
        read: function that returns the details of a record whose row has changed.
    """

    def __init__(self, database: Database, files: FileStates, read: Callable[[RecordState], str]) -> None:
        self._database = database
        self._files = files
        self._read = read
        self._details: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}

    def summaries(self) -> dict[str, "RecordSummary"]:
        """Return summaries of the unchanged records by path; details are read on demand."""
        from harness.scoring.record_summary import RecordSummary

        kept = {row[0]: row for row in self._database.read_cache(f"SELECT path, {_SHORT} FROM summaries")}
        found = {}
        for file in self._files.records:
            _, state, *row, given = kept.get(file.name, ("", "", b""))
            if state == self._files.of_record(file) and holds(given, file.name, state, *row):
                details = partial(self._load_details, file, state)
                found[file.name] = RecordSummary.of_row(file.submission, row, details)
        return found

    def keep(self, changed: Mapping[RecordState, "RecordSummary"]) -> None:
        """Save summaries of changed records and drop those whose files are gone."""
        settled = [self._make_row(f, one) for f, one in changed.items() if self._files.is_record_settled(f)]
        self._database.write_cache(_INSERT, settled)
        counted = self._database.read_cache("SELECT COUNT(*) FROM summaries")
        if changed or counted != [(len(self._files.records),)]:
            names = {file.name for file in self._files.records}
            known = self._database.read_cache("SELECT path FROM summaries")
            gone = [(path,) for (path,) in known if path not in names]
            self._database.write_cache("DELETE FROM summaries WHERE path = ?", gone)

    def keep_written(self, file: RecordState, summary: "RecordSummary") -> None:
        """Save the summary of a new record that was dated back."""
        if self._files.is_rubric_settled(file):
            self._database.write_cache(_INSERT, [self._make_row(file, summary)])

    def _make_row(self, file: RecordState, one: "RecordSummary") -> tuple[Any, ...]:
        state, row, details = self._files.of_record(file), one.row(), one.details()
        seals = seal(file.name, state, *row), seal(file.name, state, details)
        return (file.name, one.challenge, one.model, state, *row, seals[0], details, seals[1])

    def _load_details(self, file: RecordState, state: str) -> str:
        name = file.submission
        answer = (name.challenge, name.model)
        if answer not in self._details:
            query = "SELECT path, state, details, details_seal FROM summaries WHERE challenge = ? AND model = ?"
            rows = self._database.read_cache(query, answer)
            self._details[answer] = {
                path: (state, text) for path, state, text, given in rows if holds(given, path, state, text)
            }
        found, details = self._details[answer].get(file.name, ("", ""))
        return details if found == state else self._read(file)
