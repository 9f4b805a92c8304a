"""What a box runs, and the limits of its processes."""

from dataclasses import dataclass, field
from pathlib import Path

from harness.model import Limits, Tier
from harness.sandbox.tiers import detect

ORPHANED_SECONDS = 60
"""Processor seconds beyond the time for all probes after which the kernel ends an unwatched worker."""


@dataclass(frozen=True)
class WorkerSpec:
    """What a box runs.

    Attributes:
        folder: the snapshot, shown read-only.
        entry: module with the contract's functions, relative to the folder.
        functions: names the parent wants to know the presence of.
        limits: time, memory and scratch space.
        tier: how it is held.
        devices: device files and what their driver reads, shown inside; a driver reserves more addresses than any
            limit of memory allows and opens many files, so these two are then not limited.
        sources: the submission's own files in the folder: an exception raised in one of them has a place.
    """

    folder: Path
    entry: str
    functions: tuple[str, ...]
    limits: Limits
    tier: Tier = field(default_factory=detect)
    devices: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()


def rlimits(spec: WorkerSpec) -> dict[str, int]:
    """The limits of a worker, by name in the `resource` module."""
    limits = spec.limits
    found = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.probes_seconds) + ORPHANED_SECONDS,
        "RLIMIT_AS": limits.memory_mib << 20,
        "RLIMIT_FSIZE": limits.scratch_mib << 20,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if spec.devices:
        del found["RLIMIT_AS"]
        found["RLIMIT_NOFILE"] = 4096
    return found
