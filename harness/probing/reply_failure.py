"""What the sandbox's reply to a call says about the answer, where it brought no value."""

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
"""Share of its limit: what is waited for less long by the wall clock had less time left."""
LEAST_SERVING = 0.1
"""Seconds worth a mention."""
IMPORT = "the import"
"""What is waited for when a worker is opened."""


def failure_of(reply: Reply, function: str) -> ProbeFailure:
    """What a reply that brought no value says about the answer."""
    if reply.status is CallStatus.RAISED:
        if "NotImplementedError" in reply.lineage:
            return NotOffered(f"`{function}` raises NotImplementedError", reply.text, locations=reply.locations)
        known = {"ValueError": ArgumentsRejected, "MemoryError": OutOfMemory}
        kind = next((known[name] for name in reply.lineage if name in known), OtherRaised)
        return kind(f"`{function}` raises {reply.exception}", reply.text, locations=reply.locations)
    if reply.status is CallStatus.MALFORMED:
        return CallFailed(f"`{function}` returns something else than the contract says", reply.text)
    if reply.status is CallStatus.TIMEOUT:
        return timed_out(f"`{function}` does not end in time", reply, f"a call of `{function}`")
    titles = {
        CallStatus.CRASHED: f"the process ends inside `{function}`",
        CallStatus.OUTPUT_LIMIT: f"`{function}` prints without end",
        CallStatus.RESOURCE_LIMIT: f"`{function}` uses more than it may",
        CallStatus.PROTOCOL_VIOLATION: "the worker's protocol is broken",
    }
    return WorkerLost(titles[reply.status], reply.text)


def timed_out(title: str, reply: Reply, what: str) -> CallTimedOut:
    """Return the failure that a reply that timed out stands for.

    Args:
        title: the fault in a phrase.
        reply: to what was asked.
        what: was waited for, in a phrase.
    """
    late = CallTimedOut(title, describe_wait(reply, what))
    late.limit, late.spent, late.exhausted, late.starved = reply.limit, reply.seconds, reply.exhausted, reply.starved
    return late


def describe_wait(reply: Reply, what: str) -> str:
    """Say what was waited for until a reply timed out, for how long, and what it did meanwhile.

    Where less time than the limit was left, as at the end of a whole grade, that time is named, not the limit.
    """
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
    """What an answer did that it may not do with the functions that a call was given; None where nothing."""
    for name, use in used.items():
        if use.fault:
            title = f"`{function}` calls `{name}` with what it does not take"
            return CallFailed(title, use.fault, where=name, locations=locations)
        if use.exhausted:
            title = f"`{function}` calls `{name}` more often than it is answered"
            detail = f"{use.calls:,} calls, and the last is not answered"
            return CallFailed(title, detail, where=name, locations=locations)
    return None
