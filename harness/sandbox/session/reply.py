"""The result of a request to a worker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from harness.model import Location


class CallStatus(Enum):
    """The outcome of a request. The worker survives the first three only."""

    RETURNED = "returned"
    """The call returned a value of the requested form."""
    RAISED = "raised"
    """The submission raised an exception."""
    MALFORMED = "returned something else"
    """The call returned a value of another form."""
    CRASHED = "crashed"
    """The worker process ended."""
    TIMEOUT = "timed out"
    """No reply within the processor time, or within its wall-time bound; the worker was killed."""
    OUTPUT_LIMIT = "printed too much"
    """The worker printed too much and was killed."""
    RESOURCE_LIMIT = "used too much"
    """The worker exceeded its scratch space, threads or processes and was killed."""
    PROTOCOL_VIOLATION = "broke the protocol"
    """The worker sent an invalid or unsolicited message and was killed."""


@dataclass(frozen=True)
class ServedUse:
    """A call's use of one served function, counted out of the submission's reach.

    Attributes:
        fault: reason for the first refusal, or empty.
        exhausted: true beyond the call limit.
    """

    calls: int = 0
    fault: str = ""
    exhausted: bool = False


@dataclass(frozen=True)
class Reply:
    """The result of one request; all but the times and `served` are the submission's own claims.

    Attributes:
        text: description of a failure.
        exception: type name.
        lineage: its built-in base types, nearest first.
        locations: verified line of the submission that raised.
        seconds: wall time from before the input was visible until the output was final.
        processor: the worker's processor seconds meanwhile.
        serving: the function server's processor seconds, after a timeout.
        queued: seconds in which the worker or its waiting thread was runnable without a processor.
        echo: array arguments after the call.
        limit: processor seconds allowed, if the call failed.
        exhausted: true if it timed out and used up its limit.
        starved: true if it timed out with less processor access than its limit.
    """

    status: CallStatus
    value: Any = None
    text: str = ""
    exception: str = ""
    lineage: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()
    seconds: float = 0.0
    processor: float = 0.0
    serving: float = 0.0
    queued: float = 0.0
    echo: tuple[Any, ...] = ()
    served: Mapping[str, ServedUse] = field(default_factory=dict)
    limit: float = 0.0
    exhausted: bool = False
    starved: bool = False

    @property
    def alive(self) -> bool:
        """True if the worker accepts further requests."""
        return self.status in (CallStatus.RETURNED, CallStatus.RAISED, CallStatus.MALFORMED)
