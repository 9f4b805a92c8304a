"""Exceptions that end a probe."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from harness.model import Draws, Figure, Location, Loss, Observation, Obstacle

ITSELF = "itself"
"""Value of `fault_of` for the judged criterion, whichever it is: no other criterion explains the failure."""


class ProbeFailure(Exception):
    """A fault of the submission.

    Attributes:
        title: short description, equal for the same fault at other sizes.
        where: output and index, such as `dx[0, 3, 1]`.
        measured: figures gathered so far.
        diagnosis: likeliest cause in words, if the probe can tell.
        locations: places in the submission that `detail` mentions.
        program: calls up to the fault, one per line.
        defect: kind that the device reported.
        obstacle: reason why the probe could not compare.
        asks_for: criteria of options that the program uses; None if unknown.
        fault_of: criterion whose property is broken, if known.
    """

    obstacle: Obstacle | None = None
    asks_for: tuple[str, ...] | None = None

    def __init__(
        self,
        title: str,
        detail: str = "",
        *,
        where: str = "",
        expected: Figure | None = None,
        got: Figure | None = None,
        measured: dict[str, Figure] | None = None,
        diagnosis: str | None = None,
        loss: Loss | None = None,
        locations: Iterable[Location] = (),
        program: Iterable[str] = (),
        defect: str = "",
        fault_of: str = "",
        also: Iterable[Observation] = (),
    ) -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.where = where
        self.expected = expected
        self.got = got
        self.measured = measured or {}
        self.diagnosis = diagnosis
        self.loss = loss
        self.locations = tuple(locations)
        self.program = tuple(program)
        self.defect = defect
        self.fault_of = fault_of
        self.also = tuple(also)


class CallFailed(ProbeFailure):
    """A call without a result that the contract mentions."""

    obstacle = Obstacle.CALL


class TrivialOutput(ProbeFailure):
    """An output that is constant or copies an input."""

    obstacle = Obstacle.OUTPUT


class FaultElsewhere(ProbeFailure):
    """A failure from a fault that another criterion judges."""

    obstacle = Obstacle.FAULT


class KernelFailed(ProbeFailure):
    """A legal device call that ends badly."""


class CallRefused(KernelFailed):
    """A legal device call that is refused."""


class WrongOutputs(ProbeFailure):
    """A device call that leaves outputs unwritten or writes beside them."""

    obstacle = Obstacle.OUTPUT


class WrittenOutside(WrongOutputs):
    """A device call that writes beside its outputs."""


class FromUnwritten(ProbeFailure):
    """A wrong result that is right, or `otherwise`, where unwritten memory holds other values."""

    def __init__(self, title: str, detail: str = "", *, otherwise: str = "right", **known: Any) -> None:
        super().__init__(title, f"{detail}; {otherwise} where unwritten memory holds other values", **known)


class ArgumentsRejected(CallFailed):
    """A ValueError: right for wrong arguments, else a fault."""


class OtherRaised(CallFailed):
    """An exception that the contract does not mention."""


class NotOffered(ArgumentsRejected):
    """A NotImplementedError: the feature is not offered."""


class Spared(Exception):
    """A call that judging leaves out; see `harness.probing.conditions`."""


class NotTried(ProbeFailure):
    """A case that could not run: neither right nor wrong."""


NOTHING_LEFT = "every case meets the condition under which the answer fails"
"""Reason why a probe shows nothing if all its cases were spared."""
SOME_LEFT = "every case of some probes meets the condition under which the answer fails"
"""The same reason if other probes of the criterion ran and passed."""


class NotMeasurable(Exception):
    """A question that this device cannot answer."""


class NotRun(Exception):
    """A question left open this time.

    Attributes:
        refused: an adapter's reasons by function, if they explain everything.
        verb: what the adapter does with these calls.
    """

    def __init__(
        self, reason: str, draws: Draws | None = None, refused: Mapping[str, str] = MappingProxyType({}), verb: str = ""
    ) -> None:
        super().__init__(reason)
        self.draws, self.refused, self.verb = draws, refused, verb


class WorkerLost(CallFailed):
    """A worker that crashed, hung, flooded its output or broke the protocol."""


class CallTimedOut(WorkerLost):
    """A call that did not end in time.

    It counts if it used up its processor time, or happens again while nothing else runs.

    Attributes:
        limit: processor seconds.
        spent: wall seconds.
        exhausted: true if it used up `limit`.
        starved: true if other work took the processor.
    """

    limit = spent = 0.0
    exhausted = starved = False


class TimeUsedUp(WorkerLost):
    """The time budget for all probes is used up."""


class OutOfMemory(CallFailed):
    """A MemoryError from the submission."""


BEYOND_LIMITS = (CallTimedOut, TimeUsedUp, OutOfMemory)
"""Failures for lack of time or memory, which are no fault at drawn sizes."""
