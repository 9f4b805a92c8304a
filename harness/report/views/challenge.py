"""Views of challenges and records for the templates: frozen, in words, not yet escaped."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from harness.model import (
    INTEGRITY,
    Challenge,
    Counterexample,
    Evidence,
    Finding,
    Location,
    Outcome,
    Record,
    Review,
    Severity,
    Status,
)
from harness.report import formatting
from harness.report.views.answers import ModelAnswer, answers, in_order
from harness.report.views.attempts import AttemptsReport, attempts_report
from harness.report.views.credit import Uncredited, anchor_note, uncredited
from harness.report.views.criteria_tables import DimensionSection, criteria_tables
from harness.report.views.not_asked import NotAsked, asked, build_note, contradictions, list_not_asked, not_asked_build
from harness.report.views.notes import notes
from harness.report.views.origins import Facts, origin_facts
from harness.report.views.repaired_copy import RepairedCopyReport, repaired_copy_report
from harness.report.views.submission_reviews import SubmissionReviews, submission_reviews
from harness.report.views.verdict import ChallengeVerdict, verdict
from harness.scoring.attempts import Attempts
from harness.scoring.doubts import DoubtKind
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class Failure:
    """A failing input, empty if unknown, and the command that repeats it."""

    criterion: str
    example: Counterexample
    seed: int | None
    replay: str


@dataclass(frozen=True)
class Ceiling:
    """A gate: its target, ceiling, reason and failures."""

    target: str
    ceiling: str
    reason: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class Weakness:
    """One fault; criteria that failed for the same words are merged.

    Attributes:
        weight: severity, or that it carries no mark.
        linked: the race that it depends on.
        contradicted: contrary requests of the original prompt.
    """

    criteria: tuple[str, ...]
    weight: str
    title: str
    seen: tuple[str, ...]
    diagnosis: str
    figures: str
    failure: Failure | None
    locations: tuple[Location, ...]
    linked: str
    contradicted: tuple[str, ...]


@dataclass(frozen=True)
class CriteriaGroup:
    """Criteria that share a reason."""

    reason: str
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class SubmissionReport:
    """One model's submission; of several attempts the median one by mark, under their mean.

    Attributes:
        marked: the marks, of all attempts together.
        record: the submission whose findings are listed.
        critical: critical criteria met, in words.
        strengths, minor_strengths: criteria that passed.
    """

    marked: Attempts | Record
    record: Record
    origin: Facts
    anchor_note: str
    critical: str
    gravest: str
    ceilings: tuple[Ceiling, ...]
    build_note: str
    repaired: RepairedCopyReport | None
    strengths: tuple[Evidence, ...]
    minor_strengths: tuple[Evidence, ...]
    weaknesses: tuple[Weakness, ...]
    uncredited: tuple[Uncredited, ...]
    not_offered: tuple[str, ...]
    not_asked: tuple[NotAsked, ...]
    not_asked_build: tuple[NotAsked, ...]
    unassessed: tuple[CriteriaGroup, ...]
    submission_reviews: SubmissionReviews | None
    attempts: AttemptsReport | None


@dataclass(frozen=True)
class ChallengeReport:
    """One challenge's page."""

    challenge: Challenge
    answers: tuple[SubmissionReport, ...]
    sections: tuple[DimensionSection, ...]
    verdict: ChallengeVerdict
    notes: tuple[str, ...]

    @property
    def submissions(self) -> int:
        """Number of graded submissions, each attempt counted."""
        return sum(len(answer.attempts.rows) if answer.attempts else 1 for answer in self.answers)

    @property
    def attempts(self) -> tuple[AttemptsReport, ...]:
        """Reports of models with several attempts."""
        return tuple(answer.attempts for answer in self.answers if answer.attempts)


def challenge_report(
    challenge: Challenge,
    records: Iterable[Record],
    reviews: Sequence[Review] = (),
    unfetched: Names[str] = (),
    doubts: Mapping[str, tuple[DoubtKind, ...]] = MappingProxyType({}),
) -> ChallengeReport:
    """Build the report of one challenge.

    Args:
        records: submissions to it, in any order.
        reviews: reviews of these submissions, in any order.
        unfetched: collections whose answers are not on this machine.
        doubts: doubts about records, by name.
    """
    records = tuple(records)
    ordered = in_order(answers(records))
    return ChallengeReport(
        challenge,
        answers=tuple(_submission(challenge, answer, reviews, unfetched) for answer in ordered),
        sections=tuple(criteria_tables(challenge, ordered)),
        verdict=verdict(challenge, ordered),
        notes=notes([challenge], [RecordSummary.of(r, doubts.get(r.name, ())) for a in ordered for r in a.records]),
    )


def grouped(evidence: Iterable[tuple[str, str]]) -> tuple[CriteriaGroup, ...]:
    """Group pairs of reason and criterion by reason."""
    by_reason: dict[str, list[str]] = {}
    for reason, criterion in evidence:
        by_reason.setdefault(reason, []).append(criterion)
    return tuple(CriteriaGroup(reason, tuple(criteria)) for reason, criteria in by_reason.items())


def weaknesses(challenge: Challenge, record: Record, place: str = formatting.FOLDER) -> tuple[Weakness, ...]:
    """Return the findings of a record, one per title; those of an optional feature stay separate.

    Args:
        place: arguments that name a submission outside the workspace.
    """
    evidence = {e.criterion: e for e in record.evidence}
    options = {c.id: c.capability for c in challenge.criteria}
    merged: dict[tuple[Severity, str, str | None], list[Finding]] = {}
    for finding in record.findings:
        key = (finding.severity, finding.title, options.get(finding.criterion))
        merged.setdefault(key, []).append(finding)
    return tuple(_weakness(challenge, record, evidence, group, place) for group in merged.values())


def unassessed(challenge: Challenge, record: Record) -> tuple[CriteriaGroup, ...]:
    """Group the unassessed criteria of a record by reason."""
    rubric = {c.id: c for c in challenge.criteria}
    open_ones = (e for e in asked(record) if not e.outcome.assessed)
    return grouped((formatting.unassessed(rubric.get(e.criterion), e), e.criterion) for e in open_ones)


def ceilings(challenge: Challenge, record: Record) -> tuple[Ceiling, ...]:
    """Return the gates of a record with their failing inputs."""
    titles = {d.id: d.title for d in challenge.dimensions}
    evidence = {e.criterion: e for e in record.evidence}
    return tuple(
        Ceiling(
            target="Overall" if gate.dimension is None else titles.get(gate.dimension, gate.dimension),
            ceiling=formatting.ceiling(gate),
            reason=gate.reason,
            failures=tuple(
                _failure(record, id, evidence[id].counterexample, evidence[id].seed) for id in gate.criteria
            ),
        )
        for gate in record.gates
    )


def _submission(
    challenge: Challenge, answer: ModelAnswer, reviews: Iterable[Review], unfetched: Names[str]
) -> SubmissionReport:
    record = answer.shown
    several = attempts_report(challenge, answer.attempts) if answer.attempts else None
    met = {e.criterion: e for e in record.marked if e.outcome is Outcome.PASSED}
    passed = [met[c.id] for c in challenge.criteria if c.id in met]
    found = weaknesses(challenge, record)
    return SubmissionReport(
        answer.marked,
        record,
        origin=origin_facts(record, unfetched),
        anchor_note=anchor_note(challenge, record),
        critical=f"all in {several.passed} attempts" if several else _critical(record),
        gravest=several.gravest if several else found[0].title if found else "",
        ceilings=ceilings(challenge, record),
        build_note=build_note(record),
        repaired=repaired_copy_report(record),
        strengths=tuple(e for e in passed if e.severity is not Severity.MINOR),
        minor_strengths=tuple(e for e in passed if e.severity is Severity.MINOR),
        weaknesses=found,
        uncredited=uncredited(record),
        not_offered=tuple(e.criterion for e in record.marked if e.outcome is Outcome.NOT_OFFERED),
        not_asked=list_not_asked(challenge, record),
        not_asked_build=not_asked_build(challenge, record),
        unassessed=unassessed(challenge, record),
        submission_reviews=submission_reviews(challenge, record, reviews),
        attempts=several,
    )


def _critical(record: Record) -> str:
    critical = [e for e in record.marked if e.severity is Severity.CRITICAL and e.outcome.assessed]
    passed = sum(e.outcome is Outcome.PASSED for e in critical)
    return f"{passed} of {len(critical)}" if critical else formatting.NOT_ASSESSED


def _weakness(
    challenge: Challenge, record: Record, evidence: dict[str, Evidence], group: Sequence[Finding], place: str
) -> Weakness:
    first = group[0]
    seen, root = evidence.get(first.criterion), evidence.get(first.linked_to or "")
    probed = {c.id for c in challenge.criteria if c.probes}
    failure = _failure(record, first.criterion, first.counterexample, seen.seed if seen else None, place)
    ran = first.criterion in probed and record.status is Status.GRADED
    return Weakness(
        criteria=tuple(f.criterion for f in group),
        weight=formatting.UNMARKED if first.criterion == INTEGRITY else first.severity.value,
        title=first.title,
        seen=tuple(_seen(group)),
        diagnosis=next((f.diagnosis for f in group if f.diagnosis), ""),
        figures=formatting.measured(seen) if seen and len(group) == 1 else "",
        failure=failure if ran else None,
        locations=tuple(dict.fromkeys(place for f in group for place in f.locations)),
        linked=f"{root.title} ({root.criterion})" if root else "",
        contradicted=contradictions(record, [f.criterion for f in group]),
    )


def _seen(group: Sequence[Finding]) -> Iterator[str]:
    """Yield each observation of one fault once; those after the first finding are prefixed by their criterion."""
    listed: set[str] = set()
    for finding in group:
        further = (o.detail if o.title == finding.title else str(o) for o in finding.also)
        for text in filter(None, (finding.detail, *further)):
            if text not in listed:
                yield text if finding is group[0] else f"{finding.criterion}: {text}"
            listed.add(text)


def _failure(
    record: Record, criterion: str, example: Counterexample | None, seed: int | None, place: str = formatting.FOLDER
) -> Failure:
    return Failure(criterion, example or Counterexample(), seed, formatting.again(record, criterion, place))
