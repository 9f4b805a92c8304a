"""Views of one submission for the page's template."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Record, Review
from harness.report.views.challenge import ChallengeReport, SubmissionReport, challenge_report
from harness.report.views.excerpts import Excerpt, Sources, excerpts

MOST_DETAILED = 200
"""Most submissions with every criterion on the page; with more, only gates and findings, to keep it light."""


@dataclass(frozen=True)
class SubmissionDetails:
    """One answer to one challenge.

    Attributes:
        number: its place in the rows of the challenge's report.
        links: ids of criteria on the page; empty on a page without details.
        code: lines of code of each finding.
    """

    id: str
    number: int
    answer: SubmissionReport
    links: Mapping[str, str]
    code: tuple[tuple[Excerpt, ...], ...]


@dataclass(frozen=True)
class ChallengeDetails:
    """All submissions to one challenge, best first."""

    report: ChallengeReport
    detailed: bool
    submissions: tuple[SubmissionDetails, ...]


def challenge_details(
    challenges: Sequence[Challenge],
    records: Sequence[Record],
    reviews: Sequence[Review],
    sources: Sources,
    unfetched: frozenset[str] = frozenset(),
) -> Iterator[ChallengeDetails]:
    """Yield the submissions of each challenge with answers."""
    detailed = len(records) <= MOST_DETAILED
    for challenge in sorted(challenges, key=lambda c: c.id):
        own = [r for r in records if r.challenge == challenge.id]
        if own:
            report = challenge_report(challenge, own, [r for r in reviews if r.challenge == challenge.id], unfetched)
            details = (_submission(challenge, n, a, sources, detailed) for n, a in enumerate(report.answers))
            yield ChallengeDetails(report, detailed, tuple(details))


def _submission(
    challenge: Challenge, number: int, answer: SubmissionReport, sources: Sources, detailed: bool
) -> SubmissionDetails:
    id = f"{answer.record.model}/{challenge.id}"
    files = sources.get(answer.record.name, {})
    links = {c.id: f"{id}/{c.dimension}/{c.id}" for c in challenge.criteria} if detailed else {}
    code = tuple(excerpts(weakness.locations, files) for weakness in answer.weaknesses)
    return SubmissionDetails(id, number, answer, links, code)
