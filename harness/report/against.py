"""Published against measured: the marks and defects of those who read, beside what ran."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.model import (
    Challenge,
    Defect,
    Dimension,
    Evidence,
    Outcome,
    Provenance,
    Record,
    Review,
    ReviewerKind,
    Score,
)
from harness.report import words
from harness.report.concord import Agreement, Ordered, Pair, agreement, orders
from harness.report.contexts import Group, grouped
from harness.report.named import Named, Unnamed, link, named, origin, shared_reason, unnamed
from harness.review.defects import Ruling, Tried, tried

MOST_DIFFERENCES = 5
"""So many of the largest differences are told."""


@dataclass(frozen=True)
class Line:
    """One dimension, or the overall, of one submission.

    Attributes:
        published: pairs of round and mark, by round.
        ours: the measured mark; None without a record.
        own_text: whether ours was read off the text of a reconstruction, so that it says nothing of the model's.
        link: page and anchor of the evidence; empty without a record.
        reasons: the gates behind an overall, in sentences.
        behind: criteria by what became of them.
    """

    model: str
    challenge: str
    title: str
    provenance: str
    published: tuple[tuple[str, float], ...]
    ours: Score | None
    own_text: bool
    link: str
    reasons: tuple[str, ...] = ()
    behind: tuple[Group, ...] = ()

    @property
    def judged(self) -> float | None:
        """The mean of the published marks."""
        return fmean(mark for _, mark in self.published) if self.published else None

    @property
    def difference(self) -> float | None:
        """Ours less the published; None where one of them is missing."""
        if self.judged is None or self.ours is None or self.ours.score is None:
            return None
        return self.ours.score - self.judged

    @property
    def told(self) -> str:
        """The difference in words, and whether it leaves our interval."""
        if self.difference is None or self.ours is None:
            return "–"
        return f"{signed(self.difference)}, {'inside' if self.inside else 'outside'}"

    @property
    def inside(self) -> bool:
        """Whether every published mark lies in our interval."""
        return self.ours is not None and all(self.ours.low <= mark <= self.ours.high for _, mark in self.published)

    @property
    def rounds(self) -> str:
        """The published marks with their rounds."""
        return ", ".join(f"{words.mark(mark)} ({name})" for name, mark in self.published) or "no mark"

    @property
    def measured(self) -> str:
        """Our mark with its interval."""
        return "no record" if self.ours is None else words.mark(self.ours.score)

    @property
    def interval(self) -> str:
        """The interval of our mark."""
        return "–" if self.ours is None else words.interval(self.ours)

    @property
    def coverage(self) -> str:
        """The share of the rubric's weight that was assessed."""
        return "–" if self.ours is None else words.percent(self.ours.coverage)


@dataclass(frozen=True)
class Compared:
    """One submission: its overall, then its dimensions."""

    model: str
    provenance: str
    overall: Line
    lines: tuple[Line, ...]

    @property
    def rows(self) -> tuple[Line, ...]:
        """All of them."""
        return (self.overall, *self.lines)


@dataclass(frozen=True)
class Section:
    """One challenge."""

    id: str
    title: str
    submissions: tuple[Compared, ...]


@dataclass(frozen=True)
class Against:
    """Everything on the page; lines, defects and findings keep their figures for other pages."""

    origins: tuple[tuple[str, tuple[str, ...]], ...]
    sections: tuple[Section, ...]
    agreements: tuple[Agreement, ...]
    orders: tuple[Ordered, ...]
    named: tuple[Named, ...]
    unnamed: tuple[Unnamed, ...]
    hidden: tuple[tuple[str, int], ...]
    reconstructed: bool

    @property
    def overalls(self) -> tuple[Line, ...]:
        """The overalls marked by both sides."""
        return tuple(c.overall for s in self.sections for c in s.submissions if c.overall.difference is not None)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The dimensions marked by both sides."""
        return tuple(
            line for s in self.sections for c in s.submissions for line in c.lines if line.difference is not None
        )

    @property
    def largest(self) -> tuple[Line, ...]:
        """The dimensions marked most differently, our reading of a reconstruction's text left out."""
        lines = [line for line in self.lines if not line.own_text]
        return tuple(sorted(lines, key=lambda line: -abs(line.difference or 0))[:MOST_DIFFERENCES])

    @property
    def outside(self) -> int:
        """How many dimensions have a published mark outside our interval."""
        return sum(not line.inside for line in self.lines)

    def mean_difference(self, lines: Sequence[Line]) -> str:
        """The mean of some differences, with its sign."""
        return signed(fmean(line.difference or 0 for line in lines))

    def count(self, ruling: Ruling | str) -> int:
        """How many named defects came to `ruling`."""
        return sum(n.ruling == ruling for n in self.named)


def against(
    challenges: Iterable[Challenge], records: Iterable[Record], reviews: Iterable[Review], defects: Iterable[Defect]
) -> Against:
    """What was published against what was measured.

    Args:
        challenges: in any order.
        records: one for each submission graded, in any order.
        reviews: of any kind and in any order; only published ones count.
        defects: that published reviews named, in the order they are to be told.
    """
    rubrics = {c.id: c for c in sorted(challenges, key=lambda c: c.id)}
    known = {r.name: r for r in records}
    published: dict[str, list[Review]] = {}
    for review in sorted(reviews, key=lambda r: (r.challenge, r.model, r.reviewer.id)):
        if review.reviewer.kind is ReviewerKind.PUBLISHED and review.challenge in rubrics:
            published.setdefault(f"{review.model}/{review.challenge}", []).append(review)
    sections = tuple(_sections(rubrics, known, published))
    held = [tried(d, rubrics[d.challenge], known.get(d.submission)) for d in defects if d.challenge in rubrics]
    read = {*published, *(t.defect.submission for t in held)}
    by_name: dict[str, list[Tried]] = {}
    for one in held:
        by_name.setdefault(one.defect.submission, []).append(one)
    answered = [known[name] for name in sorted(read & known.keys())]
    return Against(
        origins=_origins(known, read),
        sections=sections,
        agreements=tuple(_agreements(sections)),
        orders=orders([(s.title, _overalls(s)) for s in sections]),
        named=tuple(named(t, known.get(t.defect.submission)) for t in held),
        unnamed=tuple(u for r in answered for u in unnamed(rubrics[r.challenge], r, by_name.get(r.name, ()))),
        hidden=tuple(Counter(shared_reason(t) for t in held if t.ruling is Ruling.UNSEEN).most_common()),
        reconstructed=any(r.provenance is Provenance.RECONSTRUCTION for r in answered),
    )


def signed(difference: float) -> str:
    """A difference of marks with its sign."""
    told = words.mark(abs(difference))
    return told if told == "0" else ("+" if difference > 0 else "−") + told


def _origins(known: Mapping[str, Record], read: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Submissions by where their files come from."""
    by_origin: dict[str, list[str]] = {}
    for name in sorted(read):
        by_origin.setdefault(origin(known.get(name)), []).append(name)
    return tuple((files, tuple(names)) for files, names in sorted(by_origin.items()))


def _sections(
    rubrics: Mapping[str, Challenge], known: Mapping[str, Record], published: Mapping[str, Sequence[Review]]
) -> Iterator[Section]:
    for challenge in rubrics.values():
        compared = tuple(
            _compared(challenge, reviews, known.get(name))
            for name, reviews in published.items()
            if reviews[0].challenge == challenge.id
        )
        if compared:
            yield Section(challenge.id, challenge.title, compared)


def _compared(challenge: Challenge, reviews: Sequence[Review], record: Record | None) -> Compared:
    model, provenance = reviews[0].model, origin(record)
    overall = Line(
        model, challenge.id, "Overall", provenance,
        published=tuple((r.reviewer.id, r.overall) for r in reviews if r.overall is not None),
        ours=record.overall if record else None,
        own_text=False,
        link=link(challenge.id, model) if record else "",
        reasons=_gates(challenge, record) if record else (),
    )  # fmt: skip
    lines = tuple(_line(challenge, dimension, reviews, record) for dimension in challenge.dimensions)
    return Compared(model, provenance, overall, lines)


def _line(challenge: Challenge, dimension: Dimension, reviews: Sequence[Review], record: Record | None) -> Line:
    evidence = [e for e in record.evidence if e.dimension == dimension.id] if record else []
    metrics = {c.id for c in challenge.criteria if c.metric}
    seen = [e.criterion in metrics for e in evidence if e.outcome.assessed]
    reconstructed = record is not None and record.provenance is Provenance.RECONSTRUCTION
    return Line(
        reviews[0].model, challenge.id, dimension.title, origin(record),
        published=tuple((r.reviewer.id, m.mark) for r in reviews for m in r.marks if m.target == dimension.id),
        ours=record.dimensions.get(dimension.id) if record else None,
        own_text=reconstructed and bool(seen) and all(seen),
        link=link(challenge.id, dimension.title) if record else "",
        behind=_behind(evidence),
    )  # fmt: skip


def _behind(evidence: Iterable[Evidence]) -> tuple[Group, ...]:
    """Criteria that did not pass, by what became of them."""
    return grouped((_became(e), e.criterion) for e in evidence if e.outcome is not Outcome.PASSED)


def _became(evidence: Evidence) -> str:
    if evidence.rests_on:
        return f"without credit while {evidence.rests_on} fails"
    return words.outcome(evidence) if evidence.outcome.assessed else "not assessed"


def _gates(challenge: Challenge, record: Record) -> tuple[str, ...]:
    """The gates of a record, those of one reason together."""
    titles = {d.id: d.title for d in challenge.dimensions}
    by_reason: dict[str, list[str]] = {}
    for gate in record.gates:
        target = "Overall" if gate.dimension is None else titles.get(gate.dimension, gate.dimension)
        by_reason.setdefault(gate.reason, []).append(f"{target} at most {words.mark(gate.ceiling)}")
    return tuple(f"{', '.join(capped)}: {reason}" for reason, capped in by_reason.items())


def _agreements(sections: Sequence[Section]) -> Iterator[Agreement]:
    lines = [line for s in sections for c in s.submissions for line in c.lines]
    both = [line for line in lines if line.difference is not None]
    for section in sections:
        yield agreement(section.title, [_pair(line) for line in both if line.challenge == section.id])
    yield agreement("All challenges", map(_pair, both))
    if any(line.own_text for line in both):
        kept = [_pair(line) for line in both if not line.own_text]
        yield agreement("All challenges, without marks of a reconstruction's text", kept)
    overalls = [c.overall for s in sections for c in s.submissions if c.overall.difference is not None]
    yield agreement("Overalls instead of dimensions", map(_pair, overalls))
    twice = [[mark for _, mark in line.published] for line in lines if len(line.published) > 1]
    if twice:
        yield agreement("Published rounds with each other, on the same submissions", twice)


def _overalls(section: Section) -> dict[str, Pair]:
    """The overalls of one challenge that both sides have, by model."""
    return {c.model: _pair(c.overall) for c in section.submissions if c.overall.difference is not None}


def _pair(line: Line) -> Pair:
    """The published mark and ours, of a line that has both."""
    assert line.judged is not None and line.ours is not None and line.ours.score is not None
    return line.judged, line.ours.score
