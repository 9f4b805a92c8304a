"""The scoreboard: models by challenges, their places and what follows."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from harness.model import Challenge, ChallengeSuite, Score
from harness.report import formatting
from harness.report.views.attempts import AttemptsReport, attempts_report
from harness.report.views.board.rows import Entry, ScoreboardRow, SuitePlaces
from harness.report.views.board.summary import (
    ChallengeWinner,
    Hybrid,
    Meeting,
    challenge_winners,
    gaps,
    hybrids,
    meetings,
)
from harness.report.views.mark_source import Marks, MarkSource, marks, measured_marks
from harness.report.views.notes import left_out_note, notes, removed_note, suite_notes, thin_note
from harness.review.consistency import Contradiction, contradictions
from harness.scoring import standings
from harness.scoring.marked import first_group
from harness.scoring.measured_marks import MeasuredMarks
from harness.scoring.memory import NO_MEMORY, FigureMemory
from harness.scoring.ranking import find_largest_table, list_thin_challenges
from harness.scoring.strength import STABLE
from harness.scoring.suites import ALL_MARKED

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs


@dataclass(frozen=True)
class Scoreboard:
    """All models on all challenges with marks.

    Attributes:
        compared: ids of the challenges that models are ranked over.
        rows: one per model, best first.
        notes: warnings about comparing.
        contradicting: contradictions between published figures.
        uncounted: ids of other challenges with a mark.
        thin: ids of challenges with too little assessed to place anybody.
        beside: places over other suites.
        made: first and last day of the grades, in UTC; None without records.
    """

    marks: Marks
    challenges: tuple[Challenge, ...]
    compared: tuple[str, ...]
    rows: tuple[ScoreboardRow, ...]
    notes: tuple[str, ...] = ()
    contradicting: tuple[Contradiction, ...] = ()
    uncounted: tuple[str, ...] = ()
    thin: tuple[str, ...] = ()
    beside: tuple[SuitePlaces, ...] = ()
    made: tuple[date, date] | None = None

    @property
    def mean_title(self) -> str:
        """Heading of the means."""
        return f"Mean of {len(self.compared)}" if self.compared else "Mean"

    @property
    def graded(self) -> str:
        """Dates of the grades in words; empty if unknown."""
        if self.made is None:
            return ""
        first, last = (f"{day.day} {day:%B %Y}" for day in self.made)
        return f"on {last}" if first == last else f"from {first} to {last}"

    def marks_of(self, row: ScoreboardRow) -> tuple[Score, ...]:
        """Return the marks behind a model's mean."""
        return tuple(e.overall for e in row.entries if e.overall and e.challenge in self.compared)

    def mean(self, row: ScoreboardRow) -> Score | None:
        """Return a model's mean with the mean of its intervals; None without a mark."""
        known = [mark for mark in self.marks_of(row) if mark.score is not None]
        if not known:
            return None
        low, high = fmean(mark.low for mark in known), fmean(mark.high for mark in known)
        return Score(score=row.standing.mean, low=low, high=high, coverage=row.standing.coverage)

    @property
    def source(self) -> MarkSource:
        """Source of the marks."""
        return self.marks.source

    @cached_property
    def meetings(self) -> tuple[Meeting, ...]:
        """Pairs of models that met."""
        return tuple(meetings(self.marks, [row.standing.model for row in self.rows], self.compared))

    @cached_property
    def attempts(self) -> tuple[AttemptsReport, ...]:
        """Reports of several attempts, by challenge and then row."""
        return tuple(
            attempts_report(column, entry.attempts)
            for number, column in enumerate(self.challenges)
            for row in self.rows
            if (entry := row.entries[number]).attempts
        )

    @cached_property
    def challenge_winners(self) -> tuple[ChallengeWinner, ...]:
        """Winners by challenge."""
        return challenge_winners(self.challenges, self.marks)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """Differences between neighbours, in sentences."""
        counted = [challenge for challenge in self.challenges if challenge.id in self.compared]
        return tuple(gaps(counted, [row.standing for row in self.rows], self.marks))

    @cached_property
    def hybrids(self) -> tuple[Hybrid, ...]:
        """Best marks of every dimension."""
        return hybrids(self.challenges, self.marks)

    @cached_property
    def contradictions(self) -> Mapping[str, tuple[Contradiction, ...]]:
        """Contradictions between published figures, by kind."""
        kinds = dict.fromkeys(one.kind for one in self.contradicting)
        return {kind: tuple(one for one in self.contradicting if one.kind == kind) for kind in kinds}

    @property
    def ranked(self) -> tuple[ScoreboardRow, ...]:
        """Rows of ranked models, those of several turns last."""
        return tuple(row for row in self.rows if row.standing.rank is not None)

    @property
    def provisional(self) -> bool:
        """True if any place is provisional."""
        return any(row.standing.provisional is not None for row in self.rows)

    @property
    def certainty(self) -> str:
        """Certainty of the order under resampling of the challenges, in sentences; empty if unknown."""
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
        trails = f"trails the medal's best model in at least {formatting.percent(STABLE)} of the draws"
        return f"{drawn} A model shares a medal unless it {trails}."


def scoreboard(inputs: "ReportInputs", source: MarkSource = MarkSource.MEASURED) -> Scoreboard:
    """Build the scoreboard over all marks of one source; challenges without a mark are left out."""
    if source is MarkSource.MEASURED:
        board = measured_scoreboard(inputs.measured, inputs.suite, inputs.unranked, inputs.suites)
        shown = {challenge.id for challenge in board.challenges}
        days = [r.made.astimezone(UTC).date() for r in inputs.records if r.challenge in shown]
        return replace(board, made=(min(days), max(days)) if days else None)
    board = _scoreboard(marks(inputs, source), inputs.challenges, ALL_MARKED)
    return replace(board, contradicting=tuple(contradictions(inputs.reviews, inputs.comparisons, inputs.ranking)))


def measured_scoreboard(
    measured: MeasuredMarks,
    suite: ChallengeSuite | None = None,
    unranked: Iterable[str] = (),
    suites: Iterable[ChallengeSuite] = (),
) -> Scoreboard:
    """Build the scoreboard over measured marks.

    Args:
        suite: suite to rank over; None for the challenges that most models have answered together.
        unranked: reasons why challenges rank nobody.
        suites: all suites, for places beside the ranks.
    """
    board = _scoreboard(measured_marks(measured), measured.challenges, suite, measured.memory, suites)
    ordered = sorted(measured.summaries, key=lambda s: (s.challenge, s.submission_name.order))
    others = [id for id in board.uncounted if id not in board.thin]
    over = suite_notes(suite, board.compared, others, board.provisional and not board.ranked, unranked)
    left_out = (*removed_note(measured.removed), *left_out_note(measured.left_out))
    thin = thin_note(board.thin)
    return replace(board, notes=(*notes(measured.challenges, ordered), *left_out, *over, *thin))


def _scoreboard(
    found: Marks,
    challenges: Iterable[Challenge],
    suite: ChallengeSuite | None,
    memory: FigureMemory = NO_MEMORY,
    suites: Iterable[ChallengeSuite] = (),
) -> Scoreboard:
    thin = list_thin_challenges(found.marked)
    known = {m.challenge for m in found.marked}
    wanted = suite.challenges if suite and suite.challenges else known
    shown = sorted((c for c in challenges if c.id in wanted), key=lambda c: c.id)
    placing = [m for m in found.marked if m.challenge not in thin]
    compared = tuple(c.id for c in shown if c.id not in thin) if suite else find_largest_table(placing)
    counted = (seen := found.on({c.id for c in shown})).on({*compared})
    by_name = {(m.model, m.challenge): m for m in found.marked}
    places = standings(found.marked, compared, counted.head_to_heads, memory)
    alike = {a: counted.among([p.model for p in places if p.apart is a], compared) for a in (False, True)}
    rows = tuple(
        ScoreboardRow(place, tuple(Entry(c, by_name.get((place.model, c.id))) for c in shown), alike[place.apart])
        for place in places
    )
    beside = tuple(_beside(found, compared, thin, suites, memory))
    return Scoreboard(
        seen,
        tuple(shown),
        compared,
        rows,
        uncounted=tuple(sorted(known - {*compared})),
        thin=tuple(c.id for c in shown if c.id in thin),
        beside=beside,
    )


def _beside(
    found: Marks, compared: Sequence[str], thin: Names[str], suites: Iterable[ChallengeSuite], memory: FigureMemory
) -> Iterator[SuitePlaces]:
    known = {m.challenge for m in found.marked}
    for suite in suites:
        own = sorted(id for id in suite.challenges or known if id not in thin)
        if known & {*own} and own != [*compared]:
            places = standings(found.marked, own, found.on(own).head_to_heads, memory)
            yield SuitePlaces(suite.id, len(own), {place.model: place for place in places})
