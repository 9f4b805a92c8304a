"""The scoreboard: models by challenges, as a table, Markdown, JSON or CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from harness.model import INTEGRITY, Challenge, Provenance, Score, Severity, Status
from harness.report import formatting
from harness.report.mark_source import Marks, MarkSource, marks, measured_marks
from harness.report.notes import notes
from harness.report.summary import ChallengeWinner, Gap, Hybrid, challenge_winners, gaps, hybrids
from harness.review.consistency import Contradiction, contradictions
from harness.scoring import Standing, standings
from harness.scoring.duels import tally
from harness.scoring.marked import Marked
from harness.scoring.measured_marks import MeasuredMarks
from harness.scoring.ranking import MEDAL_COVERAGE, STABLE
from harness.scoring.record_summary import RecordSummary

if TYPE_CHECKING:
    from harness.report.inputs import ReportInputs

MOST_FINDINGS = 3
"""How many findings of one submission are listed in short."""


@dataclass(frozen=True)
class Column:
    """A challenge."""

    id: str
    title: str


@dataclass(frozen=True)
class Entry:
    """One model on one challenge; `marked` is None where it has no mark there."""

    rubric: Challenge
    marked: Marked | None

    @property
    def challenge(self) -> str:
        """Its id."""
        return self.rubric.id

    @property
    def status(self) -> Status | None:
        """How far the grade got; None where there is none."""
        return self.marked.status if self.marked else None

    @property
    def overall(self) -> Score | None:
        """The mark over all."""
        return self.marked.overall if self.marked else None

    @property
    def text(self) -> str:
        """The mark in words, or why there is none."""
        if self.status is None or self.overall is None:
            return "no record"
        status = "" if self.status is Status.GRADED else f" ({formatting.status(self.status)})"
        return formatting.standing(self.overall) + status + (f" {formatting.FLAG}" if self.integrity else "")

    @property
    def integrity(self) -> int:
        """How many findings tell of conduct in the box; they carry no mark."""
        return self.marked.integrity if isinstance(self.marked, RecordSummary) else 0

    @property
    def findings(self) -> tuple[str, ...]:
        """The gravest in short."""
        return self._faults[:MOST_FINDINGS]

    @property
    def more(self) -> int:
        """How many findings there are besides."""
        return len(self._faults) - len(self.findings)

    @cached_property
    def _faults(self) -> tuple[str, ...]:
        """Each fault once with its weight; criteria that failed for the same words are one fault."""
        weights: dict[tuple[Severity, str], str] = {}
        for found in self.marked.findings if isinstance(self.marked, RecordSummary) else ():
            weight = formatting.UNMARKED if found.criterion == INTEGRITY else found.severity.value
            weights.setdefault((found.severity, found.title), weight)
        return tuple(f"{title} ({weight})" for (_, title), weight in weights.items())


@dataclass(frozen=True)
class ScoreboardRow:
    """One model and its head-to-head results."""

    standing: Standing
    entries: tuple[Entry, ...]
    marks: Marks

    @property
    def best(self) -> str:
        """The challenge_winners with its highest mark."""
        return self._extreme(max)

    @property
    def worst(self) -> str:
        """The challenge_winners with its lowest mark."""
        return self._extreme(min)

    def _extreme(self, pick: Callable[[Iterable[float]], float]) -> str:
        means = {e.rubric.title: e.overall.score for e in self.entries if e.overall and e.overall.score is not None}
        if len(means) < 2:
            return ""
        end = pick(means.values())
        return f"{', '.join(title for title, mean in means.items() if mean == end)} ({formatting.mark(end)})"

    @property
    def won(self) -> str:
        """Its duels in words."""
        played = [f for f in self.marks.of(self.standing.model) if f.played]
        won, split = sum(f.winner == self.standing.model for f in played), sum(f.winner is None for f in played)
        return f"{won} of {len(played)}" + (f", {split} split" if split else "") if played else ""

    @property
    def anchor(self) -> str:
        """Where its part of a challenge's page starts."""
        return formatting.anchor(self.standing.model)

    @property
    def strength(self) -> str:
        """Its strength in whole points; empty where there is none."""
        return "" if self.standing.strength is None else formatting.whole(self.standing.strength)

    @property
    def rank(self) -> str:
        """Its rank with the medal, if any."""
        place = "" if self.standing.rank is None else str(self.standing.rank)
        return f"{place} ({self.standing.medal})" if self.standing.medal else place

    @property
    def provenance(self) -> str:
        """Where its files come from."""
        return formatting.provenances(self.standing.provenance)

    @property
    def remark(self) -> str:
        """Why it has no rank or no medal; empty for a baseline, whose provenance explains it."""
        return "" if Provenance.BASELINE in self.standing.provenance else self.standing.note

    @property
    def mean(self) -> str:
        """Mean of its overalls, in whole points."""
        return formatting.whole(self.standing.mean)

    @property
    def coverage(self) -> str:
        """Mean coverage of its overalls."""
        return formatting.percent(self.standing.coverage)


@dataclass(frozen=True)
class Meeting:
    """Two models over all challenges: the tally in their order, and the page that shows it."""

    left: str
    right: str
    tally: str
    winners: str

    @property
    def page(self) -> str:
        """Beside the scoreboard."""
        return formatting.pair_page(self.left, self.right)


@dataclass(frozen=True)
class Scoreboard:
    """All models on all challenges that any mark is about; what the marks come to is found where a page asks for it.

    Attributes:
        marks: of the source at hand.
        challenges: those with a mark.
        rows: one for each model, the best first.
        notes: what a reader must know before comparing.
        contradicting: published figures that do not agree with each other.
    """

    marks: Marks
    challenges: tuple[Challenge, ...]
    rows: tuple[ScoreboardRow, ...]
    notes: tuple[str, ...] = ()
    contradicting: tuple[Contradiction, ...] = ()
    medal_coverage: str = formatting.percent(MEDAL_COVERAGE)

    @property
    def source(self) -> MarkSource:
        """Where the marks come from."""
        return self.marks.source

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """One for each challenge."""
        return tuple(Column(c.id, c.title) for c in self.challenges)

    @cached_property
    def meetings(self) -> tuple[Meeting, ...]:
        """Every two models that met."""
        return tuple(_meetings(self.marks, [row.standing.model for row in self.rows]))

    @cached_property
    def challenge_winners(self) -> tuple[ChallengeWinner, ...]:
        """Challenge by challenge."""
        return challenge_winners(self.challenges, self.marks)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What lies between neighbours."""
        return gaps(self.challenges, [row.standing for row in self.rows], self.marks)

    @cached_property
    def hybrids(self) -> tuple[Hybrid, ...]:
        """The best of every part."""
        return hybrids(self.challenges, self.marks)

    @cached_property
    def contradictions(self) -> Mapping[str, tuple[Contradiction, ...]]:
        """Published figures that do not agree with each other, by kind."""
        return _by_kind(self.contradicting)

    @property
    def ranked(self) -> tuple[ScoreboardRow, ...]:
        """Rows of models with a rank."""
        return tuple(row for row in self.rows if row.standing.rank is not None)

    @property
    def certainty(self) -> str:
        """How sure the order is, from drawing the challenges anew."""
        sure = [
            f"{row.standing.model} comes first in {formatting.percent(row.standing.chances[0])}"
            for row in self.ranked
            if row.standing.chances and row.standing.chances[0] > 0
        ]
        if len(self.ranked) < 2 or not sure:
            return ""
        drawn = (
            f"When the {len(self.columns)} challenges are drawn anew with repetition, {', '.join(sure)} of the draws."
        )
        return f"{drawn} Who is not behind the best of a medal in {formatting.percent(STABLE)} of them shares it."


def scoreboard(inputs: "ReportInputs", source: MarkSource = MarkSource.MEASURED) -> Scoreboard:
    """The scoreboard over all marks of one source.

    Args:
        inputs: challenges in any order, of which those without a mark are left out; records in any order.
        source: where the marks come from.
    """
    if source is MarkSource.MEASURED:
        return measured_scoreboard(inputs.measured)
    contradicting = tuple(contradictions(inputs.reviews, inputs.comparisons, inputs.ranking))
    return replace(_scoreboard(marks(inputs, source), inputs.challenges), contradicting=contradicting)


def measured_scoreboard(measured: MeasuredMarks) -> Scoreboard:
    """The scoreboard over all measured marks."""
    board = _scoreboard(measured_marks(measured), measured.challenges)
    ordered = sorted(measured.summaries, key=lambda s: (s.challenge, s.model))
    return replace(board, notes=notes(board.challenges, ordered))


def as_table(board: Scoreboard) -> Table:
    """For a terminal; no frame, so that it also reads well in a file."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("Rank", "Model", "Provenance", *(c.title for c in board.columns), "Mean", "Coverage", "Note"):
        table.add_column(Text(name), no_wrap=name == "Model", overflow="fold")
    for row in board.rows:
        cells = [row.rank, row.standing.model, row.provenance, *(e.text for e in row.entries)]
        table.add_row(*(Text(cell) for cell in (*cells, row.mean, row.coverage, row.remark)))
    return table


def as_markdown(board: Scoreboard) -> str:
    """As `reports/scoreboard.md`."""
    # loaded here: other formats need no templates
    from harness.report.render import render

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


def _scoreboard(found: Marks, challenges: Iterable[Challenge]) -> Scoreboard:
    known = {m.challenge for m in found.marked}
    shown = sorted((c for c in challenges if c.id in known), key=lambda c: c.id)
    by_name = {(m.model, m.challenge): m for m in found.marked}
    rows = tuple(
        ScoreboardRow(place, tuple(Entry(c, by_name.get((place.model, c.id))) for c in shown), found)
        for place in standings(found.marked, [c.id for c in shown], found.head_to_heads)
    )
    return Scoreboard(found, tuple(shown), rows)


def _meetings(found: Marks, order: Sequence[str]) -> Iterator[Meeting]:
    """Every two models that met, the better placed one first."""
    models = [model for model in order if model in found.models]
    for left, right in combinations(models, 2):
        results = sorted((f for f in found.between(left, right) if f.played), key=lambda f: f.challenge)
        if results:
            lead, behind = tally(left, right, results)
            per_task = "; ".join(f"{f.challenge}: {f.winner or 'split'}" for f in results)
            yield Meeting(left, right, formatting.score(lead, behind), per_task)


def _by_kind(found: Iterable[Contradiction]) -> dict[str, tuple[Contradiction, ...]]:
    kinds: dict[str, list[Contradiction]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    return {kind: tuple(all) for kind, all in kinds.items()}


def _fields(entry: Entry) -> Sequence[object]:
    if entry.status is None or entry.overall is None:
        return [None] * 6
    mark = entry.overall
    return [entry.status.value, mark.score, mark.low, mark.high, mark.coverage, entry.integrity]
