"""Published marks and defects beside measured ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
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
    """One dimension of one submission, or its overall.

    Attributes:
        dimension: None for the overall.
        published: pairs of round and mark, by round.
        record: None if nothing was measured.
    """

    model: str
    challenge: Challenge
    dimension: Dimension | None
    published: tuple[tuple[str, float], ...]
    record: Record | None

    @property
    def title(self) -> str:
        """What was marked."""
        return self.dimension.title if self.dimension else "Overall"

    @property
    def page(self) -> str:
        """Page of the evidence; empty without a record."""
        return f"{self.challenge.id}.md" if self.record else ""

    @property
    def heading(self) -> str:
        """Heading of the evidence there."""
        return self.dimension.title if self.dimension else self.model

    @property
    def score(self) -> Score | None:
        """Measured mark, if any."""
        if self.record is None:
            return None
        return self.record.dimensions.get(self.dimension.id) if self.dimension else self.record.overall

    @property
    def measured(self) -> str:
        """Measured mark with interval and coverage, or why there is none."""
        if self.score is not None:
            return formatting.standing(self.score)
        if self.record is None or self.dimension is None:
            return "no record"
        return formatting.missing_mark(self.challenge, self.dimension.id, self.record)

    @property
    def _evidence(self) -> list[Evidence]:
        marked = self.record.marked if self.record else ()
        return [e for e in marked if self.dimension and e.dimension == self.dimension.id]

    @property
    def own_text(self) -> bool:
        """True if the measured mark comes from the text of a reconstruction, not the model's."""
        metrics = {c.id for c in self.challenge.criteria if c.metric}
        seen = [e.criterion in metrics for e in self._evidence if e.outcome.assessed]
        rebuilt = self.record is not None and self.record.provenance is Provenance.RECONSTRUCTION
        return rebuilt and bool(seen) and all(seen)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Gates of an overall, in sentences."""
        return tuple(gates(self.challenge, self.record)) if self.record and not self.dimension else ()

    @property
    def behind(self) -> Mapping[str, tuple[str, ...]]:
        """Criteria of a dimension that are not passed, by outcome."""
        return grouped((_became(e), e.criterion) for e in self._evidence if e.outcome is not Outcome.PASSED)

    @property
    def judged(self) -> float | None:
        """Mean of the published marks, if any."""
        return fmean(mark for _, mark in self.published) if self.published else None

    @property
    def difference(self) -> float | None:
        """Measured less published mark; None unless both exist."""
        return self.pair and self.pair[1] - self.pair[0]

    @property
    def pair(self) -> Pair | None:
        """Published and measured mark; None unless both exist."""
        if self.judged is None or self.score is None or self.score.score is None:
            return None
        return self.judged, self.score.score

    @property
    def difference_text(self) -> str:
        """Difference in words, and whether it leaves the measured interval."""
        if self.difference is None:
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
class PublishedVsMeasured:
    """Everything on the page; of each submission the overall comes first, then its dimensions."""

    origins: tuple[tuple[str, tuple[str, ...]], ...]
    marks: tuple[ComparedMark, ...]
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
        return tuple(mark for mark in self.marks if mark.pair and not mark.dimension)

    @property
    def lines(self) -> tuple[ComparedMark, ...]:
        """Dimensions with both marks."""
        return tuple(mark for mark in self.marks if mark.pair and mark.dimension)

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
    marks = tuple(
        mark for name, own in published.items() for mark in _compare(rubrics[own[0].challenge], own, known.get(name))
    )
    held = [rule(d, rubrics[d.challenge], known.get(d.submission)) for d in defects if d.challenge in rubrics]
    lettered = {f"{grades.model}/{id}" for grades in letters for id in grades.letters if id in rubrics}
    read = {*published, *lettered, *(t.defect.submission for t in held)}
    by_name: dict[str, list[RuledDefect]] = {}
    for one in held:
        by_name.setdefault(one.defect.submission, []).append(one)
    answered = [known[name] for name in sorted(read & known.keys())]
    return PublishedVsMeasured(
        origins=_origins(known, read),
        marks=marks,
        agreements=tuple(_agreements(marks)),
        orders=tau_rows([(title, _overalls(own)) for title, own in _by_challenge(marks)]),
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


def _compare(challenge: Challenge, reviews: Sequence[Review], record: Record | None) -> Iterator[ComparedMark]:
    model = reviews[0].model
    overalls = tuple((r.reviewer.id, r.overall) for r in reviews if r.overall is not None)
    yield ComparedMark(model, challenge, None, overalls, record)
    for dimension in challenge.dimensions:
        given = tuple((r.reviewer.id, m.mark) for r in reviews for m in r.marks if m.target == dimension.id)
        yield ComparedMark(model, challenge, dimension, given, record)


def _became(evidence: Evidence) -> str:
    if evidence.rests_on:
        return f"without credit while {evidence.rests_on} fails"
    return formatting.outcome(evidence) if evidence.outcome.assessed else "not assessed"


def _by_challenge(marks: Iterable[ComparedMark]) -> Iterator[tuple[str, list[ComparedMark]]]:
    return ((title, list(own)) for title, own in groupby(marks, key=lambda mark: mark.challenge.title))


def _agreements(marks: Sequence[ComparedMark]) -> Iterator[AlphaRow]:
    lines = [mark for mark in marks if mark.dimension]
    for title, own in _by_challenge(lines):
        yield alpha_row(title, _pairs(own))
    yield alpha_row("All challenges", _pairs(lines))
    if any(line.own_text for line in lines if line.pair):
        kept = (line for line in lines if not line.own_text)
        yield alpha_row("All challenges, without marks of a reconstruction's text", _pairs(kept))
    yield alpha_row("Overalls instead of dimensions", _pairs(mark for mark in marks if not mark.dimension))
    twice = [[mark for _, mark in line.published] for line in lines if len(line.published) > 1]
    if twice:
        yield alpha_row("Published rounds with each other, on the same submissions", twice)


def _pairs(marks: Iterable[ComparedMark]) -> list[Pair]:
    return [mark.pair for mark in marks if mark.pair]


def _overalls(marks: Iterable[ComparedMark]) -> dict[str, Pair]:
    return {mark.model: mark.pair for mark in marks if mark.pair and not mark.dimension}
