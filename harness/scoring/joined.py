"""Scores that count reviewers' marks."""

from collections.abc import Iterable
from statistics import median

from harness.model import Challenge, Criterion, Evidence, Outcome, Record, Review, ReviewerKind, Status
from harness.scoring.score import Scored, score


def join_reviews(challenge: Challenge, record: Record, reviews: Iterable[Review]) -> Scored | None:
    """Return the score with the median of the reviewers' marks on each unmeasured criterion, or None without any.

    Published reviews are ignored.
    """
    marks: dict[str, list[float]] = {}
    for review in reviews:
        if review.reviewer.kind is not ReviewerKind.PUBLISHED and review.model == record.model:
            for mark in review.marks:
                marks.setdefault(mark.target, []).append(mark.mark)
    asked = {c.id for c in challenge.criteria if c.review}
    reviewed = {e.criterion for e in record.evidence if e.criterion in asked & set(marks) and not e.outcome.assessed}
    if not reviewed or {e.criterion for e in record.evidence} != {c.id for c in challenge.criteria}:
        return None
    evidence = [
        _make_evidence(challenge.criterion(e.criterion), median(marks[e.criterion])) if e.criterion in reviewed else e
        for e in record.evidence
    ]
    built = record.status is not Status.BUILD_FAILED
    return score(challenge, evidence, built=built, unmarked=record.unmarked)


def _make_evidence(criterion: Criterion, mark: float) -> Evidence:
    outcome = {0.0: Outcome.FAILED, 100.0: Outcome.PASSED}.get(mark, Outcome.PARTIAL)
    fraction = mark / 100 if outcome is Outcome.PARTIAL else None
    return Evidence.of(criterion, outcome, fraction=fraction, detail="marked by reviewers")
