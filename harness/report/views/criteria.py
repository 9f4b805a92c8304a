"""Criteria by answer to a challenge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Criterion, Dimension
from harness.report import formatting
from harness.report.views.answers import ModelAnswer
from harness.report.views.criterion_sides import ABSENT, CriterionSide, sides


@dataclass(frozen=True)
class CriterionRow:
    """One criterion in every answer."""

    criterion: Criterion
    cells: tuple[CriterionSide, ...]


@dataclass(frozen=True)
class DimensionSection:
    """One dimension in every answer."""

    dimension: Dimension
    standings: tuple[str, ...]
    rows: tuple[CriterionRow, ...]


def criteria_tables(challenge: Challenge, answers: Sequence[ModelAnswer]) -> Iterator[DimensionSection]:
    """Yield every dimension with its criteria, and a cell per answer in their order."""
    columns = [sides(answer).by_criterion for answer in answers]
    for dimension in challenge.dimensions:
        own = (c for c in challenge.criteria if c.dimension == dimension.id)
        standings = (
            formatting.dimension(challenge, dimension.id, a.shown, a.marked.dimensions.get(dimension.id))
            for a in answers
        )
        rows = (CriterionRow(c, tuple(column.get(c.id, ABSENT) for column in columns)) for c in own)
        yield DimensionSection(dimension, tuple(standings), tuple(rows))
