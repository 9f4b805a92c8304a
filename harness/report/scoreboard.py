"""The scoreboard: models by challenges, as a table, Markdown, JSON or CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from harness.model import INTEGRITY, Challenge, ChallengeSuite, Provenance, Score, Severity, Status
from harness.report import formatting
from harness.report.attempts_report import AttemptsReport, attempts_data, attempts_report, common_faults, mean_of
from harness.report.mark_source import Marks, MarkSource, marks, measured_marks
from harness.report.notes import left_out_note, notes, removed_note, suite_notes
from harness.report.summary import ChallengeWinner, Gap, Hybrid, Meeting, challenge_winners, gaps, hybrids, meetings
from harness.review.consistency import Contradiction, contradictions
from harness.scoring import Standing, standings
from harness.scoring.attempts import Attempts, MeasuredAnswer
from harness.scoring.doubts import DoubtKind
from harness.scoring.marked import Marked, first_group
from harness.scoring.measured_marks import MeasuredMarks
from harness.scoring.memory import NO_MEMORY, FigureMemory
from harness.scoring.ranking import MEDAL_COVERAGE, most_answered
from harness.scoring.record_summary import RecordSummary
from harness.scoring.strength import STABLE
from harness.scoring.suites import ALL_MARKED

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
        mark = "; ".join(filter(None, (formatting.standing(self.overall), self.spread)))
        return mark + status + f" {formatting.FLAG}" * bool(self.integrity) + f" {formatting.DOUBT}" * bool(self.doubts)

    @property
    def attempts(self) -> Attempts | None:
        """Its attempts, where it has several."""
        return self.marked if isinstance(self.marked, Attempts) else None

    @property
    def spread(self) -> str:
        """Of how many attempts the mark is the mean, and how they scatter; empty for a single answer."""
        return mean_of(self.attempts) if self.attempts else ""

    @property
    def integrity(self) -> int:
        """How many findings tell of conduct in the box; they carry no mark."""
        return self.marked.integrity if isinstance(self.marked, MeasuredAnswer) else 0

    @property
    def doubts(self) -> tuple[DoubtKind, ...]:
        """What is doubtful about its records."""
        return self.marked.doubts if isinstance(self.marked, MeasuredAnswer) else ()

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
        if self.attempts:
            return tuple(
                f"{title} ({weight}, in {count} attempts)" for weight, title, count in common_faults(self.attempts)
            )
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
        place = self.standing.place
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
class Scoreboard:
    """All models on all challenges that any mark is about; what the marks come to is found where a page asks for it.

    Attributes:
        marks: of the source at hand.
        challenges: those of the suite, or those with a mark.
        compared: ids of those that models are ranked over.
        rows: one for each model, the best first.
        notes: what a reader must know before comparing.
        contradicting: published figures that do not agree with each other.
        uncounted: ids of challenges with a mark that models are not ranked over.
    """

    marks: Marks
    challenges: tuple[Challenge, ...]
    compared: tuple[str, ...]
    rows: tuple[ScoreboardRow, ...]
    notes: tuple[str, ...] = ()
    contradicting: tuple[Contradiction, ...] = ()
    uncounted: tuple[str, ...] = ()
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
        return tuple(meetings(self.marks, [row.standing.model for row in self.rows]))

    @cached_property
    def attempts(self) -> tuple[AttemptsReport, ...]:
        """What is known of several attempts, by challenge and then in the order of the rows."""
        return tuple(
            attempts_report(column, entry.attempts)
            for number, column in enumerate(self.challenges)
            for row in self.rows
            if (entry := row.entries[number]).attempts
        )

    @cached_property
    def challenge_winners(self) -> tuple[ChallengeWinner, ...]:
        """Challenge by challenge."""
        return challenge_winners(self.challenges, self.marks)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """What lies between neighbours."""
        counted = [challenge for challenge in self.challenges if challenge.id in self.compared]
        return gaps(counted, [row.standing for row in self.rows], self.marks)

    @cached_property
    def hybrids(self) -> tuple[Hybrid, ...]:
        """The best of every part."""
        return hybrids(self.challenges, self.marks)

    @cached_property
    def contradictions(self) -> Mapping[str, tuple[Contradiction, ...]]:
        """Published figures that do not agree with each other, by kind."""
        kinds = dict.fromkeys(one.kind for one in self.contradicting)
        return {kind: tuple(one for one in self.contradicting if one.kind == kind) for kind in kinds}

    @property
    def ranked(self) -> tuple[ScoreboardRow, ...]:
        """Rows of models with a rank, those asked in several turns after the others."""
        return tuple(row for row in self.rows if row.standing.rank is not None)

    @property
    def apart(self) -> bool:
        """Whether any model was asked in several turns, and is ranked apart."""
        return any(row.standing.apart for row in self.rows)

    @property
    def provisional(self) -> bool:
        """Whether any place is."""
        return any(row.standing.provisional is not None for row in self.rows)

    @property
    def certainty(self) -> str:
        """How sure the order is, from drawing the challenges anew."""
        ranked = first_group([row.standing for row in self.ranked])
        sure = [
            f"{place.model} comes first in {formatting.percent(place.chances[0])}"
            for place in ranked
            if place.chances and place.chances[0] > 0
        ]
        if len(ranked) < 2 or not sure:
            return ""
        too = ", and the attempts at each," if self.attempts else ""
        drawn = (
            f"When the {len(self.compared)} challenges{too} are drawn anew with repetition, {', '.join(sure)} of the "
            "draws."
        )
        return f"{drawn} Who is not behind the best of a medal in {formatting.percent(STABLE)} of them shares it."


def scoreboard(inputs: "ReportInputs", source: MarkSource = MarkSource.MEASURED) -> Scoreboard:
    """The scoreboard over all marks of one source.

    Args:
        inputs: challenges in any order, of which those without a mark are left out; records in any order.
        source: where the marks come from.
    """
    if source is MarkSource.MEASURED:
        return measured_scoreboard(inputs.measured, inputs.suite, inputs.unranked)
    board = _scoreboard(marks(inputs, source), inputs.challenges, ALL_MARKED)
    return replace(board, contradicting=tuple(contradictions(inputs.reviews, inputs.comparisons, inputs.ranking)))


def measured_scoreboard(
    measured: MeasuredMarks, suite: ChallengeSuite | None = None, unranked: Iterable[str] = ()
) -> Scoreboard:
    """The scoreboard over measured marks.

    Args:
        measured: all of them.
        suite: the challenges to rank over; without one, those that most models have answered together.
        unranked: why challenges of the workspace rank nobody.
    """
    board = _scoreboard(measured_marks(measured), measured.challenges, suite, measured.memory)
    ordered = sorted(measured.summaries, key=lambda s: (s.challenge, s.submission_name.order))
    over = suite_notes(suite, board.compared, board.uncounted, board.provisional and not board.ranked, unranked)
    left_out = (*removed_note(measured.removed), *left_out_note(measured.left_out))
    return replace(board, notes=(*notes(measured.challenges, ordered), *left_out, *over))


def as_table(board: Scoreboard) -> Table:
    """For a terminal; no frame, so that it also reads well in a file."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("Rank", "Model", "Provenance", *(c.title for c in board.columns), "Mean", "Coverage", "Note"):
        table.add_column(Text(name), no_wrap=name == "Model", overflow="fold")
    for row in board.rows:
        cells = [row.rank, row.standing.model, row.provenance, *(e.text for e in row.entries)]
        table.add_row(*(Text(cell) for cell in (*cells, row.mean, row.coverage, row.remark)))
    return table


def as_markdown(board: Scoreboard, letters: bool = False) -> str:
    """As `reports/scoreboard.md`, with a link to the published letters where there are any."""
    # loaded here: other formats need no templates
    from harness.report.render import render

    return render("scoreboard.md.j2", board=board, letters=letters)


def as_json(board: Scoreboard) -> str:
    """Indented JSON with a final newline."""
    rows = [
        {
            **asdict(row.standing),
            "scores": {
                e.challenge: {
                    "status": e.status, **(e.overall.model_dump() if e.overall else {}), "integrity": e.integrity,
                    "doubts": e.doubts, **(attempts_data(e.attempts) if e.attempts else {}),
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
    parts = ("status", "score", "low", "high", "coverage", "integrity", "doubts")
    header = ("rank", "medal", "model", "provenance", "mean", "coverage", "graded", "of", "note")
    columns = (f"{c.id}_{part}" for c in board.columns for part in parts)
    writer.writerow([*header, "provisional", "missing", "turns", *columns])
    for row in board.rows:
        s = row.standing
        cells = [s.rank, s.medal, s.model, "+".join(s.provenance), s.mean, s.coverage, s.graded, s.of, s.note,
                 s.provisional, " ".join(s.missing), s.turns]  # fmt: skip
        writer.writerow([*cells, *(value for entry in row.entries for value in _fields(entry))])
    return out.getvalue()


def _scoreboard(
    found: Marks, challenges: Iterable[Challenge], suite: ChallengeSuite | None, memory: FigureMemory = NO_MEMORY
) -> Scoreboard:
    known = {m.challenge for m in found.marked}
    wanted = suite.challenges if suite and suite.challenges else known
    shown = sorted((c for c in challenges if c.id in wanted), key=lambda c: c.id)
    compared = tuple(c.id for c in shown) if suite else most_answered(found.marked)
    counted = (seen := found.on({c.id for c in shown})).on({*compared})
    by_name = {(m.model, m.challenge): m for m in found.marked}
    places = standings(found.marked, compared, counted.head_to_heads, memory)
    alike = {a: counted.among([p.model for p in places if p.apart is a], compared) for a in (False, True)}
    rows = tuple(
        ScoreboardRow(place, tuple(Entry(c, by_name.get((place.model, c.id))) for c in shown), alike[place.apart])
        for place in places
    )
    return Scoreboard(seen, tuple(shown), compared, rows, uncounted=tuple(sorted(known - {*compared})))


def _fields(entry: Entry) -> Sequence[object]:
    if entry.status is None or entry.overall is None:
        return [None] * 7
    return [entry.status.value, *entry.overall.model_dump().values(), entry.integrity, " ".join(entry.doubts)]
