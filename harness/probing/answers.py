"""The interface that probes call, and submissions in a sandbox that implement it."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from harness.model import Signal
from harness.probing.failures import NotRun, TimeUsedUp, WorkerLost
from harness.probing.submissions.reply_failure import IMPORT, failure_of, make_timeout, misuse
from harness.sandbox import (
    CallStatus,
    InputUse,
    Plan,
    RemoteObject,
    Reply,
    ServedUse,
    WorkerSession,
    WorkerSpec,
    start_fork_server,
)
from harness.sandbox.accounting.wall_bound import SHORTEST
from harness.sandbox.session.fork_server import ForkServer
from harness.sandbox.session.function_server import FunctionServer
from harness.sandbox.session.pool import LentForkServer
from harness.sandbox.session.worker_spec import rlimits
from harness.timing import clock
from harness.timing.timeline import span

DROPPING = "dropping"
"""Label of the wait while a worker drops kept objects, which runs their destructors."""
OUTPUT_KEPT = 64 << 10
"""Most bytes kept of a submission's output."""


@dataclass(frozen=True)
class Cost:
    """Wall and processor seconds of a call."""

    seconds: float = 0.0
    processor: float = 0.0


@dataclass(frozen=True)
class Spent:
    """The accumulated cost of an answer.

    Attributes:
        sandbox_seconds: wall time of its workers and their start.
        charged_seconds: time of its calls, without waits for a processor.
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
    """A submission as a probe sees it; if its code fails, methods raise `ProbeFailure`."""

    cost: Cost
    """Cost of the last call."""
    echo: tuple[Any, ...]
    """Array arguments after the last call with `echo=True`."""
    served: Mapping[str, ServedUse]
    """Use of the functions served to the last call, by name."""
    capabilities: Mapping[str, Any]
    """Optional features that the submission claims, with their settings, as in submission.toml."""

    @property
    def literals(self) -> Collection[int]:
        """Integers in the submission's source."""

    @property
    def processor_seconds(self) -> float:
        """Processor seconds of all calls so far."""

    def has(self, function: str) -> bool:
        """Return whether the submission exposes `function`."""

    def call(
        self,
        function: str,
        *args: Any,
        returns: Plan,
        seconds: float | None = None,
        hold: bool = False,
        echo: bool = False,
        inputs: InputUse = InputUse.FRESH,
        module: str = "submission",
        **kwargs: Any,
    ) -> Any:
        """Call a function and return its result in the form of `returns`.

        Args:
            *args: plain values, arrays, `RemoteObject`, `RemoteFunction`, or lists, tuples and dicts of these; a
                `ServedFunction` only on its own.
            seconds: limit on processor time; by default the challenge's.
            hold: also keep the result in the worker, and return `(value, RemoteObject)`.
            echo: copy the array arguments back into `self.echo` after the call.
            module: the submission, or a loaded module.
        """

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """Fetch a kept object in its current state."""

    def load(self, name: str, source: str) -> None:
        """Load trusted source as a module beside the submission."""

    def fresh(self) -> None:
        """Start a new process."""

    def forget(self) -> None:
        """Drop all kept objects."""

    def resident_bytes(self) -> int:
        """Return the process's resident bytes."""


class SandboxedAnswer:
    """A submission in a sandbox, which reopens after a crash.

    Attributes:
        signals: suspicious actions of all its workers.
        printed: tail of their output.
        deadline: end of the grade on `clock.now`.
        lanes: number of twins to probe in parallel.
        under_way: callback for a call in progress.
    """

    sandbox_seconds = charged_seconds = processor_seconds = 0.0
    calls, printed, lanes = 0, "", 2
    under_way: Callable[[str, float], None] | None = None
    deadline = math.inf

    def __init__(
        self,
        target: WorkerSpec,
        capabilities: Mapping[str, Any] | None = None,
        literals: Collection[int] = (),
        *,
        fork_server: ForkServer | LentForkServer | None = None,
    ) -> None:
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
        self._box: WorkerSession | None = None
        self._kept: list[RemoteObject] = []
        self._loaded: dict[str, str] = {}
        self._waits: dict[str, float] = {}

    @property
    def hung(self) -> bool:
        """True if an import, call or destructor has timed out."""
        return bool(self._waits)

    @property
    def share_used(self) -> float:
        """Used fraction of the probes' time; above 1 every call fails."""
        return self.charged_seconds / self.target.limits.probes_seconds

    @property
    def spent(self) -> Spent:
        """Cost so far."""
        return Spent(self.sandbox_seconds, self.charged_seconds, self.processor_seconds, self.calls)

    @spent.setter
    def spent(self, spent: Spent) -> None:
        self.sandbox_seconds, self.charged_seconds = spent.sandbox_seconds, spent.charged_seconds
        self.processor_seconds, self.calls = spent.processor_seconds, spent.calls

    def twin(self) -> Self:
        """Return the submission in another, unopened sandbox."""
        twin = type(self)(self.target, self.capabilities, self.literals)
        twin.deadline = self.deadline
        return twin

    def open(self) -> Reply:
        """Open the sandbox if necessary; return the reply."""
        if self._box is not None:
            return Reply(CallStatus.RETURNED, self.functions)
        start = clock.now()
        try:
            fork_server = self.fork_server()
            self._server = self._server or FunctionServer(fork_server, rlimits(self.target))
            self._box = WorkerSession(self.target, fork_server, self._server)
            with span("worker", self.target.entry):
                reply = self._box.open()
        except BaseException:  # including KeyboardInterrupt: only this call ends the worker
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
        """Return the workers' parent process."""
        self._fork_server = self._fork_server or start_fork_server(self.target)
        return self._fork_server

    def close(self) -> None:
        """Close the sandbox, and its own fork server."""
        self._leave()
        if self._server is not None:
            self._server.close()
        self._server = None
        if self._fork_server is not None and not self._borrowed:
            self._fork_server.close()
            self._fork_server = None

    def _leave(self) -> None:
        box, self._box = self._box, None
        self._kept, self._loaded = [], {}
        if box is None:
            return
        box.look_once_more()
        self.printed = (self.printed + box.output())[-OUTPUT_KEPT:]
        self.signals += [signal for signal in box.signals if signal not in self.signals]
        box.close()

    def has(self, function: str) -> bool:
        """See `Answer.has`."""
        self.box()
        return function in self.functions

    def call(
        self,
        function: str,
        *args: Any,
        returns: Plan,
        seconds: float | None = None,
        hold: bool = False,
        echo: bool = False,
        inputs: InputUse = InputUse.FRESH,
        module: str = "submission",
        **kwargs: Any,
    ) -> Any:
        """See `Answer.call`."""
        box = self.box()
        box.under_way = self.under_way
        reply = box.call(
            function,
            *args,
            returns=returns,
            seconds=seconds or self.target.limits.seconds_of(function),
            hold=hold,
            echo=echo,
            inputs=inputs,
            module=module,
            **kwargs,
        )
        value = self._unwrap(reply, self._get_function_name(function, args))
        self.echo = reply.echo
        self._kept += _list_remote_objects(value)
        return value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        return self._unwrap(self.box().fetch(kept, returns), "an object kept")

    def load(self, name: str, source: str) -> None:
        """See `Answer.load`."""
        box = self.box()
        if self._loaded.get(name) != source:
            self._unwrap(box.load(name, source), "a module of the harness")
            self._loaded[name] = source

    def fresh(self) -> None:
        """See `Answer.fresh`."""
        self._leave()

    def forget(self) -> None:
        """See `Answer.forget`."""
        kept, self._kept = self._kept, []
        if self._box is None or not kept:
            return
        if DROPPING in self._waits:  # a destructor that timed out once would do so again
            self._leave()
        else:
            self._unwrap(self._box.drop(kept), DROPPING)

    def resident_bytes(self) -> int:
        """See `Answer.resident_bytes`."""
        try:
            return self.box().resident_bytes()
        except ProcessLookupError:
            raise WorkerLost("crashes", "the process ended") from None

    def box(self) -> WorkerSession:
        """Open the sandbox if necessary, and return it.

        Raises:
            NotRun: the grade's deadline has passed.
            TimeUsedUp: the probes' time is used up.
            WorkerLost: the submission does not load again.
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
                raise make_timeout("does not load again", reply, IMPORT)
            raise WorkerLost("does not load again", reply.text)
        return self._box

    def _charge(self, reply: Reply, what: str) -> None:
        spent = _compute_charge(reply)
        self.charged_seconds += spent
        if reply.status is CallStatus.TIMEOUT:
            self._waits[what] = self._waits.get(what, 0.0) + spent

    def _require_time(self) -> None:
        if clock.now() > self.deadline - SHORTEST:
            raise NotRun("the time for the whole grade is over")

    def _get_function_name(self, function: str, args: tuple[Any, ...]) -> str:
        return function

    def _unwrap(self, reply: Reply, function: str) -> Any:
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


def _compute_charge(reply: Reply) -> float:
    return max(reply.processor, reply.seconds - reply.queued)


def _list_remote_objects(value: Any) -> list[RemoteObject]:
    if isinstance(value, RemoteObject):
        return [value]
    return [k for item in value for k in _list_remote_objects(item)] if isinstance(value, tuple) else []
