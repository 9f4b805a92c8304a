"""Records as tables of plain values, a row per grade or per criterion of a grade; docs/data.md describes them."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Generic, TypeVar

from harness.model import Counterexample, Evidence, Figure, Outcome, Record
from harness.scoring.doubts import DoubtKind
from harness.store.record_rows import RecordParts

Cell = str | bool | int | float | datetime | dict[str, Any] | None
"""One value; None if absent."""

TEXT, NUMBER, WHOLE, FLAG, TIME, ANY = "string", "float64", "Int64", "bool", "datetime64[us, UTC]", "object"
"""Types of columns, as pandas names them."""

PART = 20_000
"""Rows per part of a table too long for memory."""
NOT_TIME = "box"
"""Time in the sandbox, which is part of other stages' time."""

Source = TypeVar("Source")
Doubts = Mapping[str, tuple[DoubtKind, ...]]
"""Doubts about records, by name."""
NO_DOUBTS: Doubts = {}


@dataclass(frozen=True)
class DataColumn(Generic[Source]):
    """One column.

    Attributes:
        dtype: name of the pandas type.
        value: reads the cell of a row's source.
    """

    name: str
    dtype: str
    value: Callable[[Source], Cell]


@dataclass(frozen=True)
class DataTable:
    """Rows of equal columns.

    Attributes:
        dtypes: names of pandas types by column, in column order.
        rows: cells in column order.
    """

    dtypes: dict[str, str]
    rows: tuple[tuple[Cell, ...], ...]

    def as_dicts(self) -> Iterator[dict[str, Cell]]:
        """Return the rows as dicts by column."""
        return (dict(zip(self.dtypes, row, strict=True)) for row in self.rows)


@dataclass(frozen=True)
class GradedCriterion:
    """One criterion of one grade."""

    record: Record
    evidence: Evidence


def record_table(records: Sequence[Record], doubts: Doubts = NO_DOUBTS) -> DataTable:
    """Return a row per record, in order, with columns for every dimension and stage of any of them."""
    return _table(_of_records(map(parts_of, records), doubts), records)


def evidence_table(records: Iterable[Record], doubts: Doubts = NO_DOUBTS) -> DataTable:
    """Return a row per criterion of each record, in order."""
    return _table(_of_evidence(doubts), _graded(records))


def record_parts(
    records: Iterable[Record], parts: Iterable[RecordParts], rows: int = PART, doubts: Doubts = NO_DOUBTS
) -> Iterator[DataTable]:
    """Yield `record_table` in parts, at least one, without holding records whose row is made.

    Args:
        parts: parts of the same records.
        rows: rows of each part but the last.
        doubts: doubts about records, by name.
    """
    return _in_parts(_of_records(parts, doubts), records, rows)


def evidence_parts(records: Iterable[Record], rows: int = PART, doubts: Doubts = NO_DOUBTS) -> Iterator[DataTable]:
    """Yield `evidence_table` in parts, as `record_parts` does."""
    return _in_parts(_of_evidence(doubts), _graded(records), rows)


def parts_of(record: Record) -> RecordParts:
    """Return the dimensions and stages of a record."""
    return RecordParts(frozenset(record.dimensions), frozenset(record.seconds))


def plain(value: Any) -> Any:
    """Return a cell as JSON values: non-finite numbers by name, as in records, and times in ISO 8601."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return {name: plain(v) for name, v in value.items()} if isinstance(value, dict) else value


def json_text(value: Any) -> str:
    """Return a cell as JSON on one line."""
    return json.dumps(plain(value), allow_nan=False)


def _of_records(parts: Iterable[RecordParts], doubts: Doubts) -> tuple[DataColumn[Record], ...]:
    kinds = set(parts)
    marks = sorted({id for kind in kinds for id in kind.dimensions})
    stages = sorted({stage for kind in kinds for stage in kind.stages} - {NOT_TIME})
    return (
        *_NAMES,
        *_GRADE,
        *(DataColumn(f"dimension.{id}", NUMBER, _dimension(id)) for id in marks),
        *(DataColumn(f"seconds.{stage}", NUMBER, _stage(stage)) for stage in stages),
        DataColumn("doubts", TEXT, _doubted(doubts)),
    )


def _of_evidence(doubts: Doubts) -> tuple[DataColumn[GradedCriterion], ...]:
    names = (DataColumn(name.name, name.dtype, _of_record(name.value)) for name in _NAMES)
    return *names, *_CRITERION, DataColumn("doubts", TEXT, _of_record(_doubted(doubts)))


def _graded(records: Iterable[Record]) -> Iterator[GradedCriterion]:
    return (GradedCriterion(record, evidence) for record in records for evidence in record.evidence)


def _table(columns: Sequence[DataColumn[Source]], sources: Iterable[Source]) -> DataTable:
    return DataTable(_dtypes(columns), tuple(_rows(columns, sources)))


def _in_parts(columns: Sequence[DataColumn[Source]], sources: Iterable[Source], size: int) -> Iterator[DataTable]:
    rows = _rows(columns, sources)
    yield DataTable(_dtypes(columns), tuple(islice(rows, size)))
    while part := tuple(islice(rows, size)):
        yield DataTable(_dtypes(columns), part)


def _rows(columns: Sequence[DataColumn[Source]], sources: Iterable[Source]) -> Iterator[tuple[Cell, ...]]:
    return (tuple(column.value(source) for column in columns) for source in sources)


def _dtypes(columns: Sequence[DataColumn[Source]]) -> dict[str, str]:
    return {column.name: column.dtype for column in columns}


def _of_record(value: Callable[[Record], Cell]) -> Callable[[GradedCriterion], Cell]:
    return lambda graded: value(graded.record)


def _doubted(doubts: Doubts) -> Callable[[Record], Cell]:
    return lambda record: " ".join(doubts.get(record.name, ())) or None


def _dimension(id: str) -> Callable[[Record], Cell]:
    return lambda record: record.dimensions[id].score if id in record.dimensions else None


def _stage(name: str) -> Callable[[Record], Cell]:
    return lambda record: record.seconds.get(name)


def _field(name: str) -> Callable[[Record], Cell]:
    return lambda record: dict(record)[name]


def _count(counts: Callable[[Evidence], bool]) -> Callable[[Record], Cell]:
    return lambda record: sum(map(counts, record.marked))


def _of_example(value: Callable[[Counterexample], Figure | None]) -> Callable[[GradedCriterion], Cell]:
    def said(graded: GradedCriterion) -> Cell:
        found = value(graded.evidence.counterexample) if graded.evidence.counterexample else None
        return None if found == "" else found

    return said


def _seconds(record: Record) -> float:
    return round(sum(spent for stage, spent in record.seconds.items() if stage != NOT_TIME), 3)


_NAMES = tuple(
    DataColumn(name, dtype, _field(name)) for name, dtype in (("model", TEXT), ("challenge", TEXT), ("attempt", WHOLE))
)
"""Columns that identify a grade."""

_GRADE: tuple[DataColumn[Record], ...] = (
    DataColumn("provenance", TEXT, lambda r: r.provenance.value),
    DataColumn("collection", TEXT, lambda r: r.origin.collection if r.origin else None),
    DataColumn("status", TEXT, lambda r: r.status.value),
    DataColumn("ranked", FLAG, lambda r: r.ranked),
    DataColumn("score", NUMBER, lambda r: r.overall.score),
    DataColumn("low", NUMBER, lambda r: r.overall.low),
    DataColumn("high", NUMBER, lambda r: r.overall.high),
    DataColumn("coverage", NUMBER, lambda r: r.overall.coverage),
    DataColumn("reward", NUMBER, lambda r: r.reward),
    DataColumn("criteria", WHOLE, lambda r: len(r.marked)),
    DataColumn("assessed", WHOLE, _count(lambda e: e.outcome.assessed)),
    DataColumn("passed", WHOLE, _count(lambda e: e.outcome is Outcome.PASSED)),
    DataColumn("failed_critical", WHOLE, _count(lambda e: e.gates)),
    DataColumn("seconds", NUMBER, _seconds),
    DataColumn("made", TIME, lambda r: r.made),
    DataColumn("seed", TEXT, lambda r: str(r.seed)),
    DataColumn("tier", TEXT, lambda r: r.environment.tier.value),
    DataColumn("device", TEXT, lambda r: r.environment.device),
    DataColumn("cpu", TEXT, lambda r: r.environment.cpu),
    DataColumn("harness", TEXT, lambda r: r.environment.harness),
    DataColumn("profile", TEXT, lambda r: r.profile.value),
    DataColumn("key", TEXT, lambda r: r.key),
    DataColumn("probe_set", TEXT, lambda r: r.probe_set),
)

_CRITERION: tuple[DataColumn[GradedCriterion], ...] = (
    DataColumn("criterion", TEXT, lambda g: g.evidence.criterion),
    DataColumn("dimension", TEXT, lambda g: g.evidence.dimension),
    DataColumn("severity", TEXT, lambda g: g.evidence.severity.value),
    DataColumn("weight", WHOLE, lambda g: g.evidence.severity.weight),
    DataColumn("outcome", TEXT, lambda g: g.evidence.outcome.value),
    DataColumn("assessed", FLAG, lambda g: g.evidence.outcome.assessed),
    DataColumn("satisfied", NUMBER, lambda g: g.evidence.satisfied if g.evidence.outcome.assessed else None),
    DataColumn("rests_on", TEXT, lambda g: g.evidence.rests_on),
    DataColumn("title", TEXT, lambda g: g.evidence.title or None),
    DataColumn("detail", TEXT, lambda g: g.evidence.detail or None),
    DataColumn("diagnosis", TEXT, lambda g: g.evidence.diagnosis.words if g.evidence.diagnosis else None),
    DataColumn("mutant", TEXT, lambda g: g.evidence.diagnosis.mutant if g.evidence.diagnosis else None),
    DataColumn("file", TEXT, lambda g: g.evidence.locations[0].file if g.evidence.locations else None),
    DataColumn("line", WHOLE, lambda g: g.evidence.locations[0].line if g.evidence.locations else None),
    DataColumn("probe", TEXT, _of_example(lambda e: e.probe)),
    DataColumn("where", TEXT, _of_example(lambda e: e.where)),
    DataColumn("expected", ANY, _of_example(lambda e: e.expected)),
    DataColumn("got", ANY, _of_example(lambda e: e.got)),
    DataColumn("seed", TEXT, lambda g: None if g.evidence.seed is None else str(g.evidence.seed)),
    DataColumn("measured", ANY, lambda g: dict(g.evidence.measured)),
)
