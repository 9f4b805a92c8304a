"""Control groups: the kernel's limits, clock and kill switch for a box.

A box has a group in every useful hierarchy: one under version 2, one per controller under version 1. On a mixed machine
version 1 limits and version 2 kills. Groups lie under this process's own, whose limits also apply, and carry its
process id, so that a killed grader's can be found.
"""

import contextlib
import itertools
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from harness.errors import BoxError

PREFIX = "harness-"
END_SECONDS = 5.0
"""Longest wait for killed processes to end, on the busiest machine."""
_LIMITING = frozenset({"memory", "pids"})
_CLOCK = "cpuacct"
_counter = itertools.count()


@dataclass(frozen=True)
class Folder:
    """One group in one hierarchy of version 1 or 2."""

    path: Path
    version: int
    controllers: frozenset[str]

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Limit memory with swap, and processes with threads, as far as possible here.

        Raises:
            OSError: the kernel refused.
        """
        if "memory" in self.controllers and self.version == 1:
            self._write("memory.limit_in_bytes", memory_bytes)
            with contextlib.suppress(FileNotFoundError):  # a kernel that does not account for swap
                self._write("memory.memsw.limit_in_bytes", memory_bytes)
        elif "memory" in self.controllers:
            self._write("memory.max", memory_bytes)
            for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1)):
                with contextlib.suppress(FileNotFoundError):
                    self._write(name, value)
        if "pids" in self.controllers:
            self._write("pids.max", processes)

    def processes(self) -> list[int]:
        """Return the process ids; empty if the group is gone."""
        try:
            return [int(word) for word in (self.path / "cgroup.procs").read_text(encoding="ascii").split()]
        except OSError:
            return []

    def kill(self) -> None:
        """Kill at once if possible, else one by one with forks blocked."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", 1)
            return
        with contextlib.suppress(OSError):
            self._write("pids.max", 0)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def processor_seconds(self) -> float | None:
        """Return the processor time of all processes ever inside; None if not counted."""
        try:
            if self.version == 1:
                return int((self.path / "cpuacct.usage").read_text(encoding="ascii")) / 1e9
            found = re.search(r"^usage_usec (\d+)$", (self.path / "cpu.stat").read_text(encoding="ascii"), re.MULTILINE)
        except OSError:
            return None
        return int(found[1]) / 1e6 if found else None

    def _write(self, name: str, value: int) -> None:
        # no O_CREAT: the file is missing in a hierarchy without the controller, which must raise
        fd = os.open(self.path / name, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(fd, str(value).encode())
        finally:
            os.close(fd)


class Cgroup:
    """A box's groups in all hierarchies."""

    def __init__(self, folders: Sequence[Folder]) -> None:
        self.folders = tuple(folders)

    def enter_prefix(self) -> tuple[str, ...]:
        """Return words that start a command line inside, or make it fail."""
        steps = [f"echo 0 >{shlex.quote(str(folder.path / 'cgroup.procs'))}" for folder in self.folders]
        return ("/bin/sh", "-c", " && ".join((*steps, 'exec "$@"')), "sh")

    def processes(self) -> set[int]:
        """Return the process ids."""
        return {pid for folder in self.folders for pid in folder.processes()}

    def processor_seconds(self) -> float:
        """Return the processor time of all processes ever inside, or NaN."""
        counted = (folder.processor_seconds() for folder in self.folders)
        return next((seconds for seconds in counted if seconds is not None), float("nan"))

    def kill(self) -> None:
        """Kill every process inside, and wait.

        Raises:
            BoxError: a process did not end.
        """
        deadline = time.monotonic() + END_SECONDS
        while busy := [folder for folder in self.folders if folder.processes()]:
            if time.monotonic() > deadline:
                raise BoxError(f"{busy[0].path}: processes {busy[0].processes()} were killed and do not end")
            for folder in busy:
                folder.kill()
            time.sleep(0.001)

    def remove(self) -> None:
        """Kill the processes inside and remove the group.

        Raises:
            BoxError: a process did not end.
        """
        self.kill()
        deadline = time.monotonic() + END_SECONDS
        left = list(self.folders)
        while left := [folder for folder in left if not _try_remove(folder.path)]:
            if time.monotonic() > deadline:
                raise BoxError(f"{left[0].path}: an empty control group cannot be removed")
            time.sleep(0.001)


def make(memory_bytes: int, processes: int, under: Sequence[Folder] | None = None) -> Cgroup:
    """Create a group of this process.

    Args:
        memory_bytes: limit for all processes together, with page cache and memory files; swap is off.
        processes: most processes and threads.
        under: parent groups; None for this process's own.

    Raises:
        BoxError: the kernel has no such group, or refused it.
    """
    parents = own_folders() if under is None else under
    missing = _LIMITING.difference(*(parent.controllers for parent in parents))
    if missing:
        raise BoxError(f"no control group that user {os.getuid()} may write to limits {' or '.join(sorted(missing))}")
    name = f"{_make_owner_prefix()}{next(_counter)}"
    group = Cgroup([Folder(parent.path / name, parent.version, parent.controllers) for parent in parents])
    try:
        for folder in group.folders:
            folder.path.mkdir()
            folder.limit(memory_bytes, processes)
    except OSError as error:
        group.remove()
        raise BoxError(f"{folder.path}: a control group cannot be made: {error.strerror}") from error
    return group


@cache
def available() -> str | None:
    """Try to enter, limit, kill and remove a group; return what fails, or None."""
    try:
        group = make(64 << 20, 16)
    except BoxError as error:
        return str(error)
    try:
        return _fault(group)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a control group does not work: {error}"
    finally:
        group.remove()


def sweep() -> int:
    """Remove the groups of killed graders, and return their number.

    It searches sibling groups too, where graders of other sessions put theirs.
    """
    return _remove(lambda owner: not Path("/proc", owner).exists())


def remove_of(pid: int) -> None:
    """Remove one grader's groups; leave stubborn ones to the next sweep."""
    with contextlib.suppress(BoxError):
        _remove(lambda owner: owner == str(pid))


def _remove(forsaken: Callable[[str], bool]) -> int:
    space = _make_owner_prefix().split("-")[1]
    found: dict[str, list[Folder]] = {}
    for own in own_folders():
        for path in _list_groups_beside(own.path, f"{PREFIX}{space}-"):
            owner = path.name.split("-")[2]
            if owner.isdigit() and forsaken(owner):
                found.setdefault(path.name, []).append(Folder(path, own.version, own.controllers))
    for folders in found.values():
        Cgroup(folders).remove()
    return len(found)


def _list_groups_beside(folder: Path, prefix: str) -> Iterator[Path]:
    for beside in folder.parent.iterdir():
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            names = os.listdir(beside)
        yield from (beside / name for name in names if name.startswith(prefix))


@cache
def own_folders() -> tuple[Folder, ...]:
    """Return this process's groups that can hold a box's."""
    return tuple(folders_of(Path("/proc/self")))


def folders_of(process: Path) -> Iterator[Folder]:
    """Yield the useful groups of a process's folder in /proc."""
    try:
        mounts = list(_mounts((process / "mountinfo").read_text(encoding="utf-8")))
        lines = (process / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    # version 2 comes first: it counts time and kills without a controller
    for line in sorted(lines, key=lambda text: not text.startswith("0::")):
        number, names, path = line.split(":", 2)
        controllers = frozenset(names.split(",")) & (_LIMITING | {_CLOCK})
        for mount in mounts:
            own = mount.place(path)
            if own is None or not os.access(own, os.W_OK):
                continue
            if number == "0" and mount.version == 2:
                yield _place_unified(own)
            elif mount.version == 1 and controllers and controllers <= mount.options:
                yield Folder(own, 1, controllers)
            else:
                continue
            break


@dataclass(frozen=True)
class _Mount:
    version: int
    root: PurePosixPath
    point: Path
    options: frozenset[str]

    def place(self, group: str) -> Path | None:
        path = PurePosixPath(group)
        if not path.is_relative_to(self.root) or ".." in path.parts:
            return None
        return self.point / path.relative_to(self.root)


def _mounts(mountinfo: str) -> Iterator[_Mount]:
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            root, point = (re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), word) for word in before.split(" ")[3:5])
            yield _Mount(2 if kind == "cgroup2" else 1, PurePosixPath(root), Path(point), frozenset(options.split(",")))


def _place_unified(own: Path) -> Folder:
    """Return where to create version 2 groups.

    A group with processes, such as a login session's, passes no controllers to its children. Its parent does, and the
    parent's limits bind both.
    """
    offered = _words(own / "cgroup.controllers")
    if offered >= _LIMITING and not _words(own / "cgroup.subtree_control") >= _LIMITING:
        with contextlib.suppress(OSError):
            (own / "cgroup.subtree_control").write_text("+memory +pids", encoding="ascii")
    passed = _words(own / "cgroup.subtree_control")
    above = _words(own.parent / "cgroup.subtree_control")
    if not passed >= _LIMITING and above >= _LIMITING and os.access(own.parent, os.W_OK):
        return Folder(own.parent, 2, above & _LIMITING)
    return Folder(own, 2, passed & _LIMITING)


def _words(file: Path) -> frozenset[str]:
    try:
        return frozenset(file.read_text(encoding="ascii").split())
    except OSError:
        return frozenset()


def _make_owner_prefix() -> str:
    """Name this process's groups; a process id is unique within its namespace only."""
    return f"{PREFIX}{os.stat('/proc/self/ns/pid').st_ino}-{os.getpid()}-"


def _try_remove(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _fault(group: Cgroup) -> str | None:
    command = (*group.enter_prefix(), "/bin/cat")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"?")
            if process.stdout.read(1) != b"?":
                return "a process cannot enter a control group of its own"
            outside = [folder.path for folder in group.folders if folder.processes() != [process.pid]]
            if outside:
                return f"{outside[0]}: a process that entered the group is not in it"
            group.kill()
            return None if process.wait(5) == -signal.SIGKILL else "killing a control group does not end what is in it"
        finally:
            process.kill()
