"""Isolation: no line of a submission ever runs outside this room's workers."""

from harness.sandbox.boot.wire import RemoteFunction, RemoteObject
from harness.sandbox.box import Box, WorkerSpec, start_fork_server
from harness.sandbox.command import CommandLimit, Completed, run
from harness.sandbox.reply import CallStatus, Reply
from harness.sandbox.returns import Array, Keep, Nothing, Plan, Scalar, Tree
from harness.sandbox.snapshot import Snapshot, hash_folder, snapshot
from harness.sandbox.tiers import Tier, detect

__all__ = [
    "Array",
    "Box",
    "CallStatus",
    "CommandLimit",
    "Completed",
    "Keep",
    "Nothing",
    "Plan",
    "RemoteFunction",
    "RemoteObject",
    "Reply",
    "Scalar",
    "Snapshot",
    "Tier",
    "Tree",
    "WorkerSpec",
    "detect",
    "hash_folder",
    "run",
    "snapshot",
    "start_fork_server",
]
