"""Two models compared criterion by criterion, from their records: the view, and the formats it is printed in."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.model import Challenge, Criterion, Evidence, Outcome, Record, Status
from harness.report import words
from harness.report.escape import markdown, plain
from harness.report.formats import Fitting, csv_text, markdown_table
from harness.report.notes import notes
from harness.scoring.duels import Duel, duel, win_table


@dataclass(frozen=True)
class Side:
    """One criterion in one record; `evidence` is None where the record does not know the criterion."""

    evidence: Evidence | None
    fault: str

    @cached_property
    def met(self) -> float | None:
        """Share of the criterion that is met, 0 to 1; None where it was not assessed."""
        return self.evidence.satisfied if self.evidence and self.evidence.outcome.assessed else None

    @cached_property
    def told(self) -> str:
        """The outcome with the fault and the figures behind it."""
        if self.evidence is None:
            return "not in this record"
        fault = f": {self.fault}" if self.fault and self.evidence.outcome is Outcome.FAILED else ""
        figures = words.figures(self.evidence.measured)
        return words.outcome(self.evidence) + fault + (f" ({figures})" if figures else "")


ABSENT = Side(None, "")


@dataclass(frozen=True)
class Row:
    """One criterion on both sides."""

    criterion: Criterion
    left: Side
    right: Side

    @cached_property
    def measured(self) -> bool:
        """Whether any figure was measured on either side."""
        return any(side.evidence and side.evidence.measured for side in (self.left, self.right))

    @cached_property
    def lead(self) -> float | None:
        """How much more of the criterion the left one meets; None unless both were assessed."""
        if self.left.met is None or self.right.met is None:
            return None
        return self.left.met - self.right.met


@dataclass(frozen=True)
class Task:
    """One challenge that both have a record of; rows are in rubric order."""

    challenge: Challenge
    left: Record
    right: Record
    duel: Duel
    rows: tuple[Row, ...]

    @property
    def apart(self) -> tuple[Row, ...]:
        """What tells them apart."""
        return tuple(row for row in self.rows if row.lead)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Criteria that both miss alike."""
        return tuple(row.criterion.id for row in self.rows if row.lead == 0 and row.left.met != 1)

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Criteria that only one of them was assessed on, which no duel counts."""
        return tuple(r.criterion.id for r in self.rows if (r.left.met is None) != (r.right.met is None))

    @property
    def told(self) -> str:
        """Who won, by how much, and on what."""
        one = self.duel
        if not one.played:
            return "Nothing was assessed on both: there is no winner."
        pair = (one.left_mark, one.right_mark)
        first, second = map(words.mark, reversed(pair) if one.winner == one.right else pair)
        told = f"{first} to {second} on the {one.criteria} criteria both were assessed on"
        if one.winner is None:
            return f"A split: {told}; a lead up to {words.mark(one.noise)} counts as none."
        return f"{one.winner} wins: {told}."


@dataclass(frozen=True)
class Compared:
    """Two models on every challenge they share.

    Attributes:
        left, right: their names.
        tasks: the challenges that both have a record of, by id.
        alone: `MODEL/CHALLENGE` that only one of them has a record of.
        tally: duels won by each; a split is half for both.
        notes: what a reader must know before comparing these records.
    """

    left: str
    right: str
    tasks: tuple[Task, ...]
    alone: tuple[str, ...]
    tally: tuple[float, float]
    notes: tuple[str, ...]


def compare(challenges: Iterable[Challenge], records: Iterable[Record], left: str, right: str) -> Compared:
    """Compare two models; nothing is scored anew but the duels, on what both were assessed on.

    Args:
        challenges: in any order; records of others are left out, and a note says so.
        records: of at least these two models, in any order.
        left, right: names of the models.
    """
    own = sorted((r for r in records if r.model in (left, right)), key=lambda r: (r.challenge, r.model))
    by_name = {record.name: record for record in own}
    rubrics = sorted(challenges, key=lambda c: c.id)
    both = [c for c in rubrics if f"{left}/{c.id}" in by_name and f"{right}/{c.id}" in by_name]
    pairs = [(by_name[f"{left}/{c.id}"], by_name[f"{right}/{c.id}"]) for c in both]
    tasks = tuple(
        task(c, sides(one), sides(other), duel(c, one, other)) for c, (one, other) in zip(both, pairs, strict=True)
    )
    shared = {c.id for c in both}
    wins = win_table([left, right], [task.duel for task in tasks])
    return Compared(
        left, right, tasks,
        alone=tuple(record.name for record in own if record.challenge not in shared),
        tally=(float(wins[0, 1]), float(wins[1, 0])),
        notes=notes(rubrics, own),
    )  # fmt: skip


@dataclass(frozen=True)
class Sides:
    """A record, and how it stands on each criterion."""

    record: Record
    by_criterion: Mapping[str, Side]


def sides(record: Record) -> Sides:
    """Every criterion of a record."""
    faults = {f.criterion: f.title for f in record.findings}
    told = {e.criterion: "" if words.not_offered(e) else faults.get(e.criterion, "") for e in record.evidence}
    return Sides(record, {e.criterion: Side(e, told[e.criterion]) for e in record.evidence})


def task(challenge: Challenge, left: Sides, right: Sides, fought: Duel) -> Task:
    """Two records of one challenge, criterion by criterion, and the duel between them."""
    ours, theirs = left.by_criterion, right.by_criterion
    rows = tuple(Row(c, ours.get(c.id, ABSENT), theirs.get(c.id, ABSENT)) for c in challenge.criteria)
    return Task(challenge, left.record, right.record, fought, rows)


def compared_table(compared: Compared) -> RenderableType:
    """For a terminal of any width."""
    return Group(*_parts(compared))


def _parts(compared: Compared) -> Iterator[RenderableType]:
    for task in compared.tasks:
        yield Text(f"{plain(task.challenge.title)} ({task.challenge.id})", style="bold")
        yield Fitting(_table(_mark_titles(task), _marks(task)))
        yield Text(task.told)
        if task.apart:
            yield Text("\nWhat tells them apart", style="bold")
            yield Fitting(_table(_apart_titles(compared), _apart(task)))
        for label, ids in _lists(task):
            yield Text(f"{label}: {', '.join(ids)}")
        yield Text()
    yield Text("Tally", style="bold")
    yield Fitting(_table(_tally_titles(compared), _tally(compared)))


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(Text(title), overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def _mark_titles(task: Task) -> list[str]:
    return ["Mark", *(f"{r.model} ({words.provenance(r.provenance)})" for r in (task.left, task.right))]


def _marks(task: Task) -> Iterator[list[str]]:
    """Overall and dimensions: mark, interval and coverage of both."""
    pair = (task.left, task.right)
    yield ["Overall", *(words.standing(r.overall) for r in pair)]
    for dimension in task.challenge.dimensions:
        marks = [r.dimensions.get(dimension.id) for r in pair]
        yield [dimension.title, *(words.standing(m) if m else words.NOT_ASSESSED for m in marks)]
    if any(r.status is not Status.GRADED for r in pair):
        yield ["Status", *(words.status(r.status) for r in pair)]


def _apart_titles(compared: Compared) -> list[str]:
    return ["Criterion", "Severity", compared.left, compared.right, "Ahead"]


def _apart(task: Task) -> Iterator[list[str]]:
    for row in task.apart:
        c = row.criterion
        yield [c.id, c.severity.value, row.left.told, row.right.told, _ahead(task, row)]


def _ahead(task: Task, row: Row) -> str:
    return "" if not row.lead else task.left.model if row.lead > 0 else task.right.model


def _lists(task: Task) -> Iterator[tuple[str, tuple[str, ...]]]:
    for label, ids in (("Both miss", task.unmet), ("Assessed on one of them only", task.one_sided)):
        if ids:
            yield label, ids


def _tally_titles(compared: Compared) -> list[str]:
    return ["Challenge", compared.left, compared.right, "Winner"]


def _tally(compared: Compared) -> Iterator[list[str]]:
    for task in compared.tasks:
        one = task.duel
        winner = (one.winner or "split") if one.played else "no duel"
        yield [task.challenge.id, words.mark(one.left_mark), words.mark(one.right_mark), winner]
    left, right = compared.tally
    leader = "even" if left == right else compared.left if left > right else compared.right
    yield ["won", words.number(left), words.number(right), leader]


def compared_markdown(compared: Compared) -> str:
    """The same as a page of Markdown."""
    parts = [f"# {markdown(compared.left)} against {markdown(compared.right)}"]
    for task in compared.tasks:
        parts.append(f"## {markdown(task.challenge.title)}")
        parts.append(markdown_table(_mark_titles(task), _marks(task)))
        parts.append(str(markdown(task.told)))
        if task.apart:
            parts.append(markdown_table(_apart_titles(compared), _apart(task)))
        parts.extend(f"{label}: {markdown(', '.join(ids))}." for label, ids in _lists(task))
    parts += ["## Tally", markdown_table(_tally_titles(compared), _tally(compared))]
    if compared.alone:
        parts.append(f"Only one of them answered: {markdown(', '.join(compared.alone))}.")
    return "\n\n".join([*parts, *(f"* {markdown(note)}" for note in compared.notes)]) + "\n"


def compared_csv(compared: Compared) -> str:
    """One line for each criterion of each challenge; shares met run from 0 to 1, figures are a JSON object."""
    side = ("", "_outcome", "_met", "_fault", "_figures")
    titles = ["challenge", "criterion", "dimension", "severity", *(f"{s}{t}" for s in ("left", "right") for t in side)]
    lines = []
    for task in compared.tasks:
        for row in task.rows:
            c = row.criterion
            cells = [*_csv_side(compared.left, row.left), *_csv_side(compared.right, row.right)]
            lines.append([task.challenge.id, c.id, c.dimension, c.severity.value, *cells, _ahead(task, row)])
    return csv_text([*titles, "ahead"], lines)


def _csv_side(model: str, side: Side) -> list[object]:
    evidence = side.evidence
    if evidence is None:
        return [model, None, None, None, None]
    figures = json.loads(evidence.model_dump_json(include={"measured"}))["measured"]
    return [model, evidence.outcome.value, side.met, side.fault, json.dumps(figures) if figures else None]


def compared_data(compared: Compared) -> dict[str, Any]:
    """The same as plain data, with the evidence of both sides as their records hold it."""
    return {
        "left": compared.left,
        "right": compared.right,
        "challenges": [_task_data(task) for task in compared.tasks],
        "alone": compared.alone,
        "tally": dict(zip((compared.left, compared.right), compared.tally, strict=True)),
        "notes": compared.notes,
    }


def _task_data(task: Task) -> dict[str, Any]:
    one = task.duel
    return {
        "challenge": task.challenge.id,
        "left": _record_data(task.left),
        "right": _record_data(task.right),
        "duel": {
            "left": one.left_mark, "right": one.right_mark, "criteria": one.criteria, "noise": one.noise,
            "played": one.played, "winner": one.winner,
        },
        "criteria": [
            {
                "criterion": row.criterion.id,
                "ahead": _ahead(task, row) or None,
                **{name: _side_data(side) for name, side in (("left", row.left), ("right", row.right))},
            }
            for row in task.rows
        ],
    }  # fmt: skip


def _record_data(record: Record) -> dict[str, Any]:
    kept = {"provenance", "status", "overall", "dimensions", "gates"}
    data: dict[str, Any] = json.loads(record.model_dump_json(include=kept))
    return data


def _side_data(side: Side) -> dict[str, Any] | None:
    if side.evidence is None:
        return None
    return {"fault": side.fault or None, **json.loads(side.evidence.model_dump_json())}
