"""Whoever is being probed: what a probe sees, and a submission in the box."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from harness.model import Signal
from harness.probing.failures import NotRun, TimeUsedUp, WorkerLost
from harness.probing.reply_failure import IMPORT, failure_of, misuse, timed_out
from harness.sandbox import (
    Box,
    CallStatus,
    InputUse,
    Plan,
    RemoteObject,
    Reply,
    ServedUse,
    WorkerSpec,
    start_fork_server,
)
from harness.sandbox.fork_server import ForkServer
from harness.sandbox.function_server import FunctionServer
from harness.sandbox.wall_bound import SHORTEST
from harness.sandbox.warm import LentForkServer
from harness.sandbox.worker_spec import rlimits
from harness.timing import clock
from harness.timing.timeline import span

DROPPING = "dropping"
"""What is waited for when a worker forgets kept objects, which runs their destructors."""
OUTPUT_KEPT = 64 << 10
"""Bytes of what an answer printed that are kept."""


@dataclass(frozen=True)
class Cost:
    """What the last call cost, measured from outside: wall and processor seconds."""

    seconds: float = 0.0
    processor: float = 0.0


@dataclass(frozen=True)
class Spent:
    """What an answer has cost so far.

    Attributes:
        sandbox_seconds: wall time spent in its workers, their start included.
        charged_seconds: time of its calls, without what its workers waited for a processor.
        processor_seconds: processor time of its calls.
        calls: how many calls were made.
    """

    sandbox_seconds: float = 0.0
    charged_seconds: float = 0.0
    processor_seconds: float = 0.0
    calls: int = 0

    def __add__(self, more: "Spent") -> "Spent":
        return Spent(
            self.sandbox_seconds + more.sandbox_seconds,
            self.charged_seconds + more.charged_seconds,
            self.processor_seconds + more.processor_seconds,
            self.calls + more.calls,
        )

    def __sub__(self, less: "Spent") -> "Spent":
        return Spent(
            self.sandbox_seconds - less.sandbox_seconds,
            self.charged_seconds - less.charged_seconds,
            self.processor_seconds - less.processor_seconds,
            self.calls - less.calls,
        )


class Answer(Protocol):
    """What a probe sees of whoever is being probed.

    Every method that runs code of the answer raises `ProbeFailure` (or a kind of it) when the answer goes wrong.
    """

    cost: Cost
    """Of the last call."""
    echo: tuple[Any, ...]
    """The array arguments after the last call that asked for them."""
    served: Mapping[str, ServedUse]
    """How the last call used the functions that it was given, by name."""
    capabilities: Mapping[str, Any]
    """Optional features the answer claims, with their settings, as submission.toml states them."""

    @property
    def literals(self) -> Collection[int]:
        """Integers that the answer's own source names; drawn sizes come near them."""

    @property
    def processor_seconds(self) -> float:
        """Processor time of all its calls so far."""

    def has(self, function: str) -> bool:
        """Whether the answer exposes `function`."""

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, inputs: InputUse = InputUse.FRESH, module: str = "submission", **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Call a function of the answer; the result is what `returns` asks for.

        Args:
            function: its name.
            *args: plain values, arrays, `RemoteObject`, `RemoteFunction`, and lists, tuples and dicts of them; and
                `ServedFunction`, as an argument of its own.
            returns: the plan of the result.
            seconds: processor time allowed.
            hold: keep the result on the answer's side as well; the value is then `(value, RemoteObject)`.
            echo: bring the array arguments back as they are after the call.
            inputs: what the caller does with the array arguments.
            module: the submission, or a module loaded before.
            **kwargs: as `args`.
        """

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """An object kept by the answer's side, as it is now."""

    def load(self, name: str, source: str) -> None:
        """Load trusted source beside the answer."""

    def fresh(self) -> None:
        """Start over in a new process: nothing kept before is there any more."""

    def forget(self) -> None:
        """Drop everything kept."""

    def resident_bytes(self) -> int:
        """Resident memory of the answer's process, from outside."""


class SandboxedAnswer:
    """A submission in the box; reopens the box when it broke.

    Attributes:
        signals: what it did, in any of its workers, that honest code has no reason to do.
        printed: the last of what it printed, in all of them.
        sandbox_seconds, charged_seconds, processor_seconds, calls: as of `Spent`.
        deadline: by `clock.now`, when the grade is cut off: no call begins after it.
        lanes: how many twins of it are probed side by side.
        under_way: who is told that a call is at work.
    """

    sandbox_seconds = charged_seconds = processor_seconds = 0.0
    calls, printed, lanes = 0, "", 2
    under_way: Callable[[str, float], None] | None = None
    deadline = math.inf

    def __init__(
        self, target: WorkerSpec, capabilities: Mapping[str, Any] | None = None, literals: Collection[int] = (), *,
        fork_server: ForkServer | LentForkServer | None = None,
    ) -> None:  # fmt: skip
        self.target = target
        self.capabilities: Mapping[str, Any] = capabilities or {}
        self.literals = literals
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}
        self.functions: list[str] = []
        self.signals: list[Signal] = []
        self._fork_server = fork_server
        self._borrowed = fork_server is not None
        self._server: FunctionServer | None = None
        self._box: Box | None = None
        self._kept: list[RemoteObject] = []
        self._loaded: dict[str, str] = {}
        self._waits: dict[str, float] = {}

    @property
    def hung(self) -> bool:
        """Whether something that was asked of it did not end."""
        return bool(self._waits)

    @property
    def share_used(self) -> float:
        """Time charged over what is allowed for all probes; over 1 every call fails."""
        return self.charged_seconds / self.target.limits.probes_seconds

    @property
    def spent(self) -> Spent:
        """What it has cost so far."""
        return Spent(self.sandbox_seconds, self.charged_seconds, self.processor_seconds, self.calls)

    @spent.setter
    def spent(self, spent: Spent) -> None:
        self.sandbox_seconds, self.charged_seconds = spent.sandbox_seconds, spent.charged_seconds
        self.processor_seconds, self.calls = spent.processor_seconds, spent.calls

    def twin(self) -> Self:
        """The same submission with a box of its own, which is not open and has cost nothing."""
        twin = type(self)(self.target, self.capabilities, self.literals)
        twin.deadline = self.deadline
        return twin

    def open(self) -> Reply:
        """Open the box if it is not; the reply of the opening, or of nothing to do."""
        if self._box is not None:
            return Reply(CallStatus.RETURNED, self.functions)
        start = clock.now()
        try:
            fork_server = self.fork_server()
            self._server = self._server or FunctionServer(fork_server, rlimits(self.target))
            self._box = Box(self.target, fork_server, self._server)
            with span("worker", self.target.entry):
                reply = self._box.open()
        except BaseException:  # an interrupt included: nothing else would end this worker
            self.close()
            raise
        self.sandbox_seconds += clock.now() - start
        self._charge(reply, IMPORT)
        if reply.status is CallStatus.RETURNED:
            self.functions = reply.value
        else:
            self._leave()
        return reply

    def fork_server(self) -> ForkServer | LentForkServer:
        """The process that its workers come from, started where it is not."""
        self._fork_server = self._fork_server or start_fork_server(self.target)
        return self._fork_server

    def close(self) -> None:
        """Close the box, and end the process that its workers come from, unless it was given."""
        self._leave()
        if self._server is not None:
            self._server.close()
        self._server = None
        if self._fork_server is not None and not self._borrowed:
            self._fork_server.close()
            self._fork_server = None

    def _leave(self) -> None:
        """End the worker, and keep what was seen of it."""
        box, self._box = self._box, None
        self._kept, self._loaded = [], {}
        if box is None:
            return
        box.look_once_more()
        self.printed = (self.printed + box.output())[-OUTPUT_KEPT:]
        self.signals += [signal for signal in box.signals if signal not in self.signals]
        box.close()

    def has(self, function: str) -> bool:
        """Whether the submission exposes `function`."""
        self.box()
        return function in self.functions

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, inputs: InputUse = InputUse.FRESH, module: str = "submission", **kwargs: Any,
    ) -> Any:  # fmt: skip
        """As `Answer.call`."""
        box = self.box()
        box.under_way = self.under_way
        reply = box.call(
            function, *args, returns=returns, seconds=seconds or self.target.limits.seconds_of(function),
            hold=hold, echo=echo, inputs=inputs, module=module, **kwargs,
        )  # fmt: skip
        value = self._value(reply, self._named(function, args))
        self.echo = reply.echo
        self._kept += _kept_in(value)
        return value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """As `Answer.fetch`."""
        return self._value(self.box().fetch(kept, returns), "an object kept")

    def load(self, name: str, source: str) -> None:
        """As `Answer.load`."""
        box = self.box()
        if self._loaded.get(name) != source:
            self._value(box.load(name, source), "a module of the harness")
            self._loaded[name] = source

    def fresh(self) -> None:
        """As `Answer.fresh`."""
        self._leave()

    def forget(self) -> None:
        """As `Answer.forget`."""
        kept, self._kept = self._kept, []
        if self._box is None or not kept:
            return
        if DROPPING in self._waits:  # a destructor that did not end once is not waited for again
            self._leave()
        else:
            self._value(self._box.drop(kept), DROPPING)

    def resident_bytes(self) -> int:
        """As `Answer.resident_bytes`."""
        try:
            return self.box().resident_bytes()
        except ProcessLookupError:
            raise WorkerLost("crashes", "the process ended") from None

    def box(self) -> Box:
        """The box, opened where it is not.

        Raises:
            NotRun: the grade is cut off.
            TimeUsedUp: the time for all probes is used up.
            WorkerLost: the answer does not load again.
        """
        self._require_time()
        if self.share_used > 1:
            waits = "".join(f"; waited {spent:.3g} s for `{what}`" for what, spent in self._waits.items())
            detail = f"{self.charged_seconds:.3g} s of {self.target.limits.probes_seconds:g} s{waits}"
            raise TimeUsedUp("the time for all probes is used up", detail)
        reply = self.open()
        if self._box is None:
            self._require_time()
            if reply.status is CallStatus.TIMEOUT:
                raise timed_out("does not load again", reply, IMPORT)
            raise WorkerLost("does not load again", reply.text)
        return self._box

    def _charge(self, reply: Reply, what: str) -> None:
        """Charge a reply's time, and note what did not end."""
        spent = _charged(reply)
        self.charged_seconds += spent
        if reply.status is CallStatus.TIMEOUT:
            self._waits[what] = self._waits.get(what, 0.0) + spent

    def _require_time(self) -> None:
        if clock.now() > self.deadline - SHORTEST:
            raise NotRun("the time for the whole grade is over")

    def _named(self, function: str, args: tuple[Any, ...]) -> str:
        """The function of the answer's own that a call runs."""
        return function

    def _value(self, reply: Reply, function: str) -> Any:
        self.cost = Cost(reply.seconds, reply.processor)
        self.sandbox_seconds += reply.seconds
        self._charge(reply, function)
        self.processor_seconds += reply.processor
        self.calls += 1
        self.served = reply.served
        misused = misuse(reply.served, function, reply.locations)
        if reply.status is CallStatus.RETURNED and misused is None:
            return reply.value
        if not reply.alive:
            self._leave()
        self._require_time()
        raise misused or failure_of(reply, function)


def _charged(reply: Reply) -> float:
    """Seconds of a call that do not depend on what else the machine does."""
    return max(reply.processor, reply.seconds - reply.queued)


def _kept_in(value: Any) -> list[RemoteObject]:
    if isinstance(value, RemoteObject):
        return [value]
    return [k for item in value for k in _kept_in(item)] if isinstance(value, tuple) else []
