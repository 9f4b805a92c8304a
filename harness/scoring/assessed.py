"""Records laid out for marking them again on a part of their criteria."""

from collections.abc import Mapping
from fractions import Fraction

from harness.model import Challenge, Status
from harness.numerics.rounding import exact, half_up
from harness.scoring.gates import ceilings
from harness.scoring.marks import credited, weighted_mean
from harness.scoring.record_summary import CriterionResult, RecordSummary


def assessed_record(challenge: Challenge, summary: RecordSummary) -> "AssessedRecord | KnownRecord":
    """What a record assessed, which is laid out once that is needed."""
    criteria = None if summary.whole is None else summary.assessed_of(sorted(c.id for c in challenge.criteria))
    return AssessedRecord(challenge, summary) if criteria is None else KnownRecord(challenge, summary, criteria)


class KnownRecord:
    """A record of which it is known what it assessed, and its mark on all of that.

    Attributes:
        criteria: ids.
    """

    def __init__(self, challenge: Challenge, summary: RecordSummary, criteria: frozenset[str]) -> None:
        self.criteria = criteria
        self._challenge, self._summary = challenge, summary
        self._laid_out: AssessedRecord | None = None

    def mark(self, common: frozenset[str]) -> float | None:
        """In whole points, on these of its criteria; None where there are none."""
        if common == self.criteria:
            return self._summary.whole
        self._laid_out = self._laid_out or AssessedRecord(self._challenge, self._summary)
        return self._laid_out.mark(common)


class AssessedRecord:
    """What a record assessed, laid out for marking parts of it.

    Attributes:
        criteria: ids.
    """

    def __init__(self, challenge: Challenge, summary: RecordSummary) -> None:
        self._weights: Mapping[str, Fraction] = {d.id: exact(d.weight) for d in challenge.dimensions}
        self._built = summary.status is not Status.BUILD_FAILED
        self._results: dict[str, list[tuple[CriterionResult, Fraction | int]]] = {}
        self._marks: dict[frozenset[str], float | None] = {}
        for result in summary.results:
            if result.satisfied is not None:
                credit = credited(result.satisfied, result.weight)
                self._results.setdefault(result.dimension, []).append((result, credit))
        self.criteria = frozenset(result.criterion for own in self._results.values() for result, _ in own)

    def mark(self, common: frozenset[str]) -> float | None:
        """In whole points, on these of its criteria; None where there are none."""
        if common not in self._marks:
            self._marks[common] = self._mark(common)
        return self._marks[common]

    def _mark(self, common: frozenset[str]) -> float | None:
        results = {
            id: [(result, credit) for result, credit in own if result.criterion in common]
            for id, own in self._results.items()
        }
        failed = [id for id, own in results.items() for result, _ in own if result.gates]
        tops = ceilings(failed, built=self._built)
        points: dict[str, Fraction] = {}
        for id, own in results.items():
            if own and id in self._weights:
                point = Fraction(100 * sum(credit for _, credit in own), sum(result.weight for result, _ in own))
                points[id] = min(point, exact(tops[id])) if id in tops else point
        if not points:
            return None
        mean = half_up(weighted_mean(points.values(), [self._weights[id] for id in points]))
        return float(min(mean, exact(tops[None])) if None in tops else mean)
