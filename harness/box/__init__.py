"""Isolation: no line of a submission ever runs outside this room's workers."""

from harness.box.boot.wire import Function, Kept
from harness.box.box import Box, Came, Reply, Target
from harness.box.command import Completed, run
from harness.box.returns import Array, Keep, Nothing, Plan, Scalar, Tree
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
    "Snapshot",
    "Target",
    "Tier",
    "Tree",
    "detect",
    "hash_folder",
    "run",
    "snapshot",
]
