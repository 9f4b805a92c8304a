"""The measured evidence of one submission with what reviewers said of the criteria that nothing can measure.

Shown beside the measured score and never in its place. Only criteria with a question to a reviewer are joined, and only
where nothing was measured; published reviews never are.
"""

from collections.abc import Iterable
from statistics import median

from harness.model import Challenge, Criterion, Evidence, Outcome, Record, Review, ReviewerKind, Status
from harness.scoring.score import Scored, score


def joined(challenge: Challenge, record: Record, reviews: Iterable[Review]) -> Scored | None:
    """The score with the median of the reviewers' marks for each criterion they may mark; None where they marked none.

    Args:
        challenge: the rubric.
        record: the grade of one submission.
        reviews: of the same submission, of any kind.
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
        _marked(challenge.criterion(e.criterion), median(marks[e.criterion])) if e.criterion in reviewed else e
        for e in record.evidence
    ]
    built = record.status is not Status.BUILD_FAILED
    return score(challenge, evidence, built=built, unmarked=record.unmarked)


def _marked(criterion: Criterion, mark: float) -> Evidence:
    """A criterion as its reviewers saw it; 0 is a failed one, 100 a passed one."""
    outcome = {0.0: Outcome.FAILED, 100.0: Outcome.PASSED}.get(mark, Outcome.PARTIAL)
    fraction = mark / 100 if outcome is Outcome.PARTIAL else None
    return Evidence.of(criterion, outcome, fraction=fraction, detail="marked by reviewers")
