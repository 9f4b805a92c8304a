"""One answer's standing on each criterion."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from harness.model import Evidence, Outcome
from harness.report import formatting
from harness.report.views.answers import ModelAnswer
from harness.report.views.attempts import met
from harness.scoring.attempts import Attempts, CommonFault, CriterionTally

KINDS = {Outcome.PASSED: "passed", Outcome.PARTIAL: "part", Outcome.FAILED: "failed", Outcome.NOT_OFFERED: "unoffered"}
"""Kind of an outcome, which tables show as a shape and a colour; any other is open."""


@dataclass(frozen=True)
class CriterionSide:
    """One criterion in one answer.

    Attributes:
        evidence: None if the record lacks the criterion, or for several attempts.
        fault: title of the fault; the commonest of several attempts.
        attempts: evidence of each of several attempts; empty for a single answer.
        marked: True if it counts in marks.
    """

    evidence: Evidence | None
    fault: str
    attempts: tuple[Evidence, ...] = ()
    marked: bool = True

    @cached_property
    def met(self) -> float | None:
        """Share met, 0 to 1, the mean over attempts; None without a mark."""
        if not self.marked:
            return None
        seen = [e for e in (self.evidence, *self.attempts) if e is not None and e.outcome.assessed]
        return fmean(e.satisfied for e in seen) if seen else None

    @property
    def kind(self) -> str:
        """Kind of `KINDS`, or lost with another criterion's fault, open, or unasked: in no mark."""
        if not self.marked:
            return "unasked"
        if self.evidence is not None:
            lost = self.evidence.rests_on and self.evidence.outcome.assessed
            return "lost" if lost else KINDS.get(self.evidence.outcome, "open")
        shares = [e.satisfied for e in self.attempts if e.outcome.assessed]
        full = shares.count(1.0)
        return "open" if not shares else "passed" if full == len(self.attempts) else "part" if full else "failed"

    @property
    def measured(self) -> bool:
        """True if it has any figure."""
        return any(e is not None and e.measured for e in (self.evidence, *self.attempts))

    @property
    def share(self) -> str:
        """Number of attempts that meet it, or the outcome of a single answer."""
        if self.attempts:
            full = sum(e.satisfied == 1 for e in self.attempts if e.outcome.assessed)
            assessed = sum(e.outcome.assessed for e in self.attempts)
            return met(CriterionTally("", full, assessed), len(self.attempts))
        return "not in this record" if self.evidence is None else formatting.outcome(self.evidence)

    @cached_property
    def text(self) -> str:
        """Outcome with fault and figures."""
        return self.text_of(self.fault)

    def text_of(self, fault: str) -> str:
        """Return outcome and figures, with these words for the fault."""
        if self.attempts:
            return f"{self.share}: {fault}" if fault else self.share
        if self.evidence is None:
            return self.share
        words = f": {fault}" if fault and self.evidence.outcome is Outcome.FAILED else ""
        figures = formatting.measured(self.evidence, sure=False)
        beside = "" if self.marked else ", in no mark"
        return f"{self.share}{beside}{words}" + (f" ({figures})" if figures else "")


ABSENT = CriterionSide(None, "")


@dataclass(frozen=True)
class AnswerSides:
    """An answer's standing on each criterion."""

    answer: ModelAnswer
    by_criterion: Mapping[str, CriterionSide]


def sides(answer: ModelAnswer) -> AnswerSides:
    """Build an answer's standing on each criterion."""
    if answer.attempts:
        return AnswerSides(answer, _sides_of_attempts(answer, answer.attempts))
    record = answer.shown
    faults = {f.criterion: f.title for f in record.findings}
    unmarked = record.unmarked
    return AnswerSides(
        answer,
        {
            e.criterion: CriterionSide(e, faults.get(e.criterion, ""), marked=e.criterion not in unmarked)
            for e in record.evidence
        },
    )


def _sides_of_attempts(answer: ModelAnswer, attempts: Attempts) -> dict[str, CriterionSide]:
    marked = {summary.name for summary in attempts.marked}
    seen: dict[str, list[Evidence]] = {}
    for record in answer.records:
        for evidence in record.evidence if record.name in marked else ():
            seen.setdefault(evidence.criterion, []).append(evidence)
    faults: dict[str, CommonFault] = {}
    for fault in sorted(attempts.faults, key=lambda fault: -fault.attempts):
        faults.setdefault(fault.criterion, fault)
    return {
        id: CriterionSide(None, faults[id].title if id in faults else "", tuple(evidence))
        for id, evidence in seen.items()
    }
