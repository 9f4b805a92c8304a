"""What every way to hold untrusted code offers: one protocol, which bubblewrap and Landlock implement."""

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from harness.model import Tier, UnusedTier
from harness.sandbox import scratch, visible_files
from harness.sandbox.usage import ResourceBounds

Profile = Literal["run", "build"]
"""A submission behind the protocol, which may start no process; a command, which may."""


@dataclass(frozen=True)
class FileAccess:
    """What a sandbox shows of the file system.

    Attributes:
        folder: the submission's files, read-only inside.
        extra: more read-only folders by name.
        writable: folders that what runs inside may write, by name.
        scratch_mib: size of the writable /tmp.
        devices: device files, and read-only folders their driver needs, at the paths they have here. A driver runs
            in the kernel: what is shown one is held less well.
    """

    folder: Path
    extra: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    scratch_mib: int = 16
    devices: Sequence[Path] = ()


@dataclass(frozen=True)
class InsidePaths:
    """Where things are for a process inside.

    Attributes:
        folder: the submission's files.
        boot: the harness's files that run inside.
        scratch: a writable folder of which nothing lasts.
        extra: further folders by name.
    """

    folder: str
    boot: str
    scratch: str
    extra: Mapping[str, str]


@dataclass(frozen=True)
class Confinement:
    """What holds one worker or one command in a sandbox.

    Attributes:
        fence: the plan that it applies to itself before any foreign code is loaded; see `boot/fence.py`.
        scratch: its writable folder, as seen inside.
        readable: trees and files that it may read.
        namespaces: whether a worker first makes namespaces of its own, with a scratch folder in them.
        driver: whether a device's driver runs in it: it looks for its threads under /proc, by their ids, and tries to
            start programs of its own.
        bounds: what must be watched from outside; None where the kernel bounds it.
        room: its scratch folder, where that is a folder of this machine.
    """

    fence: dict[str, Any]
    scratch: str
    readable: tuple[str, ...]
    namespaces: bool
    driver: bool = False
    bounds: ResourceBounds | None = None
    room: Path | None = None

    def opens(self, path: str, *, writing: bool) -> bool:
        """Return whether the rules on files let the worker open `path`; without such rules everything opens."""
        rules = self.fence["landlock"]
        kinds = ("writable", "devices") if writing else ("writable", "devices", "readable", "listable")
        return rules is None or any(lies_under(path, rules[kind]) for kind in kinds)

    def close(self) -> None:
        """Remove what it wrote."""
        if self.room is not None:
            scratch.remove(self.room)


def lies_under(path: str, places: Iterable[str]) -> bool:
    """Return whether `path` is one of `places` or lies below one."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


class Sandbox(Protocol):
    """One way to hold untrusted code; an instance holds one process and all it starts.

    Prepare it, limit what is to run in it, spawn the process, and end it.

    Attributes:
        tier: what it promises.
        paths: where things are inside, once it is prepared.
        keeper: the process id with which everything inside must end; 0 where a process namespace sees to that.
    """

    tier: Tier
    paths: InsidePaths
    keeper: int

    def missing(self) -> str | None:
        """Why it cannot work on this machine, as far as that shows without trying; None when nothing is missing."""

    def remedies(self, failure: UnusedTier | None, settings: Path) -> Iterator[str]:
        """Name what a person can do so that more of it works.

        Args:
            failure: why it does not work; None where it does.
            settings: where the kernel's settings lie.
        """

    def prepare(self, access: FileAccess, memory_bytes: int, tasks: int, capabilities: Sequence[str] = ()) -> None:
        """Lay out what is shown.

        Args:
            access: what is shown, and what may be written.
            memory_bytes: memory of everything inside together, where the kernel can bound that.
            tasks: threads and processes of everything inside together, where the kernel can bound that.
            capabilities: what the harness's own process inside needs besides those to change its user.

        Raises:
            BoxError: what it needs is gone since it was chosen.
        """

    def limit(self, profile: Profile, rlimits: Mapping[str, int], tasks: int) -> Confinement:
        """What holds one worker or command.

        Args:
            profile: which system calls it may make.
            rlimits: its limits, by name in the `resource` module.
            tasks: threads and processes it may have.
        """

    def spawn(self, words: Sequence[str], *, in_folder: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process inside, as `subprocess.Popen`; `in_folder`: in the submission's folder.

        Raises:
            OSError: it cannot be started.
        """

    def meter(self, process: subprocess.Popen[bytes]) -> Callable[[], float]:
        """What reads the processor seconds of a process inside and of all it started."""

    def end(self, process: subprocess.Popen[bytes] | None) -> None:
        """End a process with all it started, and give back everything that was prepared.

        Raises:
            BoxError: a process does not end.
        """


def fence_plan(
    profile: Profile, rlimits: Mapping[str, int], *, uid: int | None, landlock: Mapping[str, Sequence[str]] | None,
    seccomp: bool, allow: Sequence[str], ask_threads: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The plan that `boot/fence.py` applies."""
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
"""System calls that a command may make where no signal leaves the box."""
FOR_DEVICES = ("memfd_create", "ioctl", "mlock", "socket", "bind", "listen")
"""System calls that a device's driver makes."""
READ_BY_DRIVERS = (*visible_files.OF_PROC, "/proc/driver", "/proc/devices", "/proc/sys/vm/mmap_min_addr")
"""Files of /proc that it reads: its own process's, the machine's and the device's."""
WRITTEN_BY_DRIVERS = ("/proc/self/task",)
"""Where it names its threads."""
