"""Views of one submission for the page's template: gates, findings with code, criteria and reviews."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model import Challenge, Record, Review
from harness.report import formatting
from harness.report.views.challenge import ChallengeReport, SubmissionReport, Weakness, challenge_report
from harness.report.views.criteria_tables import CriterionRow
from harness.report.views.excerpts import Excerpt, Sources, excerpts

MOST_DETAILED = 200
"""Most submissions with every criterion on the page; with more, only gates and findings, to keep it light."""


@dataclass(frozen=True)
class FindingDetails:
    """A finding with its code."""

    id: str
    weakness: Weakness
    code: tuple[Excerpt, ...]


@dataclass(frozen=True)
class DimensionDetails:
    """One dimension of one submission; `rows` have one cell each, and are empty on a page without details."""

    id: str
    title: str
    weight: str
    standing: str
    rows: tuple[CriterionRow, ...]


@dataclass(frozen=True)
class SubmissionDetails:
    """One answer to one challenge."""

    id: str
    answer: SubmissionReport
    links: Mapping[str, str]
    faults: tuple[FindingDetails, ...]
    parts: tuple[DimensionDetails, ...]
    detailed: bool


@dataclass(frozen=True)
class ChallengeDetails:
    """All submissions to one challenge, best first."""

    id: str
    title: str
    summary: str
    verdict: tuple[str, ...]
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
            yield ChallengeDetails(
                challenge.id,
                challenge.title,
                challenge.summary,
                report.verdict.sentences,
                tuple(_submission(challenge, report, n, sources, detailed) for n in range(len(report.answers))),
            )


def _submission(
    challenge: Challenge, report: ChallengeReport, number: int, sources: Sources, detailed: bool
) -> SubmissionDetails:
    answer = report.answers[number]
    id = f"{answer.model}/{challenge.id}"
    files = sources.get(answer.name, {})
    links = {c.id: f"{id}/{c.dimension}/{c.id}" for c in challenge.criteria} if detailed else {}
    return SubmissionDetails(
        id=id,
        answer=answer,
        links=links,
        faults=tuple(
            # a colon, which no identifier has, keeps it apart from dimensions
            FindingDetails(f"{id}/finding:{n}", weakness, excerpts(weakness.locations, files))
            for n, weakness in enumerate(answer.weaknesses, 1)
        ),
        parts=tuple(_parts(challenge, report, number, id, detailed)),
        detailed=detailed,
    )


def _parts(
    challenge: Challenge, report: ChallengeReport, number: int, id: str, detailed: bool
) -> Iterator[DimensionDetails]:
    for dimension, section in zip(challenge.dimensions, report.sections, strict=True):
        rows = tuple(
            CriterionRow(row.id, row.title, row.severity, (row.cells[number],)) for row in section.rows if detailed
        )
        standing = section.standings[number]
        yield DimensionDetails(
            f"{id}/{dimension.id}", dimension.title, formatting.number(dimension.weight), standing, rows
        )
