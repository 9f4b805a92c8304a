"""The parent's side of the box: open a worker on a submission, call through the contract, close."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Self

from harness.model import Limits
from harness.sandbox import clock, launch, tiers
from harness.sandbox.boot import wire
from harness.sandbox.channel import OUTPUT_LIMIT, Ended
from harness.sandbox.memory_file import MemoryFile, StillWritable
from harness.sandbox.returns import Mismatch, Plan, Reader, outline, room
from harness.sandbox.signals import Signal, SignalKind
from harness.sandbox.zygote import Worker, Zygote

IDLE_SHARE = 0.05
"""Share of a core that a worker may use while nobody asks it anything."""
PROCESSES = 64
"""Threads that a worker may have, with those that NumPy starts."""
ORPHANED_SECONDS = 60
"""Processor seconds beyond the time for all probes after which the kernel ends a worker that nobody watches."""


class Came(Enum):
    """How a request ended."""

    BACK = "returned"
    """With a value that is what was asked for."""
    RAISED = "raised"
    """With an exception of the submission."""
    WRONG = "wrong"
    """With something else than was asked for."""
    CRASHED = "crashed"
    """The worker is gone."""
    LATE = "late"
    """Not within its time; the worker was killed."""
    FLOODED = "flooded"
    """It printed beyond every bound; the worker was killed."""
    EXCEEDED = "exceeded"
    """It used more than it may; the worker was killed."""
    FORGED = "forged"
    """The worker broke the protocol and was killed."""


@dataclass(frozen=True)
class Reply:
    """What came of one request. Everything in it but the times is the submission's word.

    Attributes:
        came: how the request ended.
        value: the value, when it came back.
        text: what happened, in words, when it did not.
        lineage: built-in exception types of what was raised, nearest first.
        seconds: wall time from before the first input byte was visible to after the output could no longer change.
        processor: processor seconds of the worker over the same span.
        echo: the array arguments as they were after the call, when asked for.
    """

    came: Came
    value: Any = None
    text: str = ""
    lineage: tuple[str, ...] = ()
    seconds: float = 0.0
    processor: float = 0.0
    echo: tuple[Any, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether the worker can be asked again."""
        return self.came in (Came.BACK, Came.RAISED, Came.WRONG)


@dataclass(frozen=True)
class Target:
    """What a box runs.

    Attributes:
        folder: the snapshot, shown read-only.
        entry: module with the contract's functions, relative to the folder.
        functions: names the parent wants to know the presence of.
        limits: time, memory and scratch space.
        tier: how it is held.
        devices: device files and what their driver reads, shown inside; a driver reserves more addresses than any
            limit of memory allows and opens many files, so these two are then not limited.
    """

    folder: Path
    entry: str
    functions: tuple[str, ...]
    limits: Limits
    tier: tiers.Tier = field(default_factory=tiers.detect)
    devices: tuple[Path, ...] = ()


class Box:
    """One worker process with one submission in it.

    Open it, call, close it (or use it as a context manager). After a reply that is not `alive` the worker is
    gone and only `close` makes sense. A box without a zygote given starts one of its own: a process that shares
    nothing with any before it, its address space included.

    Attributes:
        signals: what the submission did that honest code has no reason to do.
    """

    def __init__(self, target: Target, zygote: Zygote | None = None) -> None:
        self.target = target
        self.signals: list[Signal] = []
        self._ids = itertools.count(1)
        self._kept = itertools.count(1)
        self._zygote = zygote
        self._own_zygote = zygote is None
        self._worker: Worker | None = None
        self._idle: clock.IdleMeter | None = None

    def open(self) -> Reply:
        """Start the worker and import the submission; the value is the list of functions it has.

        Raises:
            BoxError: the worker could not be started.
        """
        if self._zygote is None:
            self._zygote = zygote_of(self.target)
        self._worker = self._zygote.fork(_rlimits(self.target))
        self._idle = clock.IdleMeter(self.pid)
        return self._import(self._zygote.launch.folder)

    def _import(self, folder: str) -> Reply:
        target = self.target
        request = {"op": "open", "folder": folder, "entry": target.entry, "functions": list(target.functions)}
        reply = self._ask(request, target.limits.start_seconds)
        if reply.came is not Came.BACK:
            return reply
        claim = reply.value["value"]
        names = claim.get("list") if isinstance(claim, dict) else None
        if not isinstance(names, list) or any(name not in target.functions for name in names):
            return self._end(Came.FORGED, "the list of functions is not one")
        return replace(reply, value=[n for n in target.functions if n in names])

    def load(self, name: str, source: str) -> Reply:
        """Run trusted source in the worker as module `name`; its functions are then named by `wire.Function`."""
        return self._ask({"op": "load", "name": name, "source": source}, self.target.limits.start_seconds)

    def call(
        self, function: str, *args: Any, returns: Plan, seconds: float | None = None, hold: bool = False,
        echo: bool = False, module: str = "submission", **kwargs: Any,
    ) -> Reply:  # fmt: skip
        """Call one function and check its result against `returns`.

        Args:
            function: its name.
            *args: plain values, arrays, `wire.Kept`, `wire.Function`, and lists, tuples and dicts of them.
            returns: the plan of the result.
            seconds: wall time allowed; the target's limit by default.
            hold: keep the result in the worker as well; the value is then `(value, Kept)`.
            echo: bring the array arguments back as they are after the call.
            module: the submission, or a module loaded before.
            **kwargs: as `args`.
        """
        arena = wire.Arena()
        request = {
            "op": "call", "module": module, "function": function,
            "args": [wire.describe(a, arena) for a in args],
            "kwargs": {k: wire.describe(v, arena) for k, v in kwargs.items()},
        }  # fmt: skip
        return self._transfer(request, arena, returns, seconds, hold, echo)

    def fetch(self, kept: wire.Kept, returns: Plan) -> Reply:
        """Bring an object that was kept in the worker across, as it is now."""
        return self._transfer({"op": "fetch", "kept": kept.id}, wire.Arena(), returns, None, False, False)

    def drop(self, kept: Iterable[wire.Kept]) -> Reply:
        """Let the worker forget kept objects."""
        return self._ask({"op": "drop", "ids": [k.id for k in kept]}, self.target.limits.call_seconds)

    def resident_bytes(self) -> int:
        """Resident memory of the worker, read from outside."""
        return clock.resident_bytes(self.pid)

    @property
    def pid(self) -> int:
        """The worker's process id as the kernel told it; 0 before its first word."""
        return self._worker.channel.pid if self._worker else 0

    def output(self) -> str:
        """The last of what the worker printed."""
        if self._worker is None:
            return ""
        self._worker.channel.output.drain()
        return self._worker.channel.output.tail.decode(errors="replace")

    def look_once_more(self) -> None:
        """Look for work in the background: briefly, and only at a worker that has more than one thread."""
        worker = self._worker
        if worker is None or not worker.channel.open or clock.threads(self.pid) < 2:
            return
        time.sleep(clock.IDLE_SECONDS)
        self._wake()
        self._rest()

    def close(self) -> None:
        """Kill the worker and remove its scratch space; does nothing the second time."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
        if self._own_zygote and self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _transfer(
        self, request: dict[str, Any], arena: wire.Arena, returns: Plan, seconds: float | None, hold: bool, echo: bool
    ) -> Reply:
        plan = outline(returns, self._kept)
        held = next(self._kept) if hold else None
        size = room(returns) + (arena.size + wire.ALIGNMENT if echo else 0)
        request |= {"plan": plan, "hold": held, "echo": echo, "input": bool(arena.size), "output": size}
        with MemoryFile.of(arena) as given, MemoryFile.blank(size) as output:
            fds = ([given.fd] if arena.size else []) + ([output.fd] if size else [])
            reply = self._ask(request, seconds or self.target.limits.call_seconds, fds, output)
            if reply.came is not Came.BACK:
                return reply
            reader = Reader(output.fd, size)
            try:
                value = reader.read(reply.value["value"], returns, plan)
                after = reader.echo(reply.value.get("echo"), arena) if echo else ()
            except Mismatch as mismatch:
                return replace(reply, came=Came.WRONG, value=None, text=str(mismatch))
        return replace(reply, value=value if held is None else (value, wire.Kept(held)), echo=after)

    def _ask(
        self, request: Mapping[str, Any], seconds: float, fds: Sequence[int] = (), output: MemoryFile | None = None
    ) -> Reply:
        """Send one request and wait for its reply; the value of a reply that came back is the raw message."""
        worker = self._worker
        if worker is None or not worker.channel.open:
            return Reply(Came.CRASHED, text="the worker is gone")
        channel = worker.channel
        if channel.unsolicited():
            return self._broken(SignalKind.UNSOLICITED, "the worker spoke without being asked")
        self._wake()
        id = next(self._ids)
        message = wire.encode({**request, "id": id})
        before, start = self._processor(), clock.now()
        answer = channel.receive(seconds) if channel.send(message, fds) else Ended.GONE
        self._collect()
        if isinstance(answer, Ended):
            return replace(self._ended(answer, seconds), seconds=clock.now() - start)
        try:
            if output is not None and output.size:
                output.freeze()
        except StillWritable:
            return self._broken(SignalKind.LATE_WRITE, "the output could still be written after the reply")
        spent, processor = clock.now() - start, self._processor() - before
        self._rest()
        if type(answer.get("id")) is not int or answer.pop("id") != id:
            return self._broken(SignalKind.FORGED_REPLY, "the reply answers another request")
        if set(answer) == {"raised"} and _is_raised(answer["raised"]):
            kind, text, lineage = answer["raised"]
            return Reply(Came.RAISED, None, f"{kind}: {text}" if text else kind, tuple(lineage), spent, processor)
        if set(answer) not in ({"value"}, {"value", "echo"}):
            return self._broken(SignalKind.FORGED_REPLY, "the reply is not of the form that a reply has")
        return Reply(Came.BACK, answer, seconds=spent, processor=processor)

    def _rest(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._idle is not None:
                self._idle.rest()

    def _wake(self) -> None:
        """Whether it worked while it was not asked."""
        idle = self._idle
        if idle is None:
            return
        with contextlib.suppress(ProcessLookupError):
            idle.wake()
        if idle.share > IDLE_SHARE and not any(s.kind is SignalKind.BACKGROUND for s in self.signals):
            self._note(SignalKind.BACKGROUND, f"{idle.share:.0%} of a core while it was not asked")

    def _collect(self) -> None:
        if self._worker is not None and self._worker.notices is not None:
            for signal in self._worker.notices.signals:
                self._note(signal.kind, signal.detail)

    def _note(self, kind: SignalKind, detail: str) -> None:
        if Signal(kind, detail) not in self.signals:
            self.signals.append(Signal(kind, detail))

    def _ended(self, why: Ended, seconds: float) -> Reply:
        if why is Ended.TIMEOUT:
            return self._end(Came.LATE, f"no answer within {seconds:g} s")
        if why is Ended.FLOOD:
            return self._end(Came.FLOODED, f"printed more than {OUTPUT_LIMIT >> 20} MiB in one call")
        if why is Ended.EXCESS and self._worker is not None:
            return self._end(Came.EXCEEDED, f"uses {self._worker.channel.excess}")
        if why is Ended.FORGED:
            return self._broken(SignalKind.FORGED_REPLY, "sent something that is no reply")
        return self._end(Came.CRASHED, f"the process ended{self._status()}")

    def _status(self) -> str:
        status = self._worker.wait_status(1) if self._worker else None
        if status is None:
            return ""
        return (
            f" by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f" with status {os.WEXITSTATUS(status)}"
        )

    def _broken(self, kind: SignalKind, text: str) -> Reply:
        self._note(kind, text)
        return self._end(Came.FORGED, text)

    def _end(self, came: Came, text: str) -> Reply:
        """Kill the worker, whose word no longer counts, and keep what it printed."""
        if self._worker is not None:
            self._worker.kill()
            self._worker.channel.hang_up()
        return Reply(came, text=text)

    def _processor(self) -> float:
        try:
            return clock.processor_seconds(self.pid) if self.pid else 0.0
        except ProcessLookupError:
            return 0.0


def _is_raised(item: Any) -> bool:
    if not isinstance(item, list) or len(item) != 3:
        return False
    kind, text, lineage = item
    return (
        _is_text(kind, wire.NAME_LIMIT)
        and _is_text(text, wire.TEXT_LIMIT)
        and isinstance(lineage, list)
        and all(_is_text(name, wire.NAME_LIMIT) for name in lineage)
    )


def _is_text(item: Any, limit: int) -> bool:
    return isinstance(item, str) and len(item) <= limit


def zygote_of(target: Target) -> Zygote:
    """A started zygote for `target`.

    Raises:
        BoxError: it does not start.
    """
    placement = launch.Placement(target.folder, devices=target.devices, scratch_mib=target.limits.scratch_mib)
    zygote = Zygote(placement, target.tier, target.limits.memory_mib, PROCESSES)
    try:
        zygote.start()
    except BaseException:
        zygote.close()
        raise
    return zygote


def _rlimits(target: Target) -> dict[str, int]:
    limits = target.limits
    found = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.probes_seconds) + ORPHANED_SECONDS,
        "RLIMIT_AS": limits.memory_mib << 20,
        "RLIMIT_FSIZE": limits.scratch_mib << 20,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    # counted for the whole user where there is no user id and no user namespace of the box's own
    if target.tier.namespaces:
        found["RLIMIT_NPROC"] = PROCESSES
    if target.devices:
        del found["RLIMIT_AS"]
        found["RLIMIT_NOFILE"] = 4096
    return found
