"""What an answer was seen doing in the box, put in words: findings that change no mark."""

from collections import Counter
from collections.abc import Sequence

from harness.model import Finding, Severity
from harness.sandbox.signals import Signal, SignalKind

INTEGRITY = "integrity"
"""Stands where other findings name their criterion; no rubric weighs it."""
MOST_DETAILS = 5
"""So many different sights of one kind are told, the most frequent first; the others are counted."""


def integrity_findings(signals: Sequence[Signal]) -> tuple[Finding, ...]:
    """One finding for each kind of signal, in the order of `SignalKind`.

    Args:
        signals: of one grade, in the order seen; the same one may come many times.
    """
    return tuple(
        Finding(criterion=INTEGRITY, severity=Severity.MAJOR, title=kind.value, detail=_told(counts))
        for kind in SignalKind
        if (counts := Counter(s.detail for s in signals if s.kind is kind))
    )


def with_integrity(findings: Sequence[Finding], signals: Sequence[Signal]) -> tuple[Finding, ...]:
    """The findings of a grade, the gravest first, with those of its signals right behind the critical ones."""
    critical = [f for f in findings if f.severity is Severity.CRITICAL]
    others = [f for f in findings if f.severity is not Severity.CRITICAL]
    return (*critical, *integrity_findings(signals), *others)


def _told(counts: Counter[str]) -> str:
    named = [(detail, times) for detail, times in counts.most_common() if detail]
    sights = [f"{detail} ({times} times)" if times > 1 else detail for detail, times in named[:MOST_DETAILS]]
    more = len(named) - len(sights)
    return "; ".join([*sights, *([f"and {more} more"] if more else [])])
