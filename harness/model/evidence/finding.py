"""Findings: faults of a grade in words, derived from evidence and signals, never stored."""

from collections.abc import Iterable
from fractions import Fraction

from harness.model.base import Identifier, NonEmpty
from harness.model.challenges.challenge import Severity
from harness.model.evidence.evidence import (
    UNBUILT,
    Counterexample,
    Evidence,
    Location,
    Observation,
    Outcome,
    ReadableModel,
)
from harness.model.evidence.loss import Loss
from harness.model.evidence.signal import Signal, SignalKind

INTEGRITY = "integrity"
"""Criterion id of findings from signals; outside every rubric."""
NO_ANSWER = "the reply holds no answer"
MOST_SIGNALS = 5
"""Most signals of one kind to quote, most frequent first; the rest are counted."""
_GRAVEST_FIRST = (Severity.CRITICAL, Severity.MAJOR, Severity.MINOR)


class Finding(ReadableModel):
    """A failed or notable criterion in words."""

    criterion: Identifier
    """Id of the criterion; `build` or `integrity` outside the rubric."""
    severity: Severity
    """Weight of the criterion."""
    title: NonEmpty
    """Fault as a phrase."""
    detail: str
    """Detail of the observation."""
    also: tuple[Observation, ...] = ()
    """Results of further probes."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail mentions."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: NonEmpty | None = None
    """Likeliest cause."""
    loss: Loss | None = None
    """Lost places of the output."""
    linked_to: Identifier | None = None
    """Criterion that found a thread race on which this failure depends."""


def criterion_findings(evidence: Iterable[Evidence]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings of critical criteria and of the others, gravest first, then in the given order.

    Findings that cap marks count as critical; among equals, what lost more credit comes first. Criteria that merely
    lost credit to another one (`rests_on`) yield none. A linked finding follows its root, and both take the graver
    one's place.
    """
    faulty = [e for e in evidence if e.faulty]
    rank = {e.criterion: (0 if e.gates else _GRAVEST_FIRST.index(e.severity), float(e.satisfied or 0)) for e in faulty}
    roots = {e.criterion: e.linked_to if e.linked_to in rank else e.criterion for e in faulty}
    highest = {root: min(rank[c] for c in rank if roots[c] == root) for root in roots.values()}
    first = {root: n for n, root in reversed(list(enumerate(roots.values())))}

    def place(e: Evidence) -> tuple[tuple[int, float], int, bool, tuple[int, float]]:
        root = roots[e.criterion]
        return highest[root], first[root], e.criterion != root, rank[e.criterion]

    ordered = sorted(faulty, key=place)
    critical = tuple(_make_finding(e) for e in ordered if highest[roots[e.criterion]][0] == 0)
    return critical, tuple(_make_finding(e) for e in ordered if highest[roots[e.criterion]][0] > 0)


def build_finding(title: str, detail: str, locations: tuple[Location, ...], diagnosis: str = "") -> Finding:
    """Return the finding of a failed build, with its cause if a repaired copy established one."""
    return Finding(
        criterion=UNBUILT,
        severity=Severity.CRITICAL,
        title=title,
        detail=detail,
        locations=locations,
        diagnosis=diagnosis or None,
    )


def signal_findings(signals: Iterable[Signal]) -> tuple[Finding, ...]:
    """Return one finding per kind of signal, in the order of `SignalKind`."""
    every = tuple(signals)
    return tuple(
        Finding(criterion=INTEGRITY, severity=Severity.MAJOR, title=kind.value, detail=_quote_signals(seen))
        for kind in SignalKind
        if (seen := [s for s in every if s.kind is kind])
    )


def _make_finding(evidence: Evidence) -> Finding:
    share = ""
    if evidence.outcome is Outcome.PARTIAL:
        # from the decimal digits: the float 0.29 is a little less
        share = f" ({int(100 * Fraction(repr(evidence.satisfied)))} % of the credit)"
    return Finding(
        criterion=evidence.criterion,
        severity=evidence.severity,
        title=f"{evidence.title}{share}",
        detail=evidence.detail,
        also=evidence.also,
        locations=evidence.locations,
        counterexample=evidence.counterexample,
        loss=evidence.loss,
        linked_to=evidence.linked_to,
        diagnosis=evidence.diagnosis.words if evidence.diagnosis else None,
    )


def _quote_signals(signals: list[Signal]) -> str:
    named = sorted((s for s in signals if s.detail), key=lambda s: -s.times)
    quoted = [f"{s.detail} ({s.times} times)" if s.times > 1 else s.detail for s in named[:MOST_SIGNALS]]
    more = len(named) - len(quoted)
    return "; ".join([*quoted, *([f"and {more} more"] if more else [])])
