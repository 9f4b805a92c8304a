"""Criteria by answer to a challenge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Criterion, Dimension, Outcome
from harness.report import formatting
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import met
from harness.scoring.attempts import Attempts

KINDS = {Outcome.PASSED: "passed", Outcome.PARTIAL: "part", Outcome.FAILED: "failed", Outcome.NOT_OFFERED: "unoffered"}
"""Kind of an outcome, which tables show as a shape and a colour; any other is open."""


@dataclass(frozen=True)
class CriterionCell:
    """One criterion in one answer: a kind of `KINDS`, or lost, open or unasked, and the outcome in words."""

    kind: str
    outcome: str


@dataclass(frozen=True)
class CriterionRow:
    """One criterion in every answer."""

    criterion: Criterion
    cells: tuple[CriterionCell, ...]


@dataclass(frozen=True)
class DimensionSection:
    """One dimension in every answer."""

    dimension: Dimension
    standings: tuple[str, ...]
    rows: tuple[CriterionRow, ...]


def criteria_tables(challenge: Challenge, answers: Sequence[ModelAnswer]) -> Iterator[DimensionSection]:
    """Yield every dimension with its criteria, and a cell per answer in their order."""
    columns = [_cells(challenge, answer) for answer in answers]
    for dimension in challenge.dimensions:
        own = [c for c in challenge.criteria if c.dimension == dimension.id]
        standings = (
            formatting.dimension(challenge, dimension.id, a.shown, a.marked.dimensions.get(dimension.id))
            for a in answers
        )
        rows = tuple(CriterionRow(c, tuple(column[c.id] for column in columns)) for c in own)
        yield DimensionSection(dimension, tuple(standings), rows)


def _cells(challenge: Challenge, answer: ModelAnswer) -> dict[str, CriterionCell]:
    record = answer.shown
    seen = {e.criterion: e for e in record.evidence}
    counted = _count(answer.attempts) if answer.attempts else None

    def cell(criterion: Criterion) -> CriterionCell:
        item = seen.get(criterion.id)
        if criterion.id in record.unmarked and item:
            return CriterionCell("unasked", formatting.outcome(item))
        if counted is not None:
            return counted.get(criterion.id, CriterionCell("open", "not in these records"))
        if item is None:
            return CriterionCell("open", "not in this record")
        kind = "lost" if item.outcome.assessed and item.rests_on else KINDS.get(item.outcome, "open")
        return CriterionCell(kind, formatting.outcome(item))

    return {criterion.id: cell(criterion) for criterion in challenge.criteria}


def _count(attempts: Attempts) -> dict[str, CriterionCell]:
    of = len(attempts.marked)
    return {
        tally.criterion: CriterionCell(
            "open" if not tally.assessed else "passed" if tally.met == of else "part" if tally.met else "failed",
            met(tally, of),
        )
        for tally in attempts.criteria
    }
