"""Marks on subsets of criteria."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from harness.model import Challenge, Severity, Status
from harness.numerics.rounding import exact, half_up
from harness.scoring import gates
from harness.scoring.marks import compute_credit, compute_mean
from harness.scoring.record_summary import GATED, CriterionResult, RecordSummary, rubric_hash

TIE = 1e-6
"""Distance from a half point within which a mean is computed exactly, as floats may round wrongly."""
NO_MARK = -1


class RubricColumns:
    """Criteria of a rubric as columns, in the order of `RecordSummary.shares`.

    Attributes:
        graded_by: its `rubric_hash`.
        severity: (criteria,), weights within their dimensions.
        headings: (dimensions, criteria), 1 for a criterion of the dimension.
        weights: (dimensions,), weights in the overall.
        correctness: (dimensions,), true for correctness.
    """

    def __init__(self, challenge: Challenge) -> None:
        self.challenge = challenge
        self._criteria = sorted(challenge.criteria, key=lambda c: c.id)
        self.ids = tuple(c.id for c in self._criteria)
        self.graded_by = rubric_hash(challenge)
        self.severity = np.array([c.severity.weight for c in self._criteria], float)
        named = [d.id for d in challenge.dimensions]
        self.headings = np.array([[c.dimension == id for c in self._criteria] for id in named], float)
        self.weights = np.array([d.weight for d in challenge.dimensions], float)
        self.correctness = np.array([id == gates.CORRECTNESS for id in named])

    def exact(self, shares: Iterable[float], *, built: bool) -> "AssessedRecord":
        """Return the record with these shares, for exact marking."""
        results = [
            CriterionResult(c.id, c.dimension, c.severity.weight, max(share, 0.0), share == GATED)
            for c, share in zip(self._criteria, shares, strict=True)
            if not math.isnan(share)
        ]
        return AssessedRecord(self.challenge, results, built=built)


class AssessedAttempts:
    """Records of one model at one challenge."""

    def __init__(self, rubric: RubricColumns, summaries: Sequence[RecordSummary]) -> None:
        self._rubric = rubric
        self._count = len(summaries)
        alike = [summary.criteria == rubric.graded_by for summary in summaries]
        self._known = np.flatnonzero(alike)
        self._others = {
            number: AssessedRecord(rubric.challenge, one.results, built=_does_build(one))
            for number, one in enumerate(summaries)
            if not alike[number]
        }
        known = [one for one, is_known in zip(summaries, alike, strict=True) if is_known]
        self._shares = np.frombuffer(b"".join(one.shares for one in known)).reshape(len(known), len(rubric.ids))
        self._built = np.array([_does_build(one) for one in known], bool)

    @cached_property
    def criteria(self) -> frozenset[str]:
        """Criteria assessed in every record."""
        every = [one.criteria for one in self._others.values()]
        if len(self._known):
            everywhere = ~np.isnan(self._shares).any(axis=0)
            every.append(frozenset(self._rubric.ids[number] for number in np.flatnonzero(everywhere).tolist()))
        return frozenset.intersection(*every)

    @cached_property
    def missed(self) -> frozenset[str]:
        """Critical criteria that are assessed in every record and cap the marks of some."""
        critical = {c.id for c in self._rubric.challenge.criteria if c.severity is Severity.CRITICAL}
        here = np.flatnonzero((self._shares == GATED).any(axis=0)).tolist()
        capped = frozenset(self._rubric.ids[number] for number in here)
        return capped.union(*(one.capped for one in self._others.values())) & self.criteria & critical

    def marks(self, common: frozenset[str]) -> NDArray[np.int16]:
        """Return (records,), whole points on a subset `common` of `criteria`; `NO_MARK` if unmarked."""
        found = np.full(self._count, NO_MARK, np.int16)
        if common and len(self._known):
            found[self._known] = self._compute_marks(common)
        for number, one in self._others.items():
            mark = one.mark(common)
            found[number] = NO_MARK if mark is None else mark
        return found

    def _compute_marks(self, common: frozenset[str]) -> NDArray[np.float64]:
        rubric = self._rubric
        columns = np.array([id in common for id in rubric.ids])
        severity, shares = rubric.severity[columns], self._shares[:, columns]
        headings = rubric.headings[:, columns]
        assessed = headings @ severity
        headings, weights = headings[assessed > 0], rubric.weights[assessed > 0]
        gated = (shares == GATED) @ headings.T
        points = 100 * (np.maximum(shares, 0) * severity) @ headings.T / assessed[assessed > 0]
        points = np.where(gated > 0, np.minimum(points, gates.CRITICAL_DIMENSION), points)
        unbuilt = ~self._built[:, None] & rubric.correctness[assessed > 0]
        points = np.where(unbuilt, np.minimum(points, gates.UNBUILT_CORRECTNESS), points)
        critical = np.maximum(shares[:, severity == Severity.CRITICAL.weight], 0)
        unmet = 1 - critical.mean(axis=1) if critical.shape[1] else np.zeros(len(shares))
        means = np.minimum(points @ weights / weights.sum(), self._compute_tops(gated.sum(axis=1), unmet))
        marks: NDArray[np.float64] = np.floor(means + 0.5)
        for number in np.flatnonzero(np.abs(means + 0.5 - np.round(means + 0.5)) < TIE).tolist():
            mark = rubric.exact(self._shares[number].tolist(), built=bool(self._built[number])).mark(common)
            assert mark is not None
            marks[number] = mark
        return marks

    def _compute_tops(self, gated: NDArray[np.float64], unmet: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return upper bounds of marks from the number of failed critical criteria and the unmet critical share."""
        several = np.where(gated > 1, gates.MORE_CRITICAL_OVERALL, gates.ONE_CRITICAL_OVERALL)
        tops = np.where(self._built, np.where(gated > 0, several, np.inf), gates.UNBUILT_OVERALL)
        return tops - gates.UNMET_POINTS * unmet


class AssessedRecord:
    """Assessed criteria of a record, for exact marks on subsets."""

    def __init__(self, challenge: Challenge, results: Iterable[CriterionResult], *, built: bool) -> None:
        self._weights: Mapping[str, Fraction] = {d.id: exact(d.weight) for d in challenge.dimensions}
        self._built = built
        self._results: dict[str, list[tuple[CriterionResult, Fraction | int]]] = {}
        for result in results:
            if result.satisfied is not None:
                credit = compute_credit(result.satisfied, result.weight)
                self._results.setdefault(result.dimension, []).append((result, credit))
        every = [result for own in self._results.values() for result, _ in own]
        self.criteria = frozenset(result.criterion for result in every)
        self.capped = frozenset(result.criterion for result in every if result.gates)

    def mark(self, common: frozenset[str]) -> float | None:
        """Return whole points on the criteria in `common`, or None if none is assessed."""
        results = {
            id: [(result, credit) for result, credit in own if result.criterion in common]
            for id, own in self._results.items()
        }
        failed = [id for id, own in results.items() for result, _ in own if result.gates]
        tops = gates.ceilings(failed, built=self._built)
        points: dict[str, Fraction] = {}
        for id, own in results.items():
            if own and id in self._weights:
                point = Fraction(100 * sum(credit for _, credit in own), sum(result.weight for result, _ in own))
                points[id] = min(point, exact(tops[id])) if id in tops else point
        if not points:
            return None
        mean = compute_mean(points.values(), [self._weights[id] for id in points])
        if None in tops:
            mean = min(
                mean, gates.lower_ceiling(tops[None], _compute_critical_share(chain.from_iterable(results.values())))
            )
        return float(half_up(mean))


def _compute_critical_share(results: Iterable[tuple[CriterionResult, Fraction | int]]) -> Fraction:
    # a percentage, as `gates.lower_ceiling` takes it
    weight = Severity.CRITICAL.weight
    credits = [credit for result, credit in results if result.weight == weight]
    return Fraction(100 * sum(credits), weight * len(credits)) if credits else Fraction(100)


def _does_build(summary: RecordSummary) -> bool:
    return summary.status is not Status.BUILD_FAILED
