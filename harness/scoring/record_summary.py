"""What tables over many records show of each, in plain values that are read without the record."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from harness.model import INTEGRITY, Provenance, Record, Score, Severity, Status
from harness.model.submission_name import SubmissionName
from harness.scoring.gates import gates_marks


@dataclass(frozen=True)
class CriterionResult:
    """One criterion of a record.

    Attributes:
        criterion, dimension: ids.
        weight: of its severity.
        satisfied: share that is met, 0 to 1; None where it was not assessed.
        gates: whether it caps marks.
    """

    criterion: str
    dimension: str
    weight: int
    satisfied: float | None
    gates: bool


@dataclass(frozen=True)
class FindingTitle:
    """A finding in short."""

    criterion: str
    severity: Severity
    title: str


@dataclass(frozen=True)
class RecordSummary:
    """A record in short.

    Attributes:
        submission_name, provenance, status, ranked, overall: as in the record.
        harness, tier, device: of its environment.
        integrity: how many findings tell of conduct in the box.
        criteria: sorted ids of the rubric it was graded by, a space between them.
        details: JSON of what few tables show; the properties read it.
    """

    submission_name: SubmissionName
    provenance: Provenance
    status: Status
    ranked: bool
    overall: Score
    harness: str
    tier: str
    device: str
    integrity: int
    criteria: str
    details: str

    @classmethod
    def of(cls, record: Record) -> Self:
        """Summarise a record."""
        findings = record.findings
        details: dict[str, Any] = {"turns": record.turns} if record.turns > 1 else {}
        details |= {
            "of_submission": record.of_submission,
            "dimensions": {id: _numbers(score) for id, score in record.dimensions.items()},
            "findings": [(f.criterion, f.severity.value, f.title) for f in findings],
            "results": [
                (e.criterion, e.dimension, e.severity.weight, e.satisfied if e.outcome.assessed else None,
                 e.outcome.assessed and gates_marks(e))
                for e in record.evidence
            ],
        }  # fmt: skip
        return cls(
            record.submission_name, record.provenance, record.status, record.ranked, record.overall,
            record.environment.harness, record.environment.tier, record.environment.device,
            sum(f.criterion == INTEGRITY for f in findings),
            criteria_text(e.criterion for e in record.evidence), json.dumps(details),
        )  # fmt: skip

    @property
    def model(self) -> str:
        """Who answered."""
        return self.submission_name.model

    @property
    def challenge(self) -> str:
        """What was answered."""
        return self.submission_name.challenge

    @property
    def name(self) -> str:
        """As the command line takes it."""
        return str(self.submission_name)

    @cached_property
    def turns(self) -> int:
        """As in the record."""
        return int(self._details.get("turns", 1))

    @cached_property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by heading."""
        return {id: _score(*numbers) for id, numbers in self._details["dimensions"].items()}

    @cached_property
    def findings(self) -> tuple[FindingTitle, ...]:
        """Its findings in their order."""
        return tuple(FindingTitle(id, Severity(severity), title) for id, severity, title in self._details["findings"])

    @cached_property
    def results(self) -> tuple[CriterionResult, ...]:
        """Its criteria in their order."""
        return tuple(CriterionResult(*values) for values in self._details["results"])

    @property
    def of_submission(self) -> bool:
        """As in the record."""
        return bool(self._details["of_submission"])

    @property
    def _details(self) -> Any:
        return json.loads(self.details)

    def row(self) -> tuple[str | float | None, ...]:
        """As the columns of a table; `of_row` reads them."""
        return (
            self.model, self.challenge, self.provenance.value, self.status.value, self.ranked, *_numbers(self.overall),
            self.harness, self.tier, self.device, self.integrity, self.criteria, self.details,
        )  # fmt: skip

    @classmethod
    def of_row(cls, name: SubmissionName, row: Sequence[Any]) -> Self:
        """What `row` wrote of the submission of that name."""
        _, _, provenance, status, ranked, *rest = row
        return cls(name, Provenance(provenance), Status(status), bool(ranked), _score(*rest[:4]), *rest[4:])


def criteria_text(ids: Iterable[str]) -> str:
    """Ids as `RecordSummary.criteria` has them."""
    return " ".join(sorted(set(ids)))


def _numbers(score: Score) -> tuple[float | None, float, float, float]:
    return score.score, score.low, score.high, score.coverage


def _score(point: float | None, low: float, high: float, coverage: float) -> Score:
    return Score(score=point, low=low, high=high, coverage=coverage)
