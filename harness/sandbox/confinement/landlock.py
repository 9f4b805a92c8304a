"""Tier C, Landlock and a system call filter; and the unsafe tier, limits only."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.model import Tier, UnusedTier
from harness.sandbox.accounting import process_stats
from harness.sandbox.accounting.resource_bounds import ResourceBounds
from harness.sandbox.confinement import box_user, scratch, visible_files
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

END_SECONDS = 5.0
"""Longest wait for a keeper to end the remains of its command."""
SCOPES_SIGNALS = 6
"""First Landlock version that keeps signals inside the fence."""


class Landlock:
    """A sandbox that shares the machine's files and processes, by allow list."""

    tier = Tier.C
    paths: InsidePaths

    def __init__(self) -> None:
        self.keeper = os.getpid()
        self._scratch: Path | None = None

    def missing(self) -> str | None:
        """See `Sandbox.missing`."""
        if not seccomp.available():
            return NO_FILTER
        if landlock_rules.abi() < 1:
            return "the kernel has no Landlock (Linux 5.13 and later, where it is switched on)"
        return None

    def remedies(self, failure: UnusedTier | None, settings: Path) -> Iterator[str]:
        """See `Sandbox.remedies`; a fence around files helps other tiers too."""
        if landlock_rules.abi() == 0:
            yield (
                "for a second fence round files: add landlock to the kernel's boot parameter lsm= (Linux 5.13 or later)"
            )

    def prepare(self, access: FileAccess, memory_bytes: int, tasks: int, capabilities: Sequence[str] = ()) -> None:
        """Give writable folders to the box's user; total memory stays unlimited."""
        self._access = access
        self._uid = self._user(access)
        self._scratch = self._room()
        if self._uid is not None:
            box_user.open_up(access.folder)
            for path in access.writable.values():
                box_user.give(path, self._uid)
        extra = {name: str(path) for name, path in {**access.extra, **access.writable}.items()}
        self.paths = InsidePaths(str(access.folder), str(visible_files.BOOT), str(self._scratch), extra)

    def limit(self, profile: Profile, rlimits: Mapping[str, int], tasks: int) -> Confinement:
        """Return the fence, and a scratch folder to watch.

        The kernel counts processes per user, not per box, so the harness approves each thread of a submission, and
        counts a command's processes.
        """
        room = self._room()
        readable = (*self._readable(), *visible_files.aliases(), str(room))
        return Confinement(
            self._plan_fence(profile, rlimits, str(room)),
            str(room),
            readable,
            namespaces=False,
            bounds=ResourceBounds(room, self._access.scratch_mib << 20, tasks),
            room=room,
            driver=bool(self._access.devices),
        )

    def spawn(self, words: Sequence[str], *, in_folder: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process, which adopts its descendants and ends them."""
        return spawn(tuple(words), cwd=self.paths.folder if in_folder else None, **options)

    def meter(self, process: subprocess.Popen[bytes]) -> Callable[[], float]:
        """Return the clock of the process tree."""
        return process_stats.ProcessTreeMeter(process.pid).seconds

    def end(self, process: subprocess.Popen[bytes] | None) -> None:
        """Make the keeper end all descendants, then kill its process group."""
        if process is not None:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(END_SECONDS)
            end(process)
        room, self._scratch = self._scratch, None
        if room is not None:
            scratch.remove(room)

    def _user(self, access: FileAccess) -> int | None:
        uid = box_user.draw_uid()
        # `prepare` opens the contents of these folders to that user, so only their parents count
        parents = (str(path.parent) for path in (access.folder, *access.writable.values()))
        shown = (*map(str, (*visible_files.roots(), visible_files.BOOT, *access.extra.values())), *parents)
        return uid if uid is not None and box_user.reaches(uid, shown) else None

    def _room(self) -> Path:
        room = scratch.make()
        if self._uid is not None:
            box_user.give(room, self._uid)
        return room

    def _readable(self) -> tuple[str, ...]:
        files = (d for d in map(str, self._access.devices) if not d.startswith("/dev/"))
        return (*visible_files.list_visible(self.paths.boot, self.paths.folder, *self.paths.extra.values()), *files)

    def _plan_fence(self, profile: Profile, rlimits: Mapping[str, int], room: str) -> dict[str, Any]:
        devices = tuple(map(str, self._access.devices))
        rules = {
            "readable": (*self._readable(), *(READ_BY_DRIVERS if devices else ())),
            "writable": (
                room,
                *(self.paths.extra[name] for name in self._access.writable),
                *(WRITTEN_BY_DRIVERS if devices else ()),
            ),
            "devices": (*visible_files.DEVICES, *(d for d in devices if d.startswith("/dev/"))),
            "listable": visible_files.listable(),
        }
        scoped = profile == "build" and landlock_rules.abi() >= SCOPES_SIGNALS
        allow = (*(SIGNALS if scoped else ()), *(FOR_DEVICES if devices else ()))
        return fence_plan(profile, rlimits, uid=self._uid, landlock=rules, seccomp=True, allow=allow, ask_threads=True)


class Unprotected(Landlock):
    """A process with limits only, at the user's insistence."""

    tier = Tier.UNSAFE

    def missing(self) -> str | None:
        """Return None."""
        return None

    def remedies(self, failure: UnusedTier | None, settings: Path) -> Iterator[str]:
        """Return an empty iterator."""
        return iter(())

    def _user(self, access: FileAccess) -> int | None:
        return None

    def _plan_fence(self, profile: Profile, rlimits: Mapping[str, int], room: str) -> dict[str, Any]:
        return fence_plan(profile, rlimits, uid=None, landlock=None, seccomp=False, allow=())
