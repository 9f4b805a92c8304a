"""What tables over many records show of each, in plain values that are read without the record."""

import hashlib
import json
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

from harness.model import INTEGRITY, Challenge, Evidence, Provenance, Record, Score, Severity, Status
from harness.model.submission_name import SubmissionName
from harness.scoring.doubts import DoubtKind

GATED = -1.0
"""Stands for the share of a criterion that is not met and caps marks."""
_PROVENANCES = {each.value: each for each in Provenance}
_STATUSES = {each.value: each for each in Status}


@dataclass(frozen=True)
class CriterionResult:
    """One criterion of a record.

    Attributes:
        criterion, dimension: ids.
        weight: of its severity.
        satisfied: share that is met, 0 to 1; None where it was not assessed or enters no mark.
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
        submission_name, provenance, status, turns, overall: as in the record.
        ranked: as in the record, and false of one of another version of the rubric.
        harness, tier, device: of its environment.
        integrity: how many findings tell of conduct in the box.
        criteria: hash of those it was graded by, with their headings and severities; see `rubric_hash`.
        shares: of each of these, by id, the share that is met as a 64-bit float, `GATED` where it caps marks, NaN where
            it was not assessed or enters no mark.
        doubts: what is doubtful about it, of what does not refuse it.
        details: gives JSON of what few tables show; the properties read it.
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
        """Summarise a record of which `doubts` were found."""
        kinds = tuple(doubts)
        ranked = record.ranked and DoubtKind.OLDER_RUBRIC not in kinds
        findings, unmarked = record.findings, record.unmarked

        def assessed(e: Evidence) -> bool:
            return e.outcome.assessed and e.criterion not in unmarked

        details = {
            "of_submission": record.of_submission, "unanswered": record.unanswered, "unread": record.unread,
            "dimensions": {id: _numbers(score) for id, score in record.dimensions.items()},
            "findings": [(f.criterion, f.severity.value, f.title) for f in findings],
            "results": [
                (e.criterion, e.dimension, e.severity.weight, e.satisfied if assessed(e) else None,
                 assessed(e) and e.gates)
                for e in record.evidence
            ],
        }  # fmt: skip
        text = json.dumps(details)
        by_id = sorted(record.evidence, key=lambda e: e.criterion)
        return cls(
            record.submission_name, record.provenance, record.status, ranked, record.turns, record.overall,
            record.environment.harness, record.environment.tier.value, record.environment.device,
            sum(f.criterion == INTEGRITY for f in findings),
            _criteria_hash((e.criterion, e.dimension, e.severity) for e in by_id),
            array("d", (_share(e) if assessed(e) else math.nan for e in by_id)).tobytes(), kinds, lambda: text,
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
    def unanswered(self) -> bool:
        """As in the record."""
        return bool(self._details["unanswered"])

    @property
    def unread(self) -> bool:
        """As in the record; what was stored before there was such a field is none."""
        return bool(self._details.get("unread"))

    @property
    def _details(self) -> Any:
        return json.loads(self.details())

    def row(self) -> tuple[str | float | bytes | None, ...]:
        """All but its name and its details, as the columns of a table; `of_row` reads them."""
        return (
            self.provenance.value, self.status.value, int(self.ranked), self.turns, *_numbers(self.overall),
            self.harness, self.tier, self.device, self.integrity, self.criteria, self.shares, " ".join(self.doubts),
        )  # fmt: skip

    @classmethod
    def of_row(cls, name: SubmissionName, row: Sequence[Any], details: Callable[[], str]) -> Self:
        """What `row` wrote of the submission of that name."""
        provenance, status, ranked, turns, point, low, high, coverage = row[:8]
        harness, tier, device, integrity, criteria, shares, doubts = row[8:]
        return cls(
            name, _PROVENANCES[provenance], _STATUSES[status], bool(ranked), turns, _score(point, low, high, coverage),
            harness, tier, device, integrity, criteria, shares, _kinds(doubts), details,
        )  # fmt: skip


def rubric_hash(challenge: Challenge) -> str:
    """What `RecordSummary.criteria` is of records that were graded by this rubric."""
    return _criteria_hash((c.id, c.dimension, c.severity) for c in challenge.criteria)


def _criteria_hash(criteria: Iterable[tuple[str, str, Severity]]) -> str:
    return hashlib.sha256(" ".join(map(" ".join, sorted(criteria))).encode()).hexdigest()[:16]


def _share(evidence: Evidence) -> float:
    return GATED if evidence.gates else evidence.satisfied


def _numbers(score: Score) -> tuple[float | None, float, float, float]:
    return score.score, score.low, score.high, score.coverage


@lru_cache(1 << 8)
def _kinds(text: str) -> tuple[DoubtKind, ...]:
    return tuple(map(DoubtKind, text.split()))


@lru_cache(1 << 16)
def _score(point: float | None, low: float, high: float, coverage: float) -> Score:
    """Boards of many records repeat a few, and making one is most of reading a record in short."""
    return Score(score=point, low=low, high=high, coverage=coverage)
