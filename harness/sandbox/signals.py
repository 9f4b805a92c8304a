"""What an answer did in the box that honest code has no reason to do, seen from outside."""

from dataclasses import dataclass
from enum import StrEnum


class SignalKind(StrEnum):
    """What was seen; the value is the fault as a phrase."""

    UNSEEN_FILE = "tries to open files it was not given"
    SYSTEM_CALL = "tries system calls that a kernel has no use for"
    LATE_WRITE = "writes its output after it has replied"
    UNSOLICITED = "speaks without being asked"
    FORGED_REPLY = "sends a reply in a form that no reply has"
    BACKGROUND = "works in the background between calls"
    UNSTEADY = "answers the same call in different ways"


@dataclass(frozen=True)
class Signal:
    """One thing seen.

    Attributes:
        kind: what.
        detail: the file, the call or the figure, safe to print, at most 200 characters.
    """

    kind: SignalKind
    detail: str
