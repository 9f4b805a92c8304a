"""Linux's `prctl`, which Python lacks."""

import ctypes
import os

SET_PDEATHSIG = 1
"""Signal to this process when its parent ends."""
GET_DUMPABLE, SET_DUMPABLE = 3, 4
"""Whether the user's other processes may read this one's memory and files."""
CAPBSET_READ, CAPBSET_DROP = 23, 24
SET_SECUREBITS = 28
SET_CHILD_SUBREAPER = 36
"""Whether this process adopts its orphaned descendants."""
SET_NO_NEW_PRIVS = 38
CAP_AMBIENT, CAP_AMBIENT_CLEAR_ALL = 47, 4

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int = 0) -> int:
    """Set or get one option.

    Raises:
        OSError: the kernel or a filter refused.
    """
    result = int(_libc.prctl(option, value, 0, 0, 0))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}): {os.strerror(ctypes.get_errno())}")
    return result
