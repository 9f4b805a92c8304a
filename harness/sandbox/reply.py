"""How a request to a worker ended, and what it returned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from harness.model import Location


class CallStatus(Enum):
    """How a request to a worker ended."""

    RETURNED = "returned"
    """The call returned a value of the form that was asked for."""
    RAISED = "raised"
    """The submission raised an exception."""
    MALFORMED = "returned something else"
    """The call returned something other than what was asked for."""
    CRASHED = "crashed"
    """The worker process ended."""
    TIMEOUT = "timed out"
    """No reply within the limit of processor time, or not within the wall time that goes with it; the worker was
    killed."""
    OUTPUT_LIMIT = "printed too much"
    """The worker printed more than the limit and was killed."""
    RESOURCE_LIMIT = "used too much"
    """The worker used more scratch space, threads or processes than it may, and was killed."""
    PROTOCOL_VIOLATION = "broke the protocol"
    """The worker sent something that is not a reply, or sent it unasked, and was killed."""


@dataclass(frozen=True)
class ServedUse:
    """How a call used a function that it was given; counted where the answer reaches nothing.

    Attributes:
        calls: how often it was called.
        fault: what was wrong with the first call that it refused; empty where it refused none.
        exhausted: whether it was called more often than it answers.
    """

    calls: int = 0
    fault: str = ""
    exhausted: bool = False


@dataclass(frozen=True)
class Reply:
    """The result of one request. Everything in it but the times and `served` is what the submission claims.

    Attributes:
        status: how the request ended.
        value: the value, when the call returned.
        text: what happened, in words, when it did not.
        exception: name of the type of what was raised.
        lineage: built-in exception types of what was raised, nearest first.
        locations: where in the submission it was raised; a line that is there.
        seconds: wall time from before the first input byte was visible to after the output could no longer change.
        processor: processor seconds of the worker over the same span.
        serving: processor seconds of what served it functions meanwhile, where it timed out.
        queued: seconds of them in which the worker, or the thread that waited for it, was ready to run and had no
            processor.
        echo: the array arguments as they were after the call, when asked for.
        served: how the functions that it was given were used, by name.
        limit: seconds of processor time that it might use, where it did not end well.
        exhausted: whether it timed out having used them up.
        starved: whether it timed out having had less time on a processor than its limit: other work took the rest.
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
        """Whether the worker can be asked again."""
        return self.status in (CallStatus.RETURNED, CallStatus.RAISED, CallStatus.MALFORMED)
