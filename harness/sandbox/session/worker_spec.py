"""The specification of a worker."""

from dataclasses import dataclass, field
from pathlib import Path

from harness.model import Limits, Tier
from harness.sandbox.session.tiers import detect

ORPHANED_SECONDS = 60
"""Processor seconds beyond the time for all probes after which the kernel ends an unwatched worker."""


@dataclass(frozen=True)
class WorkerSpec:
    """The specification of a box's worker.

    Attributes:
        folder: snapshot, shown read-only.
        entry: file of the contract's functions.
        functions: names to look for.
        devices: device files and what their driver reads. A driver needs more open files, and unlimited address space.
        sources: the submission's own files, the only ones with locations of exceptions.
    """

    folder: Path
    entry: str
    functions: tuple[str, ...]
    limits: Limits
    tier: Tier = field(default_factory=detect)
    devices: tuple[Path, ...] = ()
    sources: tuple[str, ...] = ()


def rlimits(spec: WorkerSpec) -> dict[str, int]:
    """Return a worker's limits, by name in `resource`."""
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
