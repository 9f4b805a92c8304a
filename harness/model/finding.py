"""Findings: what went wrong in a grade, in words. Derived from evidence and signals, never stored."""

from collections.abc import Iterable
from fractions import Fraction

from harness.model.base import Identifier, NonEmpty
from harness.model.challenge import Severity
from harness.model.evidence import UNBUILT, Counterexample, Evidence, Location, Observation, Outcome, ReadableModel
from harness.model.loss import Loss
from harness.model.signal import Signal, SignalKind

INTEGRITY = "integrity"
"""Stands where other findings name their criterion; no rubric weighs it."""
NO_ANSWER = "the reply holds no answer"
MOST_SIGNALS = 5
"""So many signals of one kind are quoted, the most frequent first; the others are counted."""
_GRAVEST_FIRST = (Severity.CRITICAL, Severity.MAJOR, Severity.MINOR)


class Finding(ReadableModel):
    """A failed or notable criterion put in words."""

    criterion: Identifier
    """Id of the criterion; `build` and `integrity` stand for what no criterion covers."""
    severity: Severity
    """Weight of the criterion."""
    title: NonEmpty
    """The fault in a phrase."""
    detail: str
    """What was seen."""
    also: tuple[Observation, ...] = ()
    """What further probes saw."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail speaks of."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: NonEmpty | None = None
    """The likeliest cause."""
    loss: Loss | None = None
    """Which places of the output are lost."""
    linked_to: Identifier | None = None
    """The criterion that found a race of threads on which this failure was seen to depend."""


def criterion_findings(evidence: Iterable[Evidence]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the findings of critical criteria and of the others, the gravest first and otherwise in the order given.

    What caps marks stands with the critical ones, and what failed before what was met in part. Criteria that only lost
    their credit to another one (`rests_on`) were not seen to fail and yield nothing. A finding that is linked to
    another one follows it, and both stand where the graver one belongs.
    """
    faulty = [e for e in evidence if e.faulty]
    rank = {
        e.criterion: (0 if e.gates else _GRAVEST_FIRST.index(e.severity), e.outcome is Outcome.PARTIAL) for e in faulty
    }
    roots = {e.criterion: e.linked_to if e.linked_to in rank else e.criterion for e in faulty}
    highest = {root: min(rank[c] for c in rank if roots[c] == root) for root in roots.values()}
    first = {root: n for n, root in reversed(list(enumerate(roots.values())))}

    def place(e: Evidence) -> tuple[tuple[int, bool], int, bool, tuple[int, bool]]:
        root = roots[e.criterion]
        return highest[root], first[root], e.criterion != root, rank[e.criterion]

    ordered = sorted(faulty, key=place)
    critical = tuple(_finding(e) for e in ordered if highest[roots[e.criterion]][0] == 0)
    return critical, tuple(_finding(e) for e in ordered if highest[roots[e.criterion]][0] > 0)


def build_finding(title: str, detail: str, locations: tuple[Location, ...], diagnosis: str = "") -> Finding:
    """A build failure in words, with what established its cause where a repaired copy did."""
    return Finding(
        criterion=UNBUILT, severity=Severity.CRITICAL, title=title, detail=detail, locations=locations,
        diagnosis=diagnosis or None,
    )  # fmt: skip


def signal_findings(signals: Iterable[Signal]) -> tuple[Finding, ...]:
    """One finding for each kind of signal, in the order of `SignalKind`."""
    every = tuple(signals)
    return tuple(
        Finding(criterion=INTEGRITY, severity=Severity.MAJOR, title=kind.value, detail=_quoted(seen))
        for kind in SignalKind
        if (seen := [s for s in every if s.kind is kind])
    )


def _finding(evidence: Evidence) -> Finding:
    share = ""
    if evidence.outcome is Outcome.PARTIAL:
        # from the decimal digits: in binary 0.29 is a little less
        share = f" ({int(100 * Fraction(repr(evidence.satisfied)))} % of the credit)"
    return Finding(
        criterion=evidence.criterion, severity=evidence.severity, title=f"{evidence.title}{share}",
        detail=evidence.detail, also=evidence.also, locations=evidence.locations,
        counterexample=evidence.counterexample, loss=evidence.loss, linked_to=evidence.linked_to,
        diagnosis=evidence.diagnosis.words if evidence.diagnosis else None,
    )  # fmt: skip


def _quoted(signals: list[Signal]) -> str:
    named = sorted((s for s in signals if s.detail), key=lambda s: -s.times)
    quoted = [f"{s.detail} ({s.times} times)" if s.times > 1 else s.detail for s in named[:MOST_SIGNALS]]
    more = len(named) - len(quoted)
    return "; ".join([*quoted, *([f"and {more} more"] if more else [])])
