"""Whoever is being probed: a submission in the box, or one of our own modules."""

import copy
import itertools
import math
import os
import time
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harness.model import Signal
from harness.probing.failures import (
    ArgumentsRejected,
    CallTimedOut,
    NotOffered,
    NotRun,
    ProbeFailure,
    TimeUsedUp,
    WorkerLost,
)
from harness.probing.mutants import module_of
from harness.probing.reply_failure import failure_of
from harness.sandbox import (
    Array,
    Box,
    CallStatus,
    InputUse,
    Keep,
    Nothing,
    Plan,
    RemoteFunction,
    RemoteObject,
    Reply,
    Scalar,
    Tree,
    WorkerSpec,
    process_stats,
    start_fork_server,
)
from harness.sandbox.boot.wire import CallerArrays
from harness.sandbox.fork_server import ForkServer
from harness.sandbox.warm import LentForkServer
from harness.timing import clock

OUTPUT_KEPT = 64 << 10
"""Bytes of what an answer printed that are kept."""


@dataclass(frozen=True)
class Cost:
    """What the last call cost, measured from outside: wall and processor seconds."""

    seconds: float = 0.0
    processor: float = 0.0


class Answer(Protocol):
    """What a probe sees of whoever is being probed.

    Every method that runs code of the answer raises `ProbeFailure` (or a kind of it) when the answer goes wrong.
    """

    cost: Cost
    """Of the last call."""
    echo: tuple[Any, ...]
    """The array arguments after the last call that asked for them."""
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
            *args: plain values, arrays, `RemoteObject`, `RemoteFunction`, and lists, tuples and dicts of them.
            returns: the plan of the result.
            seconds: wall time allowed.
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
        sandbox_seconds: wall time spent in its workers, their start included.
        charged_seconds: time of its calls, without what its workers waited for a processor.
        processor_seconds: processor time of its calls.
        calls: how many calls were made.
        deadline: by `clock.now`, when the grade is cut off: no call begins or goes on after it.
        under_way: who is told that a call is at work.
    """

    sandbox_seconds = charged_seconds = processor_seconds = 0.0
    calls, printed = 0, ""
    under_way: Callable[[str, float], None] | None = None
    deadline = math.inf

    def __init__(
        self, target: WorkerSpec, capabilities: Mapping[str, Any] | None = None, literals: Collection[int] = ()
    ) -> None:
        self.target = target
        self.capabilities: Mapping[str, Any] = capabilities or {}
        self.literals = literals
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.functions: list[str] = []
        self.signals: list[Signal] = []
        self._fork_server: ForkServer | LentForkServer | None = None
        self._box: Box | None = None
        self._kept: list[RemoteObject] = []
        self._loaded: dict[str, str] = {}

    @property
    def share_used(self) -> float:
        """Time charged over what is allowed for all probes; over 1 every call fails."""
        return self.charged_seconds / self.target.limits.probes_seconds

    def open(self) -> Reply:
        """Open the box if it is not; the reply of the opening, or of nothing to do."""
        if self._box is not None:
            return Reply(CallStatus.RETURNED, self.functions)
        start = clock.now()
        try:
            self._fork_server = self._fork_server or start_fork_server(self.target)
            self._box = Box(self.target, self._fork_server)
            reply = self._box.open()
        except BaseException:  # an interrupt included: nothing else would end this worker
            self.close()
            raise
        self.sandbox_seconds += clock.now() - start
        self.charged_seconds += _charged(reply)
        if reply.status is CallStatus.RETURNED:
            self.functions = reply.value
        else:
            self._leave()
        return reply

    def close(self) -> None:
        """Close the box, and end the process that its workers come from."""
        self._leave()
        if self._fork_server is not None:
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
        box, left = self.box(), self.deadline - clock.now() + 0.01
        box.under_way = self.under_way
        reply = box.call(
            function, *args, returns=returns, seconds=min(seconds or self.target.limits.seconds_of(function), left),
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
        if self._box is not None and kept:
            self._value(self._box.drop(kept), "dropping")

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
            detail = f"{self.charged_seconds:.3g} s of {self.target.limits.probes_seconds:g} s"
            raise TimeUsedUp("the time for all probes is used up", detail)
        reply = self.open()
        if self._box is None:
            kind = CallTimedOut if reply.status is CallStatus.TIMEOUT else WorkerLost
            raise kind("does not load again", reply.text)
        return self._box

    def _require_time(self) -> None:
        if clock.now() > self.deadline:
            raise NotRun("the time set for the grade is over")

    def _named(self, function: str, args: tuple[Any, ...]) -> str:
        """The function of the answer's own that a call runs."""
        return function

    def _value(self, reply: Reply, function: str) -> Any:
        self.cost = Cost(reply.seconds, reply.processor)
        self.sandbox_seconds += reply.seconds
        self.charged_seconds += _charged(reply)
        self.processor_seconds += reply.processor
        self.calls += 1
        if reply.status is CallStatus.RETURNED:
            return reply.value
        if not reply.alive:
            self._leave()
        self._require_time()
        raise failure_of(reply, function)


class LocalAnswer:
    """A trusted module, called in this process under the same contract: for mutants and references."""

    processor_seconds = 0.0

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        self.capabilities: Mapping[str, Any] = {}
        self.literals: Collection[int] = ()
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self._modules = {"submission": module}
        self._kept: dict[int, Any] = {}
        self._ids = itertools.count(1)
        self._caller = CallerArrays()

    def has(self, function: str) -> bool:
        """As `Answer.has`."""
        return callable(getattr(self.module, function, None))

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, inputs: InputUse = InputUse.FRESH, module: str = "submission", **kwargs: Any,
    ) -> Any:  # fmt: skip
        """As `Answer.call`; time is not limited."""
        arrays: list[Any] = []
        given = [self._revive(a, inputs, arrays) for a in args]
        named = {k: self._revive(v, inputs, arrays) for k, v in kwargs.items()}
        try:
            result = self._run(module, function, given, named)
            self.echo = tuple(map(copy.copy, arrays)) if echo else ()
            value = self._fit(result, returns, function)
        finally:
            self._caller.ended(arrays, inputs)
        return (value, self._keep(result)) if hold else value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """As `Answer.fetch`."""
        return self._fit(self._kept[kept.id], returns, "an object kept")

    def load(self, name: str, source: str) -> None:
        """As `Answer.load`."""
        self._modules[name] = module_of(name, source)

    def fresh(self) -> None:
        """Forget what was kept; the process stays."""
        self._kept.clear()

    def forget(self) -> None:
        """As `Answer.forget`."""
        self._kept.clear()

    def resident_bytes(self) -> int:
        """Resident memory of this process."""
        return process_stats.resident_bytes(os.getpid())

    def _run(self, module: str, function: str, given: list[Any], named: dict[str, Any]) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        try:
            with np.errstate(all="ignore"):
                result = getattr(self._modules[module], function)(*given, **named)
        except NotImplementedError as error:
            raise NotOffered(f"`{function}` raises NotImplementedError", str(error)) from None
        except Exception as error:
            kind = ArgumentsRejected if isinstance(error, ValueError) else ProbeFailure
            raise kind(f"`{function}` raises {type(error).__name__}", str(error)) from None
        self.cost = Cost(time.perf_counter() - wall, time.process_time() - processor)
        return result

    def _keep(self, value: Any) -> RemoteObject:
        kept = RemoteObject(next(self._ids))
        self._kept[kept.id] = value
        return kept

    def _revive(self, value: Any, use: InputUse, arrays: list[Any]) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(self._caller.passed(value.copy(), use, len(arrays)))
            return arrays[-1]
        if isinstance(value, RemoteObject):
            return self._kept[value.id]
        if isinstance(value, RemoteFunction):
            return getattr(self._modules[value.module], value.name)
        if isinstance(value, dict):
            return {k: self._revive(v, use, arrays) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._revive(v, use, arrays) for v in value)
        return value

    def _fit(self, value: Any, plan: Plan, function: str) -> Any:
        if isinstance(plan, Keep):
            return self._keep(value)
        if isinstance(plan, Tree):
            return copy.deepcopy(value)
        if isinstance(plan, tuple) and isinstance(value, (tuple, list)) and len(value) == len(plan):
            return tuple(self._fit(v, p, function) for v, p in zip(value, plan, strict=True))
        if isinstance(plan, Array) and isinstance(value, np.ndarray):
            if (value.shape, value.dtype) == (plan.shape, np.dtype(plan.dtype)):
                return value.copy()
        elif isinstance(plan, Scalar):
            plain = value.item() if isinstance(value, np.generic) else value
            if type(plain) is plan.kind:
                return plain
        elif isinstance(plan, Nothing) and value is None:
            return None
        raise ProbeFailure(f"`{function}` returns something else than the contract says", f"{type(value).__name__}")


def _charged(reply: Reply) -> float:
    """Seconds of a call that do not depend on what else the machine does."""
    return max(reply.processor, reply.seconds - reply.queued)


def _kept_in(value: Any) -> list[RemoteObject]:
    if isinstance(value, RemoteObject):
        return [value]
    return [k for item in value for k in _kept_in(item)] if isinstance(value, tuple) else []
