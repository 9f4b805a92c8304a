"""Isolation: no line of a submission ever runs outside this room's workers."""

from harness.sandbox.boot.wire import Function, Kept
from harness.sandbox.box import Box, Came, Reply, Target, zygote_of
from harness.sandbox.command import Completed, run
from harness.sandbox.returns import Array, Keep, Nothing, Plan, Scalar, Tree
from harness.sandbox.signals import Signal, SignalKind
from harness.sandbox.snapshot import Snapshot, hash_folder, snapshot
from harness.sandbox.tiers import Tier, detect

__all__ = [
    "Array",
    "Box",
    "Came",
    "Completed",
    "Function",
    "Keep",
    "Kept",
    "Nothing",
    "Plan",
    "Reply",
    "Scalar",
    "Signal",
    "SignalKind",
    "Snapshot",
    "Target",
    "Tier",
    "Tree",
    "detect",
    "hash_folder",
    "run",
    "snapshot",
    "zygote_of",
]
