"""Temporary folders that name the process they belong to, so that those of killed graders can be swept."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.sandbox import box_user

PREFIX = "harness-"
ORPHANED = 3600.0
"""Seconds untouched before a folder is swept: where /tmp is shared, its owner may live in another process namespace."""


def make() -> Path:
    """A new private folder of this process and of its boxes."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    box_user.let_through(folder)
    return folder


def remove(folder: Path) -> None:
    """Remove such a folder with all it holds; a missing folder is not an error."""
    with contextlib.suppress(RecursionError):  # boxed code can nest folders deeper than Python follows
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # or close them to their owner
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            words, path = [*command, "--", os.fspath(folder)], {"PATH": os.defpath}
            subprocess.run(words, env=path, stderr=subprocess.DEVNULL, check=False)


@contextmanager
def folder() -> Iterator[Path]:
    """Such a folder for the length of a block."""
    place = make()
    try:
        yield place
    finally:
        remove(place)


def sweep() -> int:
    """Remove folders of this user whose process has ended, and return how many there were."""
    count = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        try:
            found = folder.stat()
            orphan = owner.isdigit() and not Path("/proc", owner).exists() and found.st_uid == os.getuid()
            orphan = orphan and time.time() - found.st_mtime > ORPHANED
        except OSError:
            continue
        if orphan:
            remove(folder)
            count += 1
    return count
