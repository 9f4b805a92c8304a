"""File systems of a test's own: small or read-only ones, mounted where only the command under test sees them."""

import os
import subprocess
from functools import cache

MOUNTED = ("unshare", "--mount", *(() if os.getuid() == 0 else ("--map-root-user",)))
"""Prefix of a command line that may mount."""


@cache
def mounts_work() -> bool:
    """Whether that can be done here."""
    tried = subprocess.run([*MOUNTED, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return tried.returncode == 0
