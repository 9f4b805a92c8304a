"""Landlock: the kernel's permanent allow list of paths, TCP ports, signals and abstract sockets.

It needs no privilege, and binds the calling thread and its descendants.
"""

import ctypes
import errno
import importlib
import os
import stat
import struct
from collections.abc import Sequence

# a top-level module in the box, part of a package outside
control = importlib.import_module(f"{__package__}.process_control" if __package__ else "process_control")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_QUERY_VERSION = 1
_PATH_BENEATH = 1
_CLONE_VM = 0x100

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = (1 << bit for bit in range(4, 9))
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(9, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_TCP = 3  # bind, connect
_SCOPES = 3  # abstract unix sockets, signals

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE = _MAKE_DIR | _MAKE_REG | _MAKE_FIFO | _MAKE_SYM
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | _TRUNCATE
_DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_libc = ctypes.CDLL(None, use_errno=True)


def abi() -> int:
    """Return the kernel's Landlock version; 0 if missing or off."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _QUERY_VERSION)
    return max(int(version), 0)


def restrict(
    readable: Sequence[str], writable: Sequence[str], devices: Sequence[str], listable: Sequence[str] = ()
) -> None:
    """Deny this thread everything but the named paths.

    Skips missing and unreachable paths. Version 4 also denies TCP ports, version 6 signals and abstract Unix sockets
    that lead outside.

    Args:
        readable: files and trees to read and execute.
        writable: trees with full access, except for device nodes and sockets.
        devices: files to read, write and, from version 5 on, control by `ioctl`.
        listable: trees to list, without file contents.

    Raises:
        OSError: the kernel refused, or there are several threads.
    """
    # a test for threads: unsharing memory has no effect in a single-threaded process, and fails in others
    if _libc.unshare(_CLONE_VM) != 0 and ctypes.get_errno() == errno.EINVAL:
        raise OSError(errno.EINVAL, "Landlock would bind one thread of several: restrict before starting any")
    version = abi()
    files, attributes = _describe_ruleset(version)
    ruleset = _call_kernel("landlock_create_ruleset", _CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for paths, rights in ((readable, _READ), (writable, _WRITE), (devices, _DEVICE), (listable, _READ_DIR)):
            for path in paths:
                _allow(ruleset, path, rights & files)
        control.prctl(control.SET_NO_NEW_PRIVS, 1)
        _call_kernel("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _describe_ruleset(version: int) -> tuple[int, bytes]:
    files = (1 << 13) - 1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        files |= right if version >= since else 0
    fields = [files, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    return files, struct.pack(f"={len(fields)}Q", *fields)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE  # the kernel refuses folder rights on a file
        rule = struct.pack("=Qi", rights, place)
        _call_kernel(f"landlock_add_rule {path}", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def _call_kernel(what: str, number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result
