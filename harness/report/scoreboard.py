"""The scoreboard: models by challenges, as a table, Markdown, JSON or CSV."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table
from rich.text import Text

from harness.model import Challenge, Provenance, Record, Score, Status
from harness.report import words
from harness.report.contexts import weaknesses
from harness.report.notes import notes
from harness.report.render import render
from harness.scoring import Standing, standings
from harness.scoring.integrity import INTEGRITY
from harness.scoring.ranking import MEDAL_COVERAGE

MOST_FINDINGS = 3
"""So many findings of one submission are told in short."""


@dataclass(frozen=True)
class Column:
    """A challenge."""

    id: str
    title: str


@dataclass(frozen=True)
class Entry:
    """One model on one challenge; `overall` is None where it has no record.

    `integrity` counts the findings that tell of conduct in the box; they carry no mark.
    """

    challenge: str
    status: Status | None
    overall: Score | None
    findings: tuple[str, ...]
    more: int
    integrity: int

    @property
    def told(self) -> str:
        """The mark in words, or why there is none."""
        if self.status is None or self.overall is None:
            return "no record"
        status = "" if self.status is Status.GRADED else f" ({words.status(self.status)})"
        return words.standing(self.overall) + status + (f" {words.FLAG}" if self.integrity else "")


@dataclass(frozen=True)
class Row:
    """One model."""

    standing: Standing
    entries: tuple[Entry, ...]

    @property
    def rank(self) -> str:
        """Its rank with the medal, if any."""
        place = "" if self.standing.rank is None else str(self.standing.rank)
        return f"{place} ({self.standing.medal})" if self.standing.medal else place

    @property
    def provenance(self) -> str:
        """Where its files come from."""
        return ", ".join(words.provenance(p) for p in self.standing.provenance)

    @property
    def remark(self) -> str:
        """Why it has no rank or no medal; empty for a baseline, whose provenance says so."""
        return "" if Provenance.BASELINE in self.standing.provenance else self.standing.note

    @property
    def mean(self) -> str:
        """Mean of its overalls."""
        return words.mark(self.standing.mean)

    @property
    def coverage(self) -> str:
        """Mean coverage of its overalls."""
        return words.percent(self.standing.coverage)


@dataclass(frozen=True)
class Scoreboard:
    """All models on all challenges that any record is about."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    medal_coverage: str = words.percent(MEDAL_COVERAGE)


def scoreboard(challenges: Iterable[Challenge], records: Iterable[Record]) -> Scoreboard:
    """The scoreboard over all records.

    Args:
        challenges: in any order; those without a record are left out.
        records: one for each submission graded, in any order.
    """
    known = sorted(records, key=lambda r: (r.challenge, r.model))
    graded = {r.challenge for r in known}
    shown = sorted((c for c in challenges if c.id in graded), key=lambda c: c.id)
    by_name = {r.name: r for r in known}
    places = standings(known, [c.id for c in shown])
    rows = (Row(s, tuple(_entry(c, by_name.get(f"{s.model}/{c.id}")) for c in shown)) for s in places)
    return Scoreboard(tuple(Column(c.id, c.title) for c in shown), tuple(rows), notes(shown, known))


def as_table(board: Scoreboard) -> Table:
    """For a terminal; no frame, so that it also reads well in a file."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("Rank", "Model", "Provenance", *(c.title for c in board.columns), "Mean", "Coverage", "Note"):
        table.add_column(Text(name), no_wrap=name == "Model", overflow="fold")
    for row in board.rows:
        cells = [row.rank, row.standing.model, row.provenance, *(e.told for e in row.entries)]
        table.add_row(*(Text(cell) for cell in (*cells, row.mean, row.coverage, row.remark)))
    return table


def as_markdown(board: Scoreboard) -> str:
    """As `reports/scoreboard.md`."""
    return render("scoreboard.md.j2", board=board)


def as_json(board: Scoreboard) -> str:
    """Indented JSON with a final newline."""
    rows = [
        {
            **asdict(row.standing),
            "scores": {
                e.challenge: {
                    "status": e.status, **(e.overall.model_dump() if e.overall else {}), "integrity": e.integrity,
                }
                for e in row.entries if e.status is not None
            },
        }
        for row in board.rows
    ]  # fmt: skip
    document = {"challenges": [asdict(c) for c in board.columns], "rows": rows, "notes": board.notes}
    return json.dumps(document, indent=1) + "\n"


def as_csv(board: Scoreboard) -> str:
    """One line for each model, with a header; empty fields where there is no figure."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    parts = ("status", "score", "low", "high", "coverage", "integrity")
    header = ("rank", "medal", "model", "provenance", "mean", "coverage", "graded", "of", "note")
    writer.writerow([*header, *(f"{c.id}_{part}" for c in board.columns for part in parts)])
    for row in board.rows:
        s = row.standing
        provenance = "+".join(s.provenance)
        cells = [s.rank, s.medal, s.model, provenance, s.mean, s.coverage, s.graded, s.of, s.note]
        writer.writerow([*cells, *(value for entry in row.entries for value in _fields(entry))])
    return out.getvalue()


def _entry(challenge: Challenge, record: Record | None) -> Entry:
    if record is None:
        return Entry(challenge.id, None, None, (), 0, 0)
    found = weaknesses(challenge, record)
    told = tuple(f"{w.title} ({w.weight})" for w in found[:MOST_FINDINGS])
    seen = sum(f.criterion == INTEGRITY for f in record.findings)
    return Entry(challenge.id, record.status, record.overall, told, len(found) - len(told), seen)


def _fields(entry: Entry) -> Sequence[object]:
    if entry.status is None or entry.overall is None:
        return [None] * 6
    mark = entry.overall
    return [entry.status.value, mark.score, mark.low, mark.high, mark.coverage, entry.integrity]
