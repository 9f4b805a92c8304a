"""What Linux lets a process decide about itself and Python does not offer."""

import ctypes
import os

SET_PDEATHSIG = 1
"""The signal that this process gets when its parent ends."""
GET_DUMPABLE, SET_DUMPABLE = 3, 4
"""Whether other processes of the user may read this one's memory and files."""
CAPBSET_READ, CAPBSET_DROP = 23, 24
SET_SECUREBITS = 28
SET_CHILD_SUBREAPER = 36
"""Whether orphans among its descendants become its children."""
SET_NO_NEW_PRIVS = 38
CAP_AMBIENT, CAP_AMBIENT_CLEAR_ALL = 47, 4

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int = 0) -> int:
    """Decide or ask one thing.

    Raises:
        OSError: the kernel or a filter refused.
    """
    result = int(_libc.prctl(option, value, 0, 0, 0))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}): {os.strerror(ctypes.get_errno())}")
    return result
