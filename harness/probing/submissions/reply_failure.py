"""Failures for replies of the sandbox without a value."""

from collections.abc import Mapping

from harness.model import Location
from harness.probing.failures import (
    ArgumentsRejected,
    CallFailed,
    CallTimedOut,
    NotOffered,
    OtherRaised,
    OutOfMemory,
    ProbeFailure,
    WorkerLost,
)
from harness.sandbox import CallStatus, Reply, ServedUse

CUT = 0.9
"""Fraction of the limit: a shorter wall wait means that less time was left."""
LEAST_SERVING = 0.1
"""Least seconds to mention."""
IMPORT = "the import"
"""Label of the wait while a worker opens."""


def failure_of(reply: Reply, function: str) -> ProbeFailure:
    """Return the failure for a reply without a value."""
    if reply.status is CallStatus.RAISED:
        if "NotImplementedError" in reply.lineage:
            return NotOffered(f"`{function}` raises NotImplementedError", reply.text, locations=reply.locations)
        known = {"ValueError": ArgumentsRejected, "MemoryError": OutOfMemory}
        kind = next((known[name] for name in reply.lineage if name in known), OtherRaised)
        return kind(f"`{function}` raises {reply.exception}", reply.text, locations=reply.locations)
    if reply.status is CallStatus.MALFORMED:
        return CallFailed(f"`{function}` returns something else than the contract says", reply.text)
    if reply.status is CallStatus.TIMEOUT:
        return make_timeout(f"`{function}` does not end in time", reply, f"a call of `{function}`")
    titles = {
        CallStatus.CRASHED: f"the process ends inside `{function}`",
        CallStatus.OUTPUT_LIMIT: f"`{function}` prints without end",
        CallStatus.RESOURCE_LIMIT: f"`{function}` uses more than it may",
        CallStatus.PROTOCOL_VIOLATION: "the worker's protocol is broken",
    }
    return WorkerLost(titles[reply.status], reply.text)


def make_timeout(title: str, reply: Reply, what: str) -> CallTimedOut:
    """Return the failure for a reply that timed out on the work `what`."""
    late = CallTimedOut(title, describe_wait(reply, what))
    late.limit, late.spent, late.exhausted, late.starved = reply.limit, reply.seconds, reply.exhausted, reply.starved
    return late


def describe_wait(reply: Reply, what: str) -> str:
    """Describe a wait that timed out, by its limit or, if less, the time left."""
    used = f"{reply.processor:.1f} s of processor time"
    if reply.serving >= LEAST_SERVING:
        used += f", the functions that it calls {reply.serving:.1f} s,"
    if reply.seconds < CUT * reply.limit:
        return f"no answer in the {reply.seconds:.1f} s that were left: {what} used {used}"
    if reply.exhausted:
        how = f"{what} used {used}"
    elif reply.starved:
        how = f"other work left {what} {used}"
    else:
        how = f"{what} waited, and used {used}"
    return f"{reply.text}: {how} in {reply.seconds:.1f} s"


def misuse(used: Mapping[str, ServedUse], function: str, locations: tuple[Location, ...] = ()) -> ProbeFailure | None:
    """Return the failure for misuse of a served function, or None."""
    for name, use in used.items():
        if use.fault:
            title = f"`{function}` calls `{name}` with what it does not take"
            return CallFailed(title, use.fault, where=name, locations=locations)
        if use.exhausted:
            title = f"`{function}` calls `{name}` more often than it is answered"
            detail = f"{use.calls:,} calls, and the last is not answered"
            return CallFailed(title, detail, where=name, locations=locations)
    return None
