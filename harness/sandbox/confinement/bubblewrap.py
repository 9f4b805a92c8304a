"""Tiers A and B: bubblewrap namespaces with a fence inside; A adds a cgroup."""

import contextlib
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import BoxError
from harness.model import Tier, UnusedTier
from harness.sandbox.accounting import process_stats
from harness.sandbox.confinement import box_user, cgroup, visible_files
from harness.sandbox.confinement.protocol import (
    FOR_DEVICES,
    NO_FILTER,
    READ_BY_DRIVERS,
    SIGNALS,
    WRITTEN_BY_DRIVERS,
    Confinement,
    FileAccess,
    InsidePaths,
    Profile,
    fence_plan,
)
from harness.sandbox.confinement.spawning import end, spawn
from harness.sandbox.inside import landlock_rules, seccomp

HARMLESS = (
    *("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat"),
)
"""System calls on files that change nothing when every lasting file is mounted read-only."""


_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"),
)
"""Kernel settings that deny namespaces to ordinary users: path, denying value, and remedy."""


CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files that exist only in a container."""
_ALONE = "bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc true"


class Bubblewrap:
    """A sandbox with its own file system, processes and network."""

    keeper = 0
    paths: InsidePaths

    def __init__(self, tier: Tier, *, grouped: bool) -> None:
        self.tier = tier
        self._grouped = grouped
        self._group: cgroup.Cgroup | None = None

    def missing(self) -> str | None:
        """See `Sandbox.missing`."""
        if self._grouped and os.geteuid() != 0:
            return "needs root"
        if shutil.which("bwrap") is None:
            return "bwrap is not on PATH; install the package `bubblewrap`"
        if not seccomp.available():
            return NO_FILTER
        return cgroup.available() if self._grouped else None

    def remedies(self, failure: UnusedTier | None, settings: Path) -> Iterator[str]:
        """See `Sandbox.remedies`."""
        if failure is None:
            return
        if self._grouped:
            yield from _suggest_cgroup_remedies(failure)
        elif shutil.which("bwrap") is None:
            yield "for an own view of files, processes and network: apt-get install bubblewrap"
        elif failure.unexpected:
            yield from _suggest_namespace_remedies(failure, settings)

    def prepare(self, access: FileAccess, memory_bytes: int, tasks: int, capabilities: Sequence[str] = ()) -> None:
        """Create the cgroup and the mount options."""
        self._access = access
        self._uid = box_user.draw_uid()
        if self._uid is not None:
            box_user.open_up(access.folder)
            for path in access.writable.values():
                box_user.give(path, self._uid)
        extra = {name: f"/extra/{name}" for name in (*access.extra, *access.writable)}
        self.paths = InsidePaths("/submission", "/boot", "/tmp", extra)
        mounts = (*_system(access), *_mounts(access, extra), "--remount-ro", "/")
        self._command = (*_build_namespace_options(capabilities), *mounts)
        if self._grouped:
            self._group = cgroup.make(memory_bytes, tasks)

    def limit(self, profile: Profile, rlimits: Mapping[str, int], tasks: int) -> Confinement:
        """Return the fence; the kernel bounds the rest."""
        devices = tuple(map(str, self._access.devices))
        files = tuple(d for d in devices if not d.startswith("/dev/"))
        readable = (*visible_files.list_visible(self.paths.boot, self.paths.folder, *self.paths.extra.values()), *files)
        writable = (self.paths.scratch, "/dev/shm", *(self.paths.extra[name] for name in self._access.writable))
        rules = {
            "readable": (
                *readable,
                *(visible_files.OF_PROC if profile == "run" else ("/proc",)),
                *(READ_BY_DRIVERS if devices else ()),
            ),
            "writable": (*writable, *(WRITTEN_BY_DRIVERS if devices else ())),
            "devices": (*visible_files.DEVICES, *(d for d in devices if d.startswith("/dev/"))),
            "listable": visible_files.listable(),
        }
        allow = (*HARMLESS, *(SIGNALS if profile == "build" else ()), *(FOR_DEVICES if devices else ()))
        fence = fence_plan(
            profile,
            {**rlimits, "RLIMIT_NPROC": tasks},
            uid=self._uid,
            landlock=rules if landlock_rules.abi() else None,
            seccomp=True,
            allow=allow,
        )
        return Confinement(
            fence,
            self.paths.scratch,
            (*readable, *visible_files.aliases(), self.paths.scratch),
            namespaces=True,
            driver=bool(devices),
        )

    def spawn(self, words: Sequence[str], *, in_folder: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process in the namespaces and the cgroup."""
        entering = self._group.enter_prefix() if self._group else ()
        at = ("--chdir", self.paths.folder if in_folder else self.paths.scratch, "--")
        return spawn((*entering, *self._command, *at, *words), **options)

    def meter(self, process: subprocess.Popen[bytes]) -> Callable[[], float]:
        """Return the clock of the cgroup or process tree."""
        if self._group is not None and not math.isnan(self._group.processor_seconds()):
            return self._group.processor_seconds
        return process_stats.ProcessTreeMeter(process.pid).seconds

    def end(self, process: subprocess.Popen[bytes] | None) -> None:
        """Kill the process and its namespaces; remove the cgroup."""
        if process is not None:
            end(process)
        group, self._group = self._group, None
        if group is not None:
            group.remove()


def _suggest_cgroup_remedies(failure: UnusedTier) -> Iterator[str]:
    bounds = "to bound the memory of all of an answer's processes together"
    if os.geteuid() != 0:
        yield f"{bounds}: run as root"
    elif shutil.which("bwrap") and (why := cgroup.available()):
        yield f"{bounds}: give this process a control group to write to, in a container by --privileged ({why})"
    elif failure.unexpected and "bwrap:" not in failure.reason:
        yield f"{bounds}: control groups work here, and yet tier {failure.tier} fails: {failure.reason}"


def _suggest_namespace_remedies(failure: UnusedTier, settings: Path) -> Iterator[str]:
    reason = failure.reason
    if "Unknown option" in reason:
        yield f"bwrap is too old: install bubblewrap 0.8 or later ({reason})"
        return
    if "execvp" in reason:
        yield (
            f"bwrap does not find the interpreter {visible_files.interpreter()} among what it shows: run the harness "
            f"from a virtual environment of a Python in one folder ({reason})"
        )
        return
    switches = [command for name, value, command in _SWITCHES if _is_set_to(settings / name, value)]
    yield from (f"for namespaces of an ordinary user: {command}" for command in switches if os.geteuid() != 0)
    if any(Path(mark).exists() for mark in CONTAINER_MARKS):
        yield f"this container may not make namespaces: start it with --privileged, or grade outside of it ({reason})"
    elif not switches or os.geteuid() == 0:
        yield f"bwrap is installed, and tier {failure.tier} fails: {reason}; see whether bwrap works alone: {_ALONE}"


def _is_set_to(setting: Path, value: str) -> bool:
    with contextlib.suppress(OSError):
        return setting.read_text(encoding="ascii").strip() == value
    return False


def _find_bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise BoxError("bwrap is not on PATH any more\n  try: install the package `bubblewrap`")
    return found


def _build_namespace_options(capabilities: Sequence[str]) -> Sequence[str]:
    needed = (*capabilities, *(("CAP_SETUID", "CAP_SETGID") if os.geteuid() == 0 else ()), "CAP_SETPCAP")
    return (
        _find_bubblewrap(),
        *(() if os.geteuid() == 0 else ("--unshare-user",)),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *(part for name in needed for part in ("--cap-add", name)),
    )


def _system(access: FileAccess) -> Sequence[str]:
    links = [
        part
        for name in ("bin", "lib", "lib64", "lib32")
        if (path := Path("/", name)).exists()
        for part in (
            ("--symlink", os.readlink(path), f"/{name}") if path.is_symlink() else ("--ro-bind", str(path), str(path))
        )
    ]
    shown = [
        part
        for path in access.devices
        for part in ("--dev-bind" if path.is_relative_to("/dev") else "--ro-bind", str(path), str(path))
    ]
    apart = _parents(path for path in access.devices if not path.is_relative_to("/dev"))
    return (
        *("--ro-bind", "/usr", "/usr"),
        *links,
        *("--dir", "/etc", "--proc", "/proc", "--dev", "/dev"),
        *apart,
        *shown,
        *("--size", str(access.scratch_mib << 20), "--perms", "1777", "--tmpfs", "/tmp"),
        *("--size", "65536", "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
    )


def _mounts(access: FileAccess, inside: Mapping[str, str]) -> Sequence[str]:
    words = [*_bind_interpreter(), "--ro-bind", str(visible_files.BOOT), "/boot"]
    words += ["--ro-bind", str(access.folder), "/submission", "--perms", "0755", "--dir", "/extra"]
    for option, folders in (("--ro-bind", access.extra), ("--bind", access.writable)):
        for name, path in folders.items():
            words += [option, str(path), inside[name]]
    return words


def _parents(paths: Iterable[Path]) -> Sequence[str]:
    """Create the folders above `paths`, which bubblewrap would close to all but their owner."""
    parents = sorted({parent for path in paths for parent in path.parents} - {Path("/")})
    return [part for parent in parents for part in ("--perms", "0755", "--dir", str(parent))]


@cache
def _bind_interpreter() -> tuple[str, ...]:
    links = visible_files.links()
    binds = [*_parents((*visible_files.roots(), *map(Path, links)))]
    binds += [part for link, target in links.items() for part in ("--symlink", target, link)]
    binds += [part for p in visible_files.roots() for part in ("--ro-bind", str(p), str(p))]
    if visible_files.within(visible_files.PACKAGE, (*visible_files.roots(), Path("/usr"))):
        binds += ["--size", "4096", "--tmpfs", str(visible_files.PACKAGE)]
    return tuple(binds)
