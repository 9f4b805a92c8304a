"""The parent's side of the box."""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from harness.model import Signal, SignalKind
from harness.sandbox.accounting import process_stats
from harness.sandbox.accounting.run_queue import RunQueue
from harness.sandbox.accounting.wall_bound import SHORTEST, compute_remaining_time
from harness.sandbox.confinement.protocol import FileAccess
from harness.sandbox.inside import wire
from harness.sandbox.session.background_task import assert_wanted
from harness.sandbox.session.channel import Channel
from harness.sandbox.session.exception_reply import make_exception_reply
from harness.sandbox.session.fork_server import ForkServer, WorkerProcess
from harness.sandbox.session.function_server import FunctionServer
from harness.sandbox.session.memory_file import MemoryFile, StillWritable
from harness.sandbox.session.output import OUTPUT_LIMIT
from harness.sandbox.session.pool import NAMESPACED, LentForkServer, lender
from harness.sandbox.session.reply import CallStatus, Reply
from harness.sandbox.session.returns import MalformedReply, Plan, Reader, Tree, outline, room
from harness.sandbox.session.worker_spec import WorkerSpec, rlimits

IDLE_SHARE = 0.05
"""Share of a core that a worker may use while no call is pending."""
BYTECODE_LIMIT = 512 << 10
"""Largest bytecode of an entry, in bytes, that is kept for later workers."""
PROCESSES = 64
"""Most threads of a worker, including those that NumPy starts."""
SHORT_BY = 2 * SHORTEST
"""Tolerance, in seconds, in comparing the time used with the limit of a call that timed out."""
BEAT_SECONDS = 2.0
"""Interval between reports to `WorkerSession.under_way`, in seconds."""
UnderWay = Callable[[str, float], None]
"""Callback for a long call: the function's name, and the seconds since the call began."""


class WorkerSession:
    """One worker process with one submission in it.

    After a reply that is not `alive`, only `close` makes sense. Without a `fork_server` the box starts its own, which
    shares nothing with earlier boxes, not even an address-space layout.

    Attributes:
        signals: acts that honest code has no reason for.
        closed_files: files outside the rules that a device's driver opened.
    """

    def __init__(
        self, spec: WorkerSpec, fork_server: ForkServer | LentForkServer | None = None,
        server: FunctionServer | None = None,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.signals: list[Signal] = []
        self.closed_files: tuple[str, ...] = ()
        self.under_way: UnderWay | None = None
        self._calling = ""
        self._ids = itertools.count(1)
        self._kept = itertools.count(1)
        self._fork_server = fork_server
        self._own_fork_server = fork_server is None
        self._server = server
        self._own_server = server is None
        self._worker: WorkerProcess | None = None
        self._idle: process_stats.IdleMeter | None = None
        self._run_queue = RunQueue()

    def open(self) -> Reply:
        """Start the worker and import the submission; the value lists its functions.

        Raises:
            BoxError: the worker did not start.
        """
        if self._fork_server is None:
            self._fork_server = start_fork_server(self.spec)
        if self._server is None:
            self._server = FunctionServer(self._fork_server, rlimits(self.spec))
        self._worker = self._fork_server.fork(rlimits(self.spec))
        self._idle = process_stats.IdleMeter(self.pid)
        # a fork server of this box's own has no later worker to reuse the bytecode
        if self.spec.entry not in self._fork_server.bytecode and not self._own_fork_server:
            self._fork_server.bytecode[self.spec.entry], reply = self._compile(self._fork_server.folder)
            if not reply.alive:
                return reply
        return self._import(self._fork_server.folder)

    def _import(self, folder: str) -> Reply:
        spec, arena = self.spec, wire.Arena()
        bytecode = self._fork_server.bytecode.get(spec.entry) if self._fork_server is not None else None
        code = arena.add(bytecode)["array"] if bytecode is not None and bytecode.size else None
        request = {"op": "open", "folder": folder, "entry": spec.entry, "functions": list(spec.functions), "code": code}
        with MemoryFile.of(arena) as given:
            reply = self._ask(request, spec.limits.start_seconds, [given.fd] if code else [])
        if reply.status is not CallStatus.RETURNED:
            return reply
        claim = reply.value["value"]
        names = claim.get("list") if isinstance(claim, dict) else None
        if not isinstance(names, list) or any(name not in spec.functions for name in names):
            return self._end(CallStatus.PROTOCOL_VIOLATION, "the list of functions is not one")
        return replace(reply, value=[n for n in spec.functions if n in names])

    def _compile(self, folder: str) -> tuple[NDArray[np.uint8], Reply]:
        """Return the entry's bytecode, empty if it does not compile, and the reply.

        Later workers can trust it: the submission has not run yet.
        """
        request = {"op": "compile", "folder": folder, "entry": self.spec.entry}
        seconds = self.spec.limits.start_seconds
        reply = self._transfer(request, wire.Arena(), Tree(BYTECODE_LIMIT), seconds, False, False)
        code = reply.value if reply.status is CallStatus.RETURNED else None
        return code if isinstance(code, np.ndarray) and code.dtype == np.uint8 else np.empty(0, np.uint8), reply

    def load(self, name: str, source: str) -> Reply:
        """Run trusted source in the worker, for `wire.RemoteFunction`."""
        return self._ask({"op": "load", "name": name, "source": source}, self.spec.limits.start_seconds)

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, inputs: wire.InputUse = wire.InputUse.FRESH, module: str = "submission", **kwargs: Any,
    ) -> Reply:  # fmt: skip
        """Call one function and check its result against `returns`.

        Args:
            *args: plain values, arrays, `RemoteObject`, `RemoteFunction`, and lists, tuples and dicts of them;
                `ServedFunction` outside containers only.
            seconds: processor time; the spec's limit by default.
            hold: true to also keep the result in the worker; the value is then `(value, RemoteObject)`.
            echo: true to also return the array arguments after the call.
        """
        self._calling = function
        arena = wire.Arena()
        request = {
            "op": "call", "module": module, "function": function, "inputs": inputs,
            "args": [wire.describe(a, arena) for a in args],
            "kwargs": {k: wire.describe(v, arena) for k, v in kwargs.items()},
        }  # fmt: skip
        functions = [a for a in (*args, *kwargs.values()) if isinstance(a, wire.ServedFunction)]
        return self._transfer(request, arena, returns, seconds, hold, echo, functions)

    def fetch(self, kept: wire.RemoteObject, returns: Plan) -> Reply:
        """Copy an object kept in the worker."""
        return self._transfer({"op": "fetch", "kept": kept.id}, wire.Arena(), returns, None, False, False)

    def drop(self, kept: Iterable[wire.RemoteObject]) -> Reply:
        """Make the worker forget kept objects."""
        return self._ask({"op": "drop", "ids": [k.id for k in kept]}, self.spec.limits.call_seconds)

    def resident_bytes(self) -> int:
        """Return the worker's resident memory."""
        return process_stats.resident_bytes(self.pid)

    @property
    def pid(self) -> int:
        """The worker's process id; 0 before its first message."""
        return self._worker.channel.pid if self._worker else 0

    def output(self) -> str:
        """Return the tail of the worker's output."""
        if self._worker is None:
            return ""
        self._worker.channel.output.drain()
        return self._worker.channel.output.tail.decode(errors="replace")

    def look_once_more(self) -> None:
        """Check a multi-threaded worker for background work."""
        worker = self._worker
        if worker is None or not worker.channel.open or process_stats.threads(self.pid) < 2:
            return
        time.sleep(process_stats.IDLE_SECONDS)
        self._wake()
        self._rest()

    def close(self) -> None:
        """Kill the worker and remove its scratch space; idempotent."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        self._run_queue.close()
        if self._own_server and self._server is not None:
            self._server.close()
            self._server = None
        if self._own_fork_server and self._fork_server is not None:
            self._fork_server.close()
            self._fork_server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _transfer(
        self, request: dict[str, Any], arena: wire.Arena, returns: Plan, seconds: float | None, hold: bool, echo: bool,
        functions: Sequence[wire.ServedFunction] = (),
    ) -> Reply:  # fmt: skip
        plan = outline(returns, self._kept)
        held = next(self._kept) if hold else None
        size = room(returns) + (arena.size + wire.ALIGNMENT if echo else 0)
        if size > (most := self.spec.limits.scratch_mib << 20):
            raise ValueError(f"a result of {size:,} bytes is asked for, and scratch_mib lets a file hold {most:,}")
        request |= {"plan": plan, "hold": held, "echo": echo, "input": bool(arena.size), "output": size}
        request["link"] = bool(functions)
        with MemoryFile.of(arena) as given, MemoryFile.blank(size) as output:
            fds = ([given.fd] if arena.size else []) + ([output.fd] if size else [])
            reply = self._ask_serving(functions, request, seconds or self.spec.limits.call_seconds, fds, output)
            if reply.status is not CallStatus.RETURNED:
                return reply
            reader = Reader(output.fd, size)
            try:
                value = reader.read(reply.value["value"], returns, plan)
                after = reader.echo(reply.value.get("echo"), arena) if echo else ()
            except MalformedReply as mismatch:
                return replace(reply, status=CallStatus.MALFORMED, value=None, text=str(mismatch))
        return replace(reply, value=value if held is None else (value, wire.RemoteObject(held)), echo=after)

    def _ask_serving(
        self, functions: Sequence[wire.ServedFunction], request: dict[str, Any], seconds: float, fds: Sequence[int],
        output: MemoryFile,
    ) -> Reply:  # fmt: skip
        worker = self._worker
        if not functions or self._server is None or worker is None:
            return self._ask(request, seconds, fds, output)
        with self._server.serving(functions) as call:
            worker.channel.beside = self._server.notices
            reply = self._ask(request, seconds, (call.link, *fds), output)
            worker.channel.beside = None
        return replace(reply, served=call.use)

    def _ask(
        self, request: Mapping[str, Any], seconds: float, fds: Sequence[int] = (), output: MemoryFile | None = None
    ) -> Reply:
        """Send one request; a returned reply's value is the raw message."""
        worker = self._worker
        if worker is None or not worker.channel.open:
            return Reply(CallStatus.CRASHED, text="the worker is gone")
        channel = worker.channel
        if channel.has_stray_message():
            return self._end_for_violation(SignalKind.UNSOLICITED, "the worker spoke without being asked")
        self._wake()
        id = next(self._ids)
        message = wire.encode({**request, "id": id})
        queued = self._sum_queued()
        before, serving, start = self._processor(), self._measure_serving(), time.perf_counter()
        used = before + serving
        answer = self._receive(channel, seconds, queued, used) if channel.send(message, fds) else CallStatus.CRASHED
        self._collect()
        if isinstance(answer, CallStatus):
            spent, queued = time.perf_counter() - start, self._sum_queued() - queued
            processor = max(self._processor() - before, 0.0)
            # over all threads: while some wait for others, the others keep a processor busy
            served, least = max(self._measure_serving() - serving, 0.0), seconds - SHORT_BY
            worked = processor + served
            late = answer is CallStatus.TIMEOUT
            return replace(
                self._end_for(answer, seconds), seconds=spent, processor=processor, serving=served,
                queued=max(queued, 0.0), limit=seconds, exhausted=late and worked >= least,
                starved=late and max(spent - queued, worked) < least,
            )  # fmt: skip
        try:
            if output is not None and output.size:
                output.freeze()
        except StillWritable:
            return self._end_for_violation(SignalKind.LATE_WRITE, "the output could still be written after the reply")
        spent, processor = time.perf_counter() - start, self._processor() - before
        queued = max(self._sum_queued() - queued, 0.0)  # a worker that died since reads as 0
        self._rest()
        if type(answer.get("id")) is not int or answer.pop("id") != id:
            return self._end_for_violation(SignalKind.FORGED_REPLY, "the reply answers another request")
        if set(answer) == {"raised"}:
            raised = make_exception_reply(answer["raised"], self.spec.folder, self.spec.sources)
            if raised is not None:
                return replace(raised, seconds=spent, processor=processor, queued=queued)
        if set(answer) not in ({"value"}, {"value", "echo"}):
            return self._end_for_violation(SignalKind.FORGED_REPLY, "the reply is not of the form that a reply has")
        return Reply(CallStatus.RETURNED, answer, seconds=spent, processor=processor, queued=queued)

    def _receive(self, channel: Channel, seconds: float, queued: float, used: float) -> dict[str, Any] | CallStatus:
        """Await a reply; `queued` and `used` are the worker's waiting and processor seconds before."""
        start, left = time.perf_counter(), compute_remaining_time(seconds, 0.0, 0.0, 0.0)
        while True:
            answer = channel.receive(min(left, BEAT_SECONDS))
            if answer is not CallStatus.TIMEOUT:
                return answer
            assert_wanted()
            spent, worked = time.perf_counter() - start, self._processor() + self._measure_serving() - used
            # this thread's wait for a processor may overlap with the worker's use of one
            had = max(spent - (self._sum_queued() - queued), worked / max(process_stats.threads(self.pid), 1))
            left = compute_remaining_time(seconds, spent, had, worked)
            if left < SHORTEST:
                return CallStatus.TIMEOUT
            if self.under_way is not None:
                self.under_way(self._calling, spent)

    def _sum_queued(self) -> float:
        return self._run_queue.seconds(self.pid, self._server.pid if self._server is not None else 0)

    def _measure_serving(self) -> float:
        with contextlib.suppress(ProcessLookupError):
            return process_stats.processor_seconds(self._server.pid) if self._server is not None else 0.0
        return 0.0

    def _rest(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._idle is not None:
                self._idle.rest()

    def _wake(self) -> None:
        idle = self._idle
        if idle is None:
            return
        with contextlib.suppress(ProcessLookupError):
            idle.wake()
        if idle.share > IDLE_SHARE and not any(s.kind is SignalKind.BACKGROUND for s in self.signals):
            self._note(SignalKind.BACKGROUND, f"{idle.share:.0%} of a core while it was not asked")

    def _collect(self) -> None:
        if self._worker is not None and self._worker.notices is not None:
            self.closed_files = self._worker.notices.closed
            for signal in self._worker.notices.signals:
                self._note(signal.kind, signal.detail)

    def _note(self, kind: SignalKind, detail: str) -> None:
        signal = Signal(kind=kind, detail=detail)
        if signal not in self.signals:
            self.signals.append(signal)

    def _end_for(self, why: CallStatus, seconds: float) -> Reply:
        if why is CallStatus.TIMEOUT:
            return self._end(CallStatus.TIMEOUT, f"no answer within {seconds:g} s")
        if why is CallStatus.OUTPUT_LIMIT:
            return self._end(CallStatus.OUTPUT_LIMIT, f"printed more than {OUTPUT_LIMIT >> 20} MiB in one call")
        if why is CallStatus.RESOURCE_LIMIT and self._worker is not None:
            return self._end(CallStatus.RESOURCE_LIMIT, f"uses {self._worker.channel.exceeded}")
        if why is CallStatus.PROTOCOL_VIOLATION:
            return self._end_for_violation(SignalKind.FORGED_REPLY, "sent something that is no reply")
        return self._end(CallStatus.CRASHED, f"the process ended{self._status()}")

    def _status(self) -> str:
        status = self._worker.wait_status(1) if self._worker else None
        if status is None:
            return ""
        code = os.waitstatus_to_exitcode(status)
        return f" by signal {-code}" if code < 0 else f" with status {code}"

    def _end_for_violation(self, kind: SignalKind, text: str) -> Reply:
        self._note(kind, text)
        return self._end(CallStatus.PROTOCOL_VIOLATION, text)

    def _end(self, status: CallStatus, text: str) -> Reply:
        if self._worker is not None:
            self._worker.kill()
            self._worker.channel.hang_up()
        return Reply(status, text=text)

    def _processor(self) -> float:
        try:
            return process_stats.processor_seconds(self.pid) if self.pid else 0.0
        except ProcessLookupError:
            return 0.0


def start_fork_server(spec: WorkerSpec) -> ForkServer | LentForkServer:
    """Return a started fork server, borrowed if some are kept warm.

    Raises:
        BoxError: it did not start.
    """
    warm = lender()
    if warm is not None and spec.tier in NAMESPACED and not spec.devices:
        return warm.lend(spec.folder, (spec.tier, spec.limits.memory_mib, spec.limits.scratch_mib, PROCESSES))
    access = FileAccess(spec.folder, devices=spec.devices, scratch_mib=spec.limits.scratch_mib)
    # entering starts it, and closes it if the start fails
    return ForkServer(access, spec.tier, spec.limits.memory_mib, PROCESSES).__enter__()
