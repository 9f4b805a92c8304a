"""Isolation: no line of a submission ever runs outside this room's workers."""

from harness.box.boot.wire import Function, Kept
from harness.box.box import Box, Came, Reply, Target, zygote_of
from harness.box.command import Completed, run
from harness.box.returns import Array, Keep, Nothing, Plan, Scalar, Tree
from harness.box.signals import Signal, SignalKind
from harness.box.snapshot import Snapshot, hash_folder, snapshot
from harness.box.tiers import Tier, detect

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
