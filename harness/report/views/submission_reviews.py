"""Reviews of one submission, beside its measured marks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Mark, Record, Review, ReviewerKind
from harness.report import formatting
from harness.scoring.joined import join_reviews


@dataclass(frozen=True)
class ReviewRemark:
    """One reviewer's reason for a mark, with quotes from the submission."""

    reviewer: str
    target: str
    text: str
    quotes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SubmissionReviews:
    """All reviews of one submission.

    Attributes:
        reviewers: reviewers in words, in column order.
        rows: subject, measured mark, and each reviewer's mark.
        remarks: reasons for marks.
        joined: overall with the reviewers' marks for unmeasurable criteria; empty without any.
    """

    reviewers: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    remarks: tuple[ReviewRemark, ...]
    joined: str


def submission_reviews(challenge: Challenge, record: Record, reviews: Iterable[Review]) -> SubmissionReviews | None:
    """Return the submission's reviews among `reviews`; None if there are none."""
    name = (record.model, record.challenge, record.attempt)
    own = [r for r in reviews if (r.model, r.challenge, r.attempt) == name]
    if not own:
        return None
    own.sort(key=lambda r: (r.reviewer.kind, str(r.reviewer.date), r.reviewer.id))
    together = join_reviews(challenge, record, own)
    return SubmissionReviews(
        reviewers=tuple(map(_reviewer, own)),
        rows=(*_rows(challenge, record, own), _overall(record, own)),
        remarks=tuple(_remarks(challenge, own)),
        joined=formatting.standing(together.overall) if together else "",
    )


def _reviewer(review: Review) -> str:
    who = review.reviewer
    kind = {ReviewerKind.PERSON: "", ReviewerKind.MODEL: "model ", ReviewerKind.PUBLISHED: "published "}[who.kind]
    return f"{kind}{who.id}, {who.date}"


def _rows(
    challenge: Challenge, record: Record, reviews: Sequence[Review]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    marks = [{mark.target: mark for mark in review.marks} for review in reviews]
    seen = {e.criterion: e for e in record.evidence}
    for dimension in challenge.dimensions:
        if any(dimension.id in own for own in marks):
            measured = formatting.dimension(challenge, dimension.id, record, record.dimensions.get(dimension.id))
            yield dimension.title, measured, tuple(_mark(own.get(dimension.id)) for own in marks)
        for criterion in challenge.criteria:
            if criterion.dimension == dimension.id and any(criterion.id in own for own in marks):
                evidence = seen.get(criterion.id)
                measured = formatting.outcome(evidence) if evidence else formatting.NOT_ASSESSED
                yield criterion.title.rstrip("."), measured, tuple(_mark(own.get(criterion.id)) for own in marks)


def _overall(record: Record, reviews: Sequence[Review]) -> tuple[str, str, tuple[str, ...]]:
    given = tuple("none" if r.overall is None else formatting.mark(r.overall) for r in reviews)
    return "Overall", formatting.standing(record.overall), given


def _mark(mark: Mark | None) -> str:
    if mark is None:
        return "none"
    spread = f" [{formatting.mark(min(mark.repeats))}, {formatting.mark(max(mark.repeats))}]" if mark.repeats else ""
    return formatting.mark(mark.mark) + spread


def _remarks(challenge: Challenge, reviews: Iterable[Review]) -> Iterator[ReviewRemark]:
    titles = {d.id: d.title for d in challenge.dimensions} | {c.id: c.title.rstrip(".") for c in challenge.criteria}
    for review in reviews:
        for mark in review.marks:
            if mark.remark or mark.quotes:
                quotes = tuple((quote.file, quote.text) for quote in mark.quotes)
                yield ReviewRemark(_reviewer(review), titles.get(mark.target, mark.target), mark.remark, quotes)
