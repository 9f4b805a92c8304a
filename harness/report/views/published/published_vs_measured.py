"""Published marks and defects beside measured ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from harness.model import (
    Challenge,
    Dimension,
    Evidence,
    LetterGrades,
    Outcome,
    Provenance,
    PublishedDefect,
    Record,
    Review,
    ReviewerKind,
    Score,
    Severity,
)
from harness.report import formatting
from harness.report.views.published.agreement import AlphaRow, Pair, TauRow, alpha_row, tau_rows
from harness.report.views.published.defects import (
    DefectRow,
    UnpublishedFailure,
    defect_row,
    origin,
    shared_reason,
    unpublished_failures,
)
from harness.report.views.submission import gates, grouped
from harness.review.defects import DefectRuling, RuledDefect, rule

MOST_DIFFERENCES = 5
"""Most differences listed."""


@dataclass(frozen=True)
class ComparedMark:
    """One dimension, or the overall, of one submission.

    Attributes:
        published: pairs of round and mark, by round.
        score: measured mark; None without a record.
        own_text: True if the measured mark comes from the text of a reconstruction, not the model's.
        page: page of the evidence; empty without a record.
        heading: heading of the evidence there.
        reasons: gates of an overall, in sentences.
        behind: criteria not passed, by outcome.
    """

    model: str
    challenge: str
    title: str
    provenance: str
    published: tuple[tuple[str, float], ...]
    score: Score | None
    own_text: bool
    page: str
    heading: str
    reasons: tuple[str, ...] = ()
    behind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = "no record"

    @property
    def judged(self) -> float | None:
        """Mean of the published marks, if any."""
        return fmean(mark for _, mark in self.published) if self.published else None

    @property
    def difference(self) -> float | None:
        """Measured less published mark; None unless both exist."""
        if self.judged is None or self.score is None or self.score.score is None:
            return None
        return self.score.score - self.judged

    @property
    def difference_text(self) -> str:
        """Difference in words, and whether it leaves the measured interval."""
        if self.difference is None or self.score is None:
            return "–"
        return f"{signed(self.difference)}, {'inside' if self.inside else 'outside'}"

    @property
    def inside(self) -> bool:
        """True if every published mark lies in the measured interval."""
        return self.score is not None and all(self.score.low <= mark <= self.score.high for _, mark in self.published)

    @property
    def rounds(self) -> str:
        """Published marks with their rounds."""
        return ", ".join(f"{formatting.mark(mark)} ({name})" for name, mark in self.published) or "no mark"


@dataclass(frozen=True)
class ComparedSubmission:
    """One submission: its overall, then its dimensions."""

    overall: ComparedMark
    lines: tuple[ComparedMark, ...]

    @property
    def rows(self) -> tuple[ComparedMark, ...]:
        """Overall and dimensions."""
        return (self.overall, *self.lines)


@dataclass(frozen=True)
class ComparedChallenge:
    """One challenge."""

    challenge: Challenge
    submissions: tuple[ComparedSubmission, ...]


@dataclass(frozen=True)
class PublishedVsMeasured:
    """Everything on the page."""

    origins: tuple[tuple[str, tuple[str, ...]], ...]
    sections: tuple[ComparedChallenge, ...]
    agreements: tuple[AlphaRow, ...]
    orders: tuple[TauRow, ...]
    defects: tuple[DefectRow, ...]
    failures: tuple[UnpublishedFailure, ...]
    hidden: tuple[tuple[str, int], ...]
    lettered: int
    reconstructed: bool

    @property
    def overalls(self) -> tuple[ComparedMark, ...]:
        """Overalls with both marks."""
        return tuple(c.overall for s in self.sections for c in s.submissions if c.overall.difference is not None)

    @property
    def lines(self) -> tuple[ComparedMark, ...]:
        """Dimensions with both marks."""
        return tuple(
            line for s in self.sections for c in s.submissions for line in c.lines if line.difference is not None
        )

    @property
    def largest(self) -> tuple[ComparedMark, ...]:
        """Dimensions with the largest differences, without marks from a reconstruction's text."""
        lines = [line for line in self.lines if not line.own_text]
        return tuple(sorted(lines, key=lambda line: -abs(line.difference or 0))[:MOST_DIFFERENCES])

    def mean_difference(self, lines: Sequence[ComparedMark]) -> str:
        """Return the signed mean of the differences."""
        return signed(fmean(line.difference or 0 for line in lines))

    def count(self, ruling: DefectRuling | str) -> int:
        """Count the published defects with this ruling."""
        return sum(n.ruling == ruling for n in self.defects)


def published_vs_measured(
    challenges: Iterable[Challenge],
    records: Iterable[Record],
    reviews: Iterable[Review],
    defects: Iterable[PublishedDefect],
    letters: Iterable[LetterGrades] = (),
) -> PublishedVsMeasured:
    """Compare published with measured marks.

    Args:
        records: one per graded submission.
        reviews: reviews of any kind, of which only published ones count.
        defects: published defects, in the order of the page.
        letters: published letter grades; a submission with one counts as reviewed.
    """
    rubrics = {c.id: c for c in sorted(challenges, key=lambda c: c.id)}
    known = {r.name: r for r in records}
    published: dict[str, list[Review]] = {}
    for review in sorted(reviews, key=lambda r: (r.challenge, r.model, r.reviewer.id)):
        if review.reviewer.kind is ReviewerKind.PUBLISHED and review.challenge in rubrics:
            published.setdefault(f"{review.model}/{review.challenge}", []).append(review)
    sections = tuple(_sections(rubrics, known, published))
    held = [rule(d, rubrics[d.challenge], known.get(d.submission)) for d in defects if d.challenge in rubrics]
    lettered = {f"{grades.model}/{id}" for grades in letters for id in grades.letters if id in rubrics}
    read = {*published, *lettered, *(t.defect.submission for t in held)}
    by_name: dict[str, list[RuledDefect]] = {}
    for one in held:
        by_name.setdefault(one.defect.submission, []).append(one)
    answered = [known[name] for name in sorted(read & known.keys())]
    return PublishedVsMeasured(
        origins=_origins(known, read),
        sections=sections,
        agreements=tuple(_agreements(sections)),
        orders=tau_rows([(s.challenge.title, _overalls(s)) for s in sections]),
        defects=tuple(defect_row(t, known.get(t.defect.submission)) for t in held),
        failures=tuple(
            sorted(
                (u for r in answered for u in unpublished_failures(rubrics[r.challenge], r, by_name.get(r.name, ()))),
                key=lambda u: u.evidence.severity is not Severity.CRITICAL,
            )
        ),
        hidden=tuple(Counter(shared_reason(t) for t in held if t.ruling is DefectRuling.UNSEEN).most_common()),
        lettered=len(lettered),
        reconstructed=any(r.provenance is Provenance.RECONSTRUCTION for r in answered),
    )


def signed(difference: float) -> str:
    """Format a difference of marks with its sign."""
    text = formatting.mark(abs(difference))
    return text if text == "0" else ("+" if difference > 0 else "−") + text


def _origins(known: Mapping[str, Record], read: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    by_origin: dict[str, list[str]] = {}
    for name in sorted(read):
        by_origin.setdefault(origin(known.get(name)), []).append(name)
    return tuple((files, tuple(names)) for files, names in sorted(by_origin.items()))


def _sections(
    rubrics: Mapping[str, Challenge], known: Mapping[str, Record], published: Mapping[str, Sequence[Review]]
) -> Iterator[ComparedChallenge]:
    for challenge in rubrics.values():
        compared = tuple(
            _compared(challenge, reviews, known.get(name))
            for name, reviews in published.items()
            if reviews[0].challenge == challenge.id
        )
        if compared:
            yield ComparedChallenge(challenge, compared)


def _compared(challenge: Challenge, reviews: Sequence[Review], record: Record | None) -> ComparedSubmission:
    model = reviews[0].model
    overall = ComparedMark(
        model,
        challenge.id,
        "Overall",
        origin(record),
        published=tuple((r.reviewer.id, r.overall) for r in reviews if r.overall is not None),
        score=record.overall if record else None,
        own_text=False,
        page=f"{challenge.id}.md" if record else "",
        heading=model,
        reasons=tuple(gates(challenge, record)) if record else (),
    )
    lines = tuple(_line(challenge, dimension, reviews, record) for dimension in challenge.dimensions)
    return ComparedSubmission(overall, lines)


def _line(challenge: Challenge, dimension: Dimension, reviews: Sequence[Review], record: Record | None) -> ComparedMark:
    evidence = [e for e in record.marked if e.dimension == dimension.id] if record else []
    metrics = {c.id for c in challenge.criteria if c.metric}
    seen = [e.criterion in metrics for e in evidence if e.outcome.assessed]
    reconstructed = record is not None and record.provenance is Provenance.RECONSTRUCTION
    return ComparedMark(
        reviews[0].model,
        challenge.id,
        dimension.title,
        origin(record),
        published=tuple((r.reviewer.id, m.mark) for r in reviews for m in r.marks if m.target == dimension.id),
        score=record.dimensions.get(dimension.id) if record else None,
        own_text=reconstructed and bool(seen) and all(seen),
        page=f"{challenge.id}.md" if record else "",
        heading=dimension.title,
        behind=grouped((_became(e), e.criterion) for e in evidence if e.outcome is not Outcome.PASSED),
        missing=formatting.missing_mark(challenge, dimension.id, record) if record else "no record",
    )


def _became(evidence: Evidence) -> str:
    if evidence.rests_on:
        return f"without credit while {evidence.rests_on} fails"
    return formatting.outcome(evidence) if evidence.outcome.assessed else "not assessed"


def _agreements(sections: Sequence[ComparedChallenge]) -> Iterator[AlphaRow]:
    lines = [line for s in sections for c in s.submissions for line in c.lines]
    both = [line for line in lines if line.difference is not None]
    for section in sections:
        yield alpha_row(
            section.challenge.title, [_pair(line) for line in both if line.challenge == section.challenge.id]
        )
    yield alpha_row("All challenges", map(_pair, both))
    if any(line.own_text for line in both):
        kept = [_pair(line) for line in both if not line.own_text]
        yield alpha_row("All challenges, without marks of a reconstruction's text", kept)
    overalls = [c.overall for s in sections for c in s.submissions if c.overall.difference is not None]
    yield alpha_row("Overalls instead of dimensions", map(_pair, overalls))
    twice = [[mark for _, mark in line.published] for line in lines if len(line.published) > 1]
    if twice:
        yield alpha_row("Published rounds with each other, on the same submissions", twice)


def _overalls(section: ComparedChallenge) -> dict[str, Pair]:
    return {c.overall.model: _pair(c.overall) for c in section.submissions if c.overall.difference is not None}


def _pair(line: ComparedMark) -> Pair:
    assert line.judged is not None and line.score is not None and line.score.score is not None
    return line.judged, line.score.score
