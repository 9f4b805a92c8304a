"""Tables of criteria by answer to a challenge."""

from collections.abc import Collection as Names
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from harness.model import Challenge, Criterion, Dimension, Evidence, Finding, Outcome
from harness.report import formatting
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import met
from harness.scoring.attempts import Attempts, CriterionTally


@dataclass(frozen=True)
class Cell:
    """Outcome of one criterion for one submission."""

    outcome: str
    failed: bool = False
    reason: str = ""
    figures: str = ""


@dataclass(frozen=True)
class CriterionRow:
    """One criterion in every answer."""

    criterion: Criterion
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class DimensionSection:
    """One dimension in every answer."""

    dimension: Dimension
    standings: tuple[str, ...]
    rows: tuple[CriterionRow, ...]


@dataclass(frozen=True)
class _Column:
    """One answer: evidence and findings by criterion, or the tallies of several attempts."""

    seen: Mapping[str, Evidence]
    found: Mapping[str, Finding]
    attempts: Attempts | None
    unmarked: Names[str]

    @classmethod
    def of(cls, answer: ModelAnswer) -> Self:
        record = answer.shown
        seen = {e.criterion: e for e in record.evidence}
        return cls(seen, {f.criterion: f for f in record.findings}, answer.attempts, record.unmarked.keys())

    def cell(self, criterion: Criterion) -> Cell:
        if criterion.id in self.unmarked and criterion.id in self.seen:
            return Cell(f"{formatting.outcome(self.seen[criterion.id])}, in no mark")
        if self.attempts is None:
            return _cell(criterion, self.seen, self.found)
        tallies = {tally.criterion: tally for tally in self.attempts.criteria}
        return _counted(self.attempts, tallies.get(criterion.id), criterion.id)


def criteria_tables(challenge: Challenge, answers: Sequence[ModelAnswer]) -> Iterator[DimensionSection]:
    """Yield every dimension with its criteria, and a cell per answer in their order."""
    columns = [_Column.of(answer) for answer in answers]
    for dimension in challenge.dimensions:
        yield DimensionSection(
            dimension,
            standings=tuple(
                formatting.dimension(challenge, dimension.id, a.shown, a.marked.dimensions.get(dimension.id))
                for a in answers
            ),
            rows=tuple(
                CriterionRow(c, tuple(each.cell(c) for each in columns))
                for c in challenge.criteria
                if c.dimension == dimension.id
            ),
        )


def _cell(criterion: Criterion, evidence: Mapping[str, Evidence], findings: Mapping[str, Finding]) -> Cell:
    seen = evidence.get(criterion.id)
    if seen is None:
        return Cell("not in this record")
    if not seen.outcome.assessed:
        return Cell(formatting.outcome(seen), reason=formatting.unassessed(criterion, seen))
    finding = findings.get(criterion.id)
    failed = seen.outcome is Outcome.FAILED and not seen.rests_on
    reason = finding.title if finding and failed else ""
    return Cell(formatting.outcome(seen), failed, reason, formatting.measured(seen))


def _counted(attempts: Attempts, tally: CriterionTally | None, criterion: str) -> Cell:
    if tally is None:
        return Cell("not in these records")
    own = [fault for fault in attempts.faults if fault.criterion == criterion]
    common = max(own, key=lambda fault: fault.attempts, default=None)
    return Cell(
        met(tally, len(attempts.marked)), bool(tally.assessed) and not tally.met, common.title if common else ""
    )
