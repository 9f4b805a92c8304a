"""The protocol that every sandbox implements."""

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from harness.model import Tier, UnusedTier
from harness.sandbox.accounting.resource_bounds import ResourceBounds
from harness.sandbox.confinement import scratch, visible_files

Profile = Literal["run", "build"]
""""run" for a submission behind a contract, which may start no process; "build" for a command, which may."""


@dataclass(frozen=True)
class FileAccess:
    """The files visible in a sandbox.

    Attributes:
        folder: the submission's files, read-only.
        extra: read-only folders by name.
        writable: writable folders by name.
        scratch_mib: size of the writable /tmp.
        devices: device files and their driver's read-only folders. A driver runs in the kernel, so it weakens the
            sandbox.
    """

    folder: Path
    extra: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    scratch_mib: int = 16
    devices: Sequence[Path] = ()


@dataclass(frozen=True)
class InsidePaths:
    """Paths inside: of the submission's files, of the harness's, of a writable folder, and of others by name."""

    folder: str
    boot: str
    scratch: str
    extra: Mapping[str, str]


@dataclass(frozen=True)
class Confinement:
    """The restrictions on one worker or command.

    Attributes:
        scratch: its writable folder, as seen inside.
        namespaces: true if a worker first creates its own, with a scratch folder in them.
        driver: true if it runs a device's driver, which looks up threads in /proc and tries to start programs.
        bounds: limits to check from outside; None if the kernel enforces them.
        room: its scratch folder outside, if any.
    """

    fence: dict[str, Any]
    scratch: str
    readable: tuple[str, ...]
    namespaces: bool
    driver: bool = False
    bounds: ResourceBounds | None = None
    room: Path | None = None

    def opens(self, path: str, *, writing: bool) -> bool:
        """Return whether the fence lets the worker open `path`."""
        rules = self.fence["landlock"]
        kinds = ("writable", "devices") if writing else ("writable", "devices", "readable", "listable")
        return rules is None or any(lies_under(path, rules[kind]) for kind in kinds)

    def close(self) -> None:
        """Remove the scratch folder."""
        if self.room is not None:
            scratch.remove(self.room)


def lies_under(path: str, places: Iterable[str]) -> bool:
    """Return whether `path` is one of `places` or below one."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


class Sandbox(Protocol):
    """One way to confine untrusted code; an instance holds one process tree.

    Use in order: `prepare`, `limit`, `spawn`, `end`.

    Attributes:
        keeper: process id whose end must end everything inside; 0 if a process namespace ensures that.
    """

    tier: Tier
    paths: InsidePaths
    keeper: int

    def missing(self) -> str | None:
        """Return the missing prerequisite, or None, without trying."""

    def remedies(self, failure: UnusedTier | None, settings: Path) -> Iterator[str]:
        """Yield what the user can do to make more of it work, given its failure and the kernel's settings folder."""

    def prepare(self, access: FileAccess, memory_bytes: int, tasks: int, capabilities: Sequence[str] = ()) -> None:
        """Lay out the visible files.

        Args:
            memory_bytes: memory of everything inside, if the kernel can limit that.
            tasks: threads and processes, likewise.
            capabilities: the harness's own capabilities inside, besides those to change its user.

        Raises:
            BoxError: a prerequisite disappeared since the choice of tier.
        """

    def limit(self, profile: Profile, rlimits: Mapping[str, int], tasks: int) -> Confinement:
        """Return the restrictions on one worker or command; `rlimits` have names of `resource`."""

    def spawn(self, words: Sequence[str], *, in_folder: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process like `subprocess.Popen`, if asked in the submission's folder.

        Raises:
            OSError: it did not start.
        """

    def meter(self, process: subprocess.Popen[bytes]) -> Callable[[], float]:
        """Return a clock for the processor seconds of a process tree."""

    def end(self, process: subprocess.Popen[bytes] | None) -> None:
        """End a process with its descendants, and undo `prepare`.

        Raises:
            BoxError: a process did not end.
        """


def fence_plan(
    profile: Profile,
    rlimits: Mapping[str, int],
    *,
    uid: int | None,
    landlock: Mapping[str, Sequence[str]] | None,
    seccomp: bool,
    allow: Sequence[str],
    ask_threads: bool = False,
) -> dict[str, Any]:
    """Return the plan that `inside/confine.py` applies."""
    return {
        "profile": profile,
        "rlimits": dict(rlimits),
        "uid": uid,
        "landlock": None if landlock is None else {name: list(paths) for name, paths in landlock.items()},
        "seccomp": seccomp,
        "notify": profile == "run",
        "ask_threads": ask_threads,
        "allow": list(allow),
    }


NO_FILTER = "the kernel offers no filter of system calls (seccomp)"
SIGNALS = ("kill", "tkill", "tgkill")
"""System calls allowed to a command whose signals cannot leave the box."""
FOR_DEVICES = ("memfd_create", "ioctl", "mlock", "socket", "bind", "listen")
"""System calls of a device's driver."""
READ_BY_DRIVERS = (*visible_files.OF_PROC, "/proc/driver", "/proc/devices", "/proc/sys/vm/mmap_min_addr")
"""Files in /proc that a driver reads: on its own process, the machine and the device."""
WRITTEN_BY_DRIVERS = ("/proc/self/task",)
"""Folder in which a driver names its threads."""
