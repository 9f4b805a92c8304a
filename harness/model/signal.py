"""What an answer did in the sandbox that honest code has no reason to do, seen from outside."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from harness.model.evidence import ReadableModel


class SignalKind(StrEnum):
    """What was seen; the value is the fault as a phrase."""

    UNSEEN_FILE = "tries to open files it was not given"
    SYSTEM_CALL = "tries system calls that a kernel has no use for"
    LATE_WRITE = "writes its output after it has replied"
    UNSOLICITED = "speaks without being asked"
    FORGED_REPLY = "sends a reply in a form that no reply has"
    BACKGROUND = "works in the background between calls"
    NONDETERMINISTIC = "answers the same call in different ways"


class Signal(ReadableModel):
    """One thing seen, and how often."""

    kind: SignalKind
    """What."""
    detail: str
    """The file, the call or the figure, safe to print, at most 200 characters."""
    times: int = Field(default=1, ge=1)
    """How often it was seen."""


def counted(signals: Iterable[Signal], most: int = 100) -> tuple[Signal, ...]:
    """Each signal once with its count, by kind and the most frequent first; at most `most` of a kind."""
    counts: dict[SignalKind, Counter[str]] = {kind: Counter() for kind in SignalKind}
    for signal in signals:
        counts[signal.kind][signal.detail] += signal.times
    return tuple(
        Signal(kind=kind, detail=detail, times=times)
        for kind, seen in counts.items()
        for detail, times in seen.most_common(most)
    )
