"""The fence: permanent restrictions of this process, in place before it loads foreign code.

In order: limits, privileges, Landlock, system calls. Each step blocks the undoing of the one before, and the last
blocks the steps themselves.
"""

import contextlib
import ctypes
import importlib
import itertools
import os
import resource
import signal
import struct
from collections.abc import Mapping
from typing import Any

# top-level modules in the box, part of a package outside
_BESIDE = f"{__package__}." if __package__ else ""
control = importlib.import_module(f"{_BESIDE}process_control")
landlock_rules = importlib.import_module(f"{_BESIDE}landlock_rules")
seccomp = importlib.import_module(f"{_BESIDE}seccomp")

_NO_ROOT_LOCKED = 0xEB  # on: NOROOT, NO_CAP_AMBIENT_RAISE; off: NO_SETUID_FIXUP, KEEP_CAPS; all four locked
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def enclose(plan: Mapping[str, Any]) -> int:
    """Apply a plan, while the process has a single thread.

    Args:
        plan: plain data with the keys
            "profile": "run" or "build";
            "rlimits": value by name in the `resource` module, capped at the present hard limit;
            "uid": user and group to become, or None;
            "landlock": arguments of `landlock_rules.restrict`, or None;
            "seccomp": true to filter system calls;
            "notify", "ask_threads", "allow": as in `seccomp.install`, `allow` as `extra`.

    Returns:
        The listener's file descriptor, or -1.

    Raises:
        OSError: the kernel refused a step. The process is half enclosed and must end.
    """
    _limit(plan.get("rlimits") or {})
    _forgo_capabilities()
    if plan.get("uid") is not None:
        _become(plan["uid"])
    _drop_capabilities()
    control.prctl(control.SET_NO_NEW_PRIVS, 1)
    if plan.get("landlock") is not None:
        landlock_rules.restrict(**plan["landlock"])
    if not plan.get("seccomp"):
        return -1
    listened = {name: bool(plan.get(name)) for name in ("notify", "ask_threads")}
    return int(seccomp.install(plan["profile"], **listened, extra=plan.get("allow") or ()))


def prepare(plan: Mapping[str, Any], pid: int) -> None:
    """Precompute `enclose` for a fork with the id `pid`."""
    if plan.get("seccomp"):
        listened = {name: bool(plan.get(name)) for name in ("notify", "ask_threads")}
        seccomp.prepare(plan["profile"], pid, **listened, extra=plan.get("allow") or ())


def _limit(values: Mapping[str, int]) -> None:
    for name, value in values.items():
        limit = getattr(resource, name)
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))


def _forgo_capabilities() -> None:
    # before the change of user, which drops the capability needed here
    for capability in itertools.count():
        try:
            control.prctl(control.CAPBSET_READ, capability)
        except OSError:  # past the kernel's last capability
            break
        with contextlib.suppress(OSError):
            control.prctl(control.CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):
        control.prctl(control.SET_SECUREBITS, _NO_ROOT_LOCKED)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    control.prctl(control.SET_PDEATHSIG, signal.SIGKILL)  # a change of user resets it


def _drop_capabilities() -> None:
    with contextlib.suppress(OSError):
        control.prctl(control.CAP_AMBIENT, control.CAP_AMBIENT_CLEAR_ALL)
    nothing = struct.pack("=6I", *(0,) * 6)
    if _libc.capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")
