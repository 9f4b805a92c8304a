"""One challenge: its answers, best first, their criteria side by side, and what follows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.model import Challenge, Record
from harness.report.views.answers import ModelAnswer, answers, in_order
from harness.report.views.attempts import attempts_report
from harness.report.views.criteria import DimensionSection, criteria_tables
from harness.report.views.finding import weaknesses
from harness.report.views.notes import notes
from harness.report.views.submission import critical_met
from harness.report.views.verdict import ChallengeVerdict, verdict
from harness.scoring.doubts import DoubtKind
from harness.scoring.record_summary import RecordSummary


@dataclass(frozen=True)
class ChallengeReport:
    """One challenge's page."""

    challenge: Challenge
    answers: tuple[ModelAnswer, ...]
    sections: tuple[DimensionSection, ...]
    verdict: ChallengeVerdict
    notes: tuple[str, ...]

    @property
    def submissions(self) -> int:
        """Number of graded submissions, each attempt counted."""
        return sum(len(answer.records) for answer in self.answers)

    def critical(self, answer: ModelAnswer) -> str:
        """Return how many critical criteria an answer meets."""
        if answer.attempts:
            return f"all in {answer.attempts.passed} of {len(answer.attempts.marked)} attempts"
        met, of = critical_met(answer.shown)
        return f"{met} of {of}" if of else "not assessed"

    def gravest(self, answer: ModelAnswer) -> str:
        """Return the gravest finding on an answer, or empty."""
        if answer.attempts:
            return attempts_report(self.challenge, answer.attempts).gravest
        return next((fault.title for fault in weaknesses(self.challenge, answer.shown)), "")


def challenge_report(
    challenge: Challenge, records: Iterable[Record], doubts: Mapping[str, tuple[DoubtKind, ...]] = MappingProxyType({})
) -> ChallengeReport:
    """Build the report of one challenge.

    Args:
        records: submissions to it, in any order.
        doubts: doubts about records, by name.
    """
    ordered = tuple(in_order(answers(records)))
    summaries = [RecordSummary.of(r, doubts.get(r.name, ())) for a in ordered for r in a.records]
    return ChallengeReport(
        challenge,
        ordered,
        tuple(criteria_tables(challenge, ordered)),
        verdict(challenge, ordered),
        notes([challenge], summaries),
    )
