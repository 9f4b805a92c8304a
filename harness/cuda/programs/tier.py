"""The sandbox tier for programs that users check, remembered between commands."""

import contextlib
import os
import shutil
import time
from pathlib import Path

from harness.cuda.emulator import archive, kept_programs
from harness.errors import HarnessError
from harness.model import Tier

_SECONDS = 86_400.0
"""Seconds after which the trial is repeated."""
_ASKED = ("HARNESS_TIER", "HARNESS_UNSAFE")


def tier_here() -> Tier:
    """Return the tier from `harness.sandbox.detect`, remembered for a day.

    Raises:
        PrerequisiteError: no working tier.
    """
    from harness.sandbox.confinement.implementations import new_sandbox

    # only that a worker starts is remembered: each sandbox is set up as ever
    if not any(os.environ.get(name) for name in _ASKED):
        with contextlib.suppress(OSError, ValueError):
            tier = Tier(_choose_place().read_text(encoding="utf-8"))
            fresh = time.time() - _choose_place().stat().st_mtime < _SECONDS
            if fresh and tier.trusted and new_sandbox(tier).missing() is None:
                return tier
    from harness.sandbox import detect

    tier = detect()
    if tier.trusted:
        with contextlib.suppress(OSError):
            _choose_place().write_text(tier.value, encoding="utf-8")
    return tier


def forget() -> None:
    """Forget the tier, after a sandbox failed to start."""
    with contextlib.suppress(OSError, HarnessError):
        _choose_place().unlink(missing_ok=True)


def _choose_place() -> Path:
    # the name covers all that decides which tier works: boot, user, namespaces, programs
    found: list[object] = [os.uname().release, os.geteuid()]
    for name in ("/proc/sys/kernel/random/boot_id", "/proc/self/cgroup"):
        with contextlib.suppress(OSError):
            found.append(Path(name).read_text(encoding="utf-8"))
    for name in ("/proc/self/ns/user", "/proc/self/ns/mnt", shutil.which("bwrap") or "/"):
        with contextlib.suppress(OSError):
            state = Path(name).stat()
            found += [state.st_ino, state.st_mtime if name.endswith("bwrap") else 0]
    return archive.cache_folder() / f"tier-{kept_programs.key(found)[:12]}"
