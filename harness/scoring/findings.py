"""Failed and partly met criteria put in words."""

import math
from collections.abc import Mapping, Sequence

from harness.model import Challenge, Criterion, Evidence, Finding, Outcome, Severity
from harness.scoring.marks import exact

_GRAVEST_FIRST = (Severity.CRITICAL, Severity.MAJOR, Severity.MINOR)


def findings(challenge: Challenge, evidence: Sequence[Evidence], titles: Mapping[str, str]) -> tuple[Finding, ...]:
    """What went wrong, the gravest first, in rubric order within a severity.

    Criteria that only lost their credit to another one (`rests_on`) were not seen to fail and yield nothing.

    Args:
        challenge: the rubric.
        evidence: of its criteria, in any order.
        titles: the fault in a phrase, by criterion, where a probe named it.
    """
    rubric = {c.id: (_GRAVEST_FIRST.index(c.severity), number) for number, c in enumerate(challenge.criteria)}
    seen = [e for e in evidence if e.outcome in (Outcome.FAILED, Outcome.PARTIAL) and e.rests_on is None]
    seen.sort(key=lambda e: rubric[e.criterion])
    return tuple(_finding(challenge.criterion(e.criterion), e, titles.get(e.criterion, "")) for e in seen)


def _finding(criterion: Criterion, evidence: Evidence, title: str) -> Finding:
    title = title or _phrase(criterion, evidence)
    return Finding(
        criterion=evidence.criterion,
        severity=evidence.severity,
        title=title,
        detail=evidence.detail.removeprefix(title).removeprefix(":").strip(),
        also=evidence.also,
        counterexample=evidence.counterexample,
        diagnosis=evidence.diagnosis,
    )


def _phrase(criterion: Criterion, evidence: Evidence) -> str:
    fault = criterion.unmet or f"not met: {criterion.title.rstrip('.')}"
    if evidence.outcome is not Outcome.PARTIAL:
        return fault
    return f"{fault} ({math.floor(100 * exact(evidence.satisfied))} % of the credit)"
