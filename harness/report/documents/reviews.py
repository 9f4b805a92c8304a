"""Reviews of one submission, beside its measured marks."""

from collections.abc import Iterable, Iterator, Sequence

from harness.model import Challenge, Mark, Record, Review, ReviewerKind
from harness.report import document as doc
from harness.report import formatting
from harness.scoring.joined import join_reviews


def review_blocks(challenge: Challenge, record: Record, reviews: Iterable[Review]) -> Iterator[doc.Block]:
    """Yield the reviews of a submission among `reviews`: marks, reasons and quotes; nothing without one."""
    name = (record.model, record.challenge, record.attempt)
    own = sorted(
        (r for r in reviews if (r.model, r.challenge, r.attempt) == name),
        key=lambda r: (r.reviewer.kind, str(r.reviewer.date), r.reviewer.id),
    )
    if not own:
        return
    yield doc.Paragraph("Shown beside; no measured mark holds any of it.", "small")
    lines = (
        (title, measured, *marks) for title, measured, marks in (*_rows(challenge, record, own), _overall(record, own))
    )
    titles = ("Of what", "Measured", *map(_reviewer, own))
    yield doc.table(titles, lines, f"Reviews of {record.model} on {challenge.title}")
    names = {d.id: d.title for d in challenge.dimensions} | {c.id: c.title.rstrip(".") for c in challenge.criteria}
    remarks: tuple[doc.Inline, ...] = tuple(
        (
            f"{names.get(mark.target, mark.target)}, {_reviewer(review)}: {mark.remark or 'no reason given'}",
            *((" (", doc.code(quote.file), ": ", doc.TextRun(quote.text, "quote"), ")") for quote in mark.quotes),
        )
        for review in own
        for mark in review.marks
        if mark.remark or mark.quotes
    )
    if remarks:
        yield doc.List(remarks)
    if together := join_reviews(challenge, record, own):
        told = "With the reviewers' marks for what nothing can measure, the overall would be"
        yield doc.Paragraph(f"{told} {formatting.standing(together.overall)}.")


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
