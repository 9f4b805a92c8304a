"""Landlock: the kernel's own list of what a process may reach by path, TCP port, signal and abstract socket.

It needs no privilege and cannot be taken back. It binds the calling thread and all that it starts, so that it is
refused to a process of several.
"""

import ctypes
import errno
import importlib
import os
import stat
import struct
from collections.abc import Sequence

# in the box this folder is all there is, outside it is part of a package
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
    """The kernel's Landlock version, 0 where it has none or it is switched off."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _QUERY_VERSION)
    return max(int(version), 0)


def restrict(
    readable: Sequence[str], writable: Sequence[str], devices: Sequence[str], listable: Sequence[str] = ()
) -> None:
    """Close to this thread everything but what is named.

    A path that does not exist, or that this user could not reach anyway, is skipped.

    From version 4 on no TCP port can be bound or connected to; from version 6 on signals and abstract unix sockets
    do not leave the fence. Rights that the kernel does not know are left out.

    Args:
        readable: files and trees to read and execute.
        writable: trees for everything but making device nodes and sockets.
        devices: files to read and write and, from version 5 on, to control by `ioctl`.
        listable: folders whose names may be listed, and those below, but not what their files hold.

    Raises:
        OSError: the kernel refused, or this process has more than one thread.
    """
    # sharing no memory is what a process of one thread does already: it changes nothing, and fails for others
    if _libc.unshare(_CLONE_VM) != 0 and ctypes.get_errno() == errno.EINVAL:
        raise OSError(errno.EINVAL, "Landlock would bind one thread of several: restrict before starting any")
    version = abi()
    files, attributes = _handled(version)
    ruleset = _checked("landlock_create_ruleset", _CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for paths, rights in ((readable, _READ), (writable, _WRITE), (devices, _DEVICE), (listable, _READ_DIR)):
            for path in paths:
                _allow(ruleset, path, rights & files)
        control.prctl(control.SET_NO_NEW_PRIVS, 1)
        _checked("landlock_restrict_self", _RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> tuple[int, bytes]:
    """The file rights that `version` knows, and the attributes of a ruleset that handles all it knows."""
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
            rights &= _OF_A_FILE  # a right of folders on a file is refused
        rule = struct.pack("=Qi", rights, place)
        _checked(f"landlock_add_rule {path}", _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def _checked(what: str, number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result
