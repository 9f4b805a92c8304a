"""Summaries of records for tables."""

import hashlib
import json
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

from harness.model import INTEGRITY, Challenge, Evidence, Provenance, Record, Score, Severity, Status
from harness.model.submissions.name import SubmissionName
from harness.scoring.doubts import DoubtKind

GATED = -1.0
"""Share that stands for an unmet criterion that caps marks."""
_PROVENANCES = {each.value: each for each in Provenance}
_STATUSES = {each.value: each for each in Status}


@dataclass(frozen=True)
class CriterionResult:
    """One criterion of a record.

    Attributes:
        satisfied: share met, 0 to 1; None if unassessed or unmarked.
        gates: true if it caps marks.
    """

    criterion: str
    dimension: str
    weight: int
    satisfied: float | None
    gates: bool


@dataclass(frozen=True)
class FindingTitle:
    """Summary of a finding."""

    criterion: str
    severity: Severity
    title: str


@dataclass(frozen=True)
class RecordSummary:
    """Values of a record that can be read without it.

    Attributes:
        ranked: false for another version of the rubric, whatever the record says.
        integrity: number of findings about conduct in the sandbox.
        criteria: hash of its criteria; see `rubric_hash`.
        shares: 64-bit floats, sorted by criterion: share met, `GATED` if it caps marks, NaN if unassessed or unmarked.
        doubts: doubts that do not refuse it.
        details: function that returns rarely used values as JSON.
    """

    submission_name: SubmissionName
    provenance: Provenance
    status: Status
    ranked: bool
    turns: int
    overall: Score
    harness: str
    tier: str
    device: str
    integrity: int
    criteria: str
    shares: bytes
    doubts: tuple[DoubtKind, ...]
    details: Callable[[], str] = field(compare=False)

    @classmethod
    def of(cls, record: Record, doubts: Iterable[DoubtKind] = ()) -> Self:
        """Summarise a record."""
        kinds = tuple(doubts)
        ranked = record.ranked and DoubtKind.OLDER_RUBRIC not in kinds
        findings, unmarked = record.findings, record.unmarked

        def is_assessed(e: Evidence) -> bool:
            return e.outcome.assessed and e.criterion not in unmarked

        details = {
            "of_submission": record.of_submission,
            "unanswered": record.unanswered,
            "unread": record.unread,
            "dimensions": {id: list_numbers(score) for id, score in record.dimensions.items()},
            "findings": [(f.criterion, f.severity.value, f.title) for f in findings],
            "results": [
                (
                    e.criterion,
                    e.dimension,
                    e.severity.weight,
                    e.satisfied if is_assessed(e) else None,
                    is_assessed(e) and e.gates,
                )
                for e in record.evidence
            ],
        }
        text = json.dumps(details)
        by_id = sorted(record.evidence, key=lambda e: e.criterion)
        return cls(
            record.submission_name,
            record.provenance,
            record.status,
            ranked,
            record.turns,
            record.overall,
            record.environment.harness,
            record.environment.tier.value,
            record.environment.device,
            sum(f.criterion == INTEGRITY for f in findings),
            _hash_criteria((e.criterion, e.dimension, e.severity) for e in by_id),
            array("d", (_get_share(e) if is_assessed(e) else math.nan for e in by_id)).tobytes(),
            kinds,
            lambda: text,
        )

    @property
    def model(self) -> str:
        """Model id."""
        return self.submission_name.model

    @property
    def challenge(self) -> str:
        """Challenge id."""
        return self.submission_name.challenge

    @property
    def name(self) -> str:
        """Name on the command line."""
        return str(self.submission_name)

    @cached_property
    def dimensions(self) -> Mapping[str, Score]:
        """Marks by dimension."""
        return {id: _to_score(*numbers) for id, numbers in self._details["dimensions"].items()}

    @cached_property
    def findings(self) -> tuple[FindingTitle, ...]:
        """Findings in order."""
        return tuple(FindingTitle(id, Severity(severity), title) for id, severity, title in self._details["findings"])

    @cached_property
    def results(self) -> tuple[CriterionResult, ...]:
        """Criteria in order."""
        return tuple(CriterionResult(*values) for values in self._details["results"])

    @property
    def of_submission(self) -> bool:
        """Value of the record."""
        return bool(self._details["of_submission"])

    @property
    def unanswered(self) -> bool:
        """Value of the record."""
        return bool(self._details["unanswered"])

    @property
    def unread(self) -> bool:
        """Value of the record; false in summaries older than the field."""
        return bool(self._details.get("unread"))

    @property
    def _details(self) -> Any:
        return json.loads(self.details())

    def row(self) -> tuple[str | float | bytes | None, ...]:
        """Return all values except name and details as columns."""
        return (
            self.provenance.value,
            self.status.value,
            int(self.ranked),
            self.turns,
            *list_numbers(self.overall),
            self.harness,
            self.tier,
            self.device,
            self.integrity,
            self.criteria,
            self.shares,
            " ".join(self.doubts),
        )

    @classmethod
    def of_row(cls, name: SubmissionName, row: Sequence[Any], details: Callable[[], str]) -> Self:
        """Restore a summary from `row`."""
        provenance, status, ranked, turns, point, low, high, coverage = row[:8]
        harness, tier, device, integrity, criteria, shares, doubts = row[8:]
        return cls(
            name,
            _PROVENANCES[provenance],
            _STATUSES[status],
            bool(ranked),
            turns,
            _to_score(point, low, high, coverage),
            harness,
            tier,
            device,
            integrity,
            criteria,
            shares,
            _parse_kinds(doubts),
            details,
        )


def rubric_hash(challenge: Challenge) -> str:
    """Return the hash of a rubric's criteria with dimensions and severities."""
    return _hash_criteria((c.id, c.dimension, c.severity) for c in challenge.criteria)


def _hash_criteria(criteria: Iterable[tuple[str, str, Severity]]) -> str:
    return hashlib.sha256(" ".join(map(" ".join, sorted(criteria))).encode()).hexdigest()[:16]


def _get_share(evidence: Evidence) -> float:
    return GATED if evidence.gates else evidence.satisfied


def list_numbers(score: Score) -> tuple[float | None, float, float, float]:
    """Return the values of a score in order."""
    return score.score, score.low, score.high, score.coverage


@lru_cache(1 << 8)
def _parse_kinds(text: str) -> tuple[DoubtKind, ...]:
    return tuple(map(DoubtKind, text.split()))


@lru_cache(1 << 16)
def _to_score(point: float | None, low: float, high: float, coverage: float) -> Score:
    # cached: boards repeat a few scores, and constructing them dominates reading
    return Score(score=point, low=low, high=high, coverage=coverage)
