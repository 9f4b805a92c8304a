"""Signals: acts in the sandbox that honest code has no reason for, seen from outside."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from harness.model.evidence.evidence import ReadableModel


class SignalKind(StrEnum):
    """The kind of act; the value is the fault as a phrase."""

    UNSEEN_FILE = "tries to open files it was not given"
    SYSTEM_CALL = "tries system calls that a kernel has no use for"
    LATE_WRITE = "writes its output after it has replied"
    UNSOLICITED = "speaks without being asked"
    FORGED_REPLY = "sends a reply in a form that no reply has"
    BACKGROUND = "works in the background between calls"
    NONDETERMINISTIC = "answers the same call in different ways"


class Signal(ReadableModel):
    """One act and its count."""

    kind: SignalKind
    """Kind of act."""
    detail: str
    """File, call or figure, printable, at most 200 characters."""
    times: int = Field(default=1, ge=1)
    """Number of occurrences."""


def merge_signals(signals: Iterable[Signal], most: int = 100) -> tuple[Signal, ...]:
    """Merge equal signals, by kind and then most frequent first; at most `most` of a kind."""
    counts: dict[SignalKind, Counter[str]] = {kind: Counter() for kind in SignalKind}
    for signal in signals:
        counts[signal.kind][signal.detail] += signal.times
    return tuple(
        Signal(kind=kind, detail=detail, times=times)
        for kind, seen in counts.items()
        for detail, times in seen.most_common(most)
    )
