"""Rows of the scoreboard: a model each, with its mark on every challenge."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from harness.model import INTEGRITY, Challenge, Provenance, Score, Severity, Status
from harness.report import formatting
from harness.report.views.attempts import common_faults, mean_of
from harness.report.views.mark_source import Marks
from harness.scoring import Standing
from harness.scoring.attempts import Attempts, MeasuredAnswer
from harness.scoring.doubts import DoubtKind
from harness.scoring.marked import Marked
from harness.scoring.record_summary import RecordSummary

MOST_FINDINGS = 3
"""Most findings listed per submission."""


@dataclass(frozen=True)
class Entry:
    """One model on one challenge; `marked` is None without a mark."""

    rubric: Challenge
    marked: Marked | None

    @property
    def challenge(self) -> str:
        """Id of the challenge."""
        return self.rubric.id

    @property
    def status(self) -> Status | None:
        """Status of the grade; None without one."""
        return self.marked.status if self.marked else None

    @property
    def overall(self) -> Score | None:
        """Overall mark; None without one."""
        return self.marked.overall if self.marked else None

    @property
    def text(self) -> str:
        """Mark in words, or why it is missing."""
        if self.status is None or self.overall is None:
            return "no record"
        status = "" if self.status is Status.GRADED else f" ({formatting.status(self.status)})"
        mark = "; ".join(filter(None, (formatting.standing(self.overall), self.spread)))
        return mark + status + f" {formatting.FLAG}" * bool(self.integrity) + f" {formatting.DOUBT}" * bool(self.doubts)

    @property
    def attempts(self) -> Attempts | None:
        """Attempts, if several."""
        return self.marked if isinstance(self.marked, Attempts) else None

    @property
    def spread(self) -> str:
        """Number and spread of attempts; empty for a single answer."""
        return mean_of(self.attempts) if self.attempts else ""

    @property
    def integrity(self) -> int:
        """Number of findings about conduct in the sandbox."""
        return self.marked.integrity if isinstance(self.marked, MeasuredAnswer) else 0

    @property
    def doubts(self) -> tuple[DoubtKind, ...]:
        """Doubts about its records."""
        return self.marked.doubts if isinstance(self.marked, MeasuredAnswer) else ()

    @cached_property
    def critical(self) -> tuple[int, int]:
        """Number of critical criteria met, and of those assessed, over all attempts."""
        summaries = self.marked.summaries if isinstance(self.marked, Attempts) else (self.marked,)
        seen = [
            result.satisfied
            for one in summaries
            if isinstance(one, RecordSummary)
            for result in one.results
            if result.weight == Severity.CRITICAL.weight and result.satisfied is not None
        ]
        return sum(share == 1 for share in seen), len(seen)

    @property
    def gravest(self) -> tuple[int, str]:
        """Weight and title of its gravest finding; 0 and empty without one."""
        if self.attempts:
            found = [(fault.severity.weight, fault.title) for fault in self.attempts.faults]
        else:
            given = self.marked.findings if isinstance(self.marked, RecordSummary) else ()
            found = [(fault.severity.weight, fault.title) for fault in given if fault.criterion != INTEGRITY]
        return found[0] if found else (0, "")

    @property
    def findings(self) -> tuple[str, ...]:
        """Gravest findings in short, and the number of others."""
        more = len(self._faults) - MOST_FINDINGS
        return (*self._faults[:MOST_FINDINGS], *([f"and {more} more"] if more > 0 else []))

    @cached_property
    def _faults(self) -> tuple[str, ...]:
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
    """Places of the models over another suite than the board's.

    Attributes:
        of: number of challenges that count.
        places: by model.
    """

    id: str
    of: int
    places: Mapping[str, Standing]

    @property
    def title(self) -> str:
        """Heading of its column."""
        return f"{self.id} ({self.of})"

    def lines(self, model: str) -> tuple[str, ...]:
        """Return a model's place, mean and coverage; empty without a mark in the suite."""
        standing = self.places.get(model)
        return tuple(filter(None, (ranked(standing), *mean(standing)))) if standing and standing.graded else ()

    def mean(self, model: str) -> float | None:
        """Return a model's mean; None without a mark in the suite."""
        return self.places[model].mean if model in self.places else None


def ranked(standing: Standing) -> str:
    """Return the rank, with the medal if any; empty without a rank."""
    return f"{standing.place} ({standing.medal})" if standing.medal else standing.place


def mean(standing: Standing) -> tuple[str, ...]:
    """Return lines: mean overall and coverage, then the number of challenges if some are missing."""
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
        """Challenges with its highest mark; empty with fewer than two marks."""
        return self._extreme(max)

    @property
    def worst(self) -> str:
        """Challenges with its lowest mark; empty with fewer than two marks."""
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
    def critical(self) -> str:
        """Number of critical criteria met over all its challenges."""
        met, of = (sum(part) for part in zip(*(entry.critical for entry in self.entries), strict=True))
        return f"{met} of {of}" if of else "–"

    @property
    def gravest(self) -> Entry | None:
        """Challenge with its gravest finding, of equal ones that with the lowest mark."""

        def order(entry: Entry) -> tuple[int, float]:
            return entry.gravest[0], -((entry.overall and entry.overall.score) or 0.0)

        return max((entry for entry in self.entries if entry.gravest[0]), key=order, default=None)

    @property
    def rank(self) -> str:
        """Rank, with the medal if any."""
        return ranked(self.standing)

    @property
    def provenance(self) -> str:
        """Provenance of its files."""
        return formatting.provenances(self.standing.provenance)

    @property
    def remark(self) -> str:
        """Reason for a missing rank or medal; empty for a baseline."""
        return "" if Provenance.BASELINE in self.standing.provenance else self.standing.note

    @property
    def mean_lines(self) -> tuple[str, ...]:
        """Mean and coverage, then the number of challenges if some are missing."""
        return mean(self.standing)
