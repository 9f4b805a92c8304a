"""The rows of the scoreboard: one model each, with its mark on every challenge."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.model import INTEGRITY, Challenge, Provenance, Score, Severity, Status
from harness.report import formatting
from harness.report.attempts_report import common_faults, mean_of
from harness.report.mark_source import Marks
from harness.scoring import Standing
from harness.scoring.attempts import Attempts, MeasuredAnswer
from harness.scoring.doubts import DoubtKind
from harness.scoring.marked import Marked
from harness.scoring.record_summary import RecordSummary

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
    def lines(self) -> tuple[str, ...]:
        """What `text` says, one below the other: mark and coverage, interval, and what else must be known."""
        if self.status is None or self.overall is None:
            return (self.text,)
        mark, *interval = formatting.standing_lines(self.overall)
        flags = [formatting.FLAG] * bool(self.integrity) + [formatting.DOUBT] * bool(self.doubts)
        status = "" if self.status is Status.GRADED else formatting.status(self.status)
        return tuple(filter(None, (" ".join([mark, *flags]), *interval, self.spread, status)))

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
class SuitePlaces:
    """Where models stand over another suite than that of the board.

    Attributes:
        id: of the suite.
        of: how many of its challenges count.
        places: by model.
    """

    id: str
    of: int
    places: Mapping[str, Standing]

    @property
    def title(self) -> str:
        """What heads its column."""
        return f"{self.id} ({self.of})"

    def lines(self, model: str) -> tuple[str, ...]:
        """A model's place, then its mean and coverage; nothing where it has no mark of the suite."""
        standing = self.places.get(model)
        return tuple(filter(None, (ranked(standing), *mean(standing)))) if standing and standing.graded else ()


def ranked(standing: Standing) -> str:
    """The rank with the medal, if any; empty where there is none."""
    return f"{standing.place} ({standing.medal})" if standing.medal else standing.place


def mean(standing: Standing) -> tuple[str, ...]:
    """Mean of its overalls with their mean coverage, and of how many challenges where it lacks some."""
    covered = f", {formatting.percent(standing.coverage)}" if standing.graded and standing.coverage < 1 else ""
    some = 0 < standing.graded < standing.of
    return (formatting.whole(standing.mean) + covered, *([f"{standing.graded} of {standing.of}"] if some else []))


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
        return ranked(self.standing)

    @property
    def provenance(self) -> str:
        """Where its files come from."""
        return formatting.provenances(self.standing.provenance)

    @property
    def heading(self) -> tuple[str, ...]:
        """The model, and below it where its files come from."""
        return (self.standing.model, *self.provenance.split(", "))

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

    @property
    def mean_lines(self) -> tuple[str, ...]:
        """The mean with the mean coverage, and below them of how many challenges where some are missing."""
        return mean(self.standing)
