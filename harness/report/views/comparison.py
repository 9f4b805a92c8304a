"""Two models compared criterion by criterion."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from harness.model import Challenge, Criterion, Record
from harness.report.views.answers import ModelAnswer, answers
from harness.report.views.criterion_sides import ABSENT, AnswerSides, CriterionSide, sides
from harness.report.views.duel_words import duel_sentence
from harness.report.views.notes import notes
from harness.scoring.doubts import DoubtKind
from harness.scoring.duels import Duel, attempts_duel, win_table
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class CriterionPair:
    """One criterion of both models."""

    criterion: Criterion
    left: CriterionSide
    right: CriterionSide

    @cached_property
    def measured(self) -> bool:
        """True if either side has a figure."""
        return self.left.measured or self.right.measured

    @property
    def drawn(self) -> bool:
        """True if a side has drawn cases, all of them right."""
        return any(
            side.evidence and side.evidence.draws and not side.evidence.draws.failed for side in (self.left, self.right)
        )

    @cached_property
    def lead(self) -> float | None:
        """Share met on the left less that on the right; None unless both were assessed."""
        if self.left.met is None or self.right.met is None:
            return None
        return self.left.met - self.right.met


@dataclass(frozen=True)
class ChallengeComparison:
    """One challenge that both have answered; rows are in rubric order."""

    challenge: Challenge
    left: ModelAnswer
    right: ModelAnswer
    duel: Duel
    rows: tuple[CriterionPair, ...]

    @property
    def apart(self) -> tuple[CriterionPair, ...]:
        """Criteria that differ, gravest first."""
        return tuple(row for row in self._gravest_first if row.lead)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Criteria that both miss wholly, gravest first."""
        return tuple(row.criterion.id for row in self._gravest_first if row.left.met == row.right.met == 0)

    @property
    def half_met(self) -> tuple[str, ...]:
        """Criteria that both meet in the same part, with that part, gravest first."""
        rows = (row for row in self._gravest_first if row.lead == 0 and row.left.met not in (0, 1))
        return tuple(f"{row.criterion.id} ({_parts_met(row)})" for row in rows)

    @property
    def _gravest_first(self) -> list[CriterionPair]:
        return sorted(self.rows, key=lambda row: -row.criterion.severity.weight)

    @property
    def one_sided(self) -> tuple[str, ...]:
        """Criteria assessed on one side only, which no duel counts."""
        return tuple(r.criterion.id for r in self.rows if (r.left.met is None) != (r.right.met is None))

    def ahead(self, row: CriterionPair) -> str:
        """Return the model that earned more on a criterion, or empty."""
        return "" if not row.lead else self.left.model if row.lead > 0 else self.right.model

    @property
    def result(self) -> str:
        """Winner, margin and basis in a sentence."""
        return duel_sentence(self.duel, {a.model: a.marked.overall for a in (self.left, self.right)})


@dataclass(frozen=True)
class ModelComparison:
    """Two models on every challenge they share.

    Attributes:
        challenges: those with a record of both, by id.
        alone: `MODEL/CHALLENGE` with a record of one only.
        tally: duels won by each; a split is half for both.
        notes: warnings about comparing these records.
    """

    left: str
    right: str
    challenges: tuple[ChallengeComparison, ...]
    alone: tuple[str, ...]
    tally: tuple[float, float]
    notes: tuple[str, ...]


def compare(
    challenges: Iterable[Challenge],
    records: Iterable[Record],
    left: str,
    right: str,
    doubts: Mapping[str, tuple[DoubtKind, ...]] = MappingProxyType({}),
) -> ModelComparison:
    """Compare two models; only the duels are scored anew, on criteria assessed on both.

    Args:
        challenges: in any order; records of other challenges are left out, with a note.
        records: records of at least these two models, in any order.
        doubts: doubts about records, by name.
    """
    own = sorted((r for r in records if r.model in (left, right)), key=lambda r: (r.challenge, r.submission_name.order))
    by_name = {(answer.model, answer.challenge): answer for answer in answers(own)}
    rubrics = sorted(challenges, key=lambda c: c.id)
    both = [c for c in rubrics if (left, c.id) in by_name and (right, c.id) in by_name]
    pairs = [(by_name[left, c.id], by_name[right, c.id]) for c in both]
    found = tuple(
        compare_challenge(c, sides(one), sides(other), attempts_duel(c, one.records, other.records))
        for c, (one, other) in zip(both, pairs, strict=True)
    )
    shared = {c.id for c in both}
    wins = win_table([left, right], [one.duel for one in found])
    return ModelComparison(
        left,
        right,
        found,
        alone=tuple(dict.fromkeys(r.submission_name.answer for r in own if r.challenge not in shared)),
        tally=(float(wins[0, 1]), float(wins[1, 0])),
        notes=notes(rubrics, [RecordSummary.of(record, doubts.get(record.name, ())) for record in own]),
    )


def compare_challenge(challenge: Challenge, left: AnswerSides, right: AnswerSides, result: Duel) -> ChallengeComparison:
    """Compare two answers to one challenge criterion by criterion."""
    left_sides, right_sides = left.by_criterion, right.by_criterion
    rows = tuple(
        CriterionPair(c, left_sides.get(c.id, ABSENT), right_sides.get(c.id, ABSENT)) for c in challenge.criteria
    )
    return ChallengeComparison(challenge, left.answer, right.answer, result, rows)


def _parts_met(row: CriterionPair) -> str:
    return " and ".join(dict.fromkeys(side.share for side in (row.left, row.right)))
