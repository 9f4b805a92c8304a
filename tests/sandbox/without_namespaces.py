"""Runs a command where the kernel refuses new namespaces, as many containers do, and on request all that isolates.

    python tests/sandbox/without_namespaces.py COMMAND...
    python tests/sandbox/without_namespaces.py --no-fence COMMAND...

A filter of system calls refuses `unshare`, `setns`, mounts and `clone` with a new namespace, to the command and to all
it starts, root or not; with `--no-fence` Landlock and further filters too.
"""

import ctypes
import errno
import os
import struct
import sys

from harness.sandbox.inside import syscalls

NAMESPACES = ("unshare", "setns", "mount", "umount2", "pivot_root", "fsopen", "fsmount", "move_mount", "open_tree")
FENCE = ("seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
NEW = 0x7E020000
"""Every flag CLONE_NEW*."""
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16
ALLOW, ERROR = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def deny(names: tuple[str, ...]) -> None:
    """Refuse these calls, and new namespaces by `clone`, to this process and all it starts."""
    numbers = syscalls.numbers(os.uname().machine)
    steps = [(LOAD, 0, 0, NUMBER)]
    for name in names:
        steps += [(EQUAL, 0, 1, numbers[name]), (RETURN, 0, 0, ERROR | errno.EPERM)]
    # its flags lie in memory, where a filter cannot look; the C library falls back on clone
    steps += [(EQUAL, 0, 1, numbers["clone3"]), (RETURN, 0, 0, ERROR | errno.ENOSYS)]
    steps += [(EQUAL, 0, 3, numbers["clone"]), (LOAD, 0, 0, FIRST_ARGUMENT), (ANY_BIT, 0, 1, NEW)]
    steps += [(RETURN, 0, 0, ERROR | errno.EPERM), (RETURN, 0, 0, ALLOW)]
    program = Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, *arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, FILTER, ctypes.byref(program))):
        if libc.prctl(option, *arguments, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl({option})")


def main(words: list[str]) -> None:
    """Become the command."""
    fence = words[0] != "--no-fence"
    deny(NAMESPACES if fence else NAMESPACES + FENCE)
    command = words if fence else words[1:]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
