"""How a probe ends when the answer does not hold: caught by the probe's runner, never seen outside this room."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from harness.model import Draws, Figure, Location, Loss, Observation, Obstacle

ITSELF = "itself"
"""Names, as the criterion whose property is broken, whichever is judged: no other one explains what went wrong."""


class ProbeFailure(Exception):
    """The answer went wrong.

    Attributes:
        title: the fault in a phrase; the same fault at another size has the same title.
        detail: what was seen.
        where: output and index, such as `dx[0, 3, 1]`.
        expected: what was right there.
        got: what the answer gave.
        measured: figures gathered on the way.
        diagnosis: the likeliest cause in words, where the probe itself can tell it from what it saw.
        loss: which outputs are lost, where the probe mapped them.
        locations: places in the submission that the detail speaks of.
        program: the calls that lead there, a line each, where it takes more than one.
        defect: kind of the defect that the device reported, where it was one.
        obstacle: what failed, where it was nothing that the probe compares.
        asks_for: criteria of options that the program makes use of; None where nobody says.
        fault_of: the criterion whose property is broken, where that is known.
        also: what else was seen, of other kinds.
    """

    obstacle: Obstacle | None = None
    asks_for: tuple[str, ...] | None = None

    def __init__(
        self, title: str, detail: str = "", *, where: str = "", expected: Figure | None = None,
        got: Figure | None = None, measured: dict[str, Figure] | None = None, diagnosis: str | None = None,
        loss: Loss | None = None, locations: Iterable[Location] = (), program: Iterable[str] = (),
        defect: str = "", fault_of: str = "", also: Iterable[Observation] = (),
    ) -> None:  # fmt: skip
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
    """A call of the answer brought nothing that the contract speaks of."""

    obstacle = Obstacle.CALL


class TrivialOutput(ProbeFailure):
    """An output is constant or a copy of an input, which keeps many laws."""

    obstacle = Obstacle.OUTPUT


class FaultElsewhere(ProbeFailure):
    """A fault that another criterion judges explains what went wrong: the plain case shows it as well, for one."""

    obstacle = Obstacle.FAULT


class KernelFailed(ProbeFailure):
    """A legal call of a device does not end well."""


class CallRefused(KernelFailed):
    """A legal call of a device is refused: nothing of it runs."""


class WrongOutputs(ProbeFailure):
    """A call of a device ended well and left outputs unwritten, or wrote beside them."""

    obstacle = Obstacle.OUTPUT


class WrittenOutside(WrongOutputs):
    """A call of a device wrote beside its outputs."""


class FromUnwritten(ProbeFailure):
    """The result changes with the content of unwritten memory, and so fails by chance, whatever is asked."""


class ArgumentsRejected(CallFailed):
    """The answer raised ValueError: right where the arguments are wrong, a fault elsewhere."""


class OtherRaised(CallFailed):
    """The answer raised an exception of no kind that the contract speaks of."""


class NotOffered(ArgumentsRejected):
    """The answer raised NotImplementedError: it does not offer what was asked for."""


class Spared(Exception):
    """A call is one that a criterion is judged without; see `conditions`."""


class NotTried(ProbeFailure):
    """A case could not be run at all: it is neither right nor wrong."""


NOTHING_LEFT = "every case meets the condition under which the answer fails"
"""Why a probe shows nothing whose cases were all spared."""
SOME_LEFT = "every case of some probes meets the condition under which the answer fails"
"""The same where other probes of the criterion ran, and passed."""


class NotMeasurable(Exception):
    """What the probe asks for cannot be found out on this device: no fault of the answer."""


class NotRun(Exception):
    """What the probe asks for could not be found out this time, for a reason on our side: no fault of the answer.

    Attributes:
        draws: the drawn cases that were tried all the same.
        refused: why an adapter of ours does not serve what is asked, by function, where that is the whole reason.
        verb: what the adapter does with these calls.
    """

    def __init__(
        self, reason: str, draws: Draws | None = None, refused: Mapping[str, str] = MappingProxyType({}), verb: str = ""
    ) -> None:
        super().__init__(reason)
        self.draws, self.refused, self.verb = draws, refused, verb


class WorkerLost(CallFailed):
    """The worker is gone: it crashed, hung, flooded its output or broke the protocol."""


class CallTimedOut(WorkerLost):
    """A call did not end in time.

    It counts when it used up its processor time, or when it happens again with nothing beside it (see `probe.run`).

    Attributes:
        limit: seconds of processor time that it might use.
        spent: seconds by the wall clock after which it was ended.
        exhausted: whether it used up its processor time.
        starved: whether other work kept the processor from it for the rest of its time.
    """

    limit = spent = 0.0
    exhausted = starved = False


class TimeUsedUp(WorkerLost):
    """The time for all probes is used up."""


class OutOfMemory(CallFailed):
    """The answer raised MemoryError."""


BEYOND_LIMITS = (CallTimedOut, TimeUsedUp, OutOfMemory)
"""How an answer ends that needs more time or memory than it may use: no fault where the sizes were drawn."""
