"""A timeline of a grade's stages and waits, as JSON lines in an optional file."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

FILE = "HARNESS_TIMELINE"
"""Environment variable with the file's path; every process of a grade appends to it."""


@contextmanager
def span(stage: str, what: str = "", *, waits_for: str = "") -> Iterator[None]:
    """Record when the block ran, in seconds of this machine's monotonic clock.

    Args:
        stage: kind of work, such as "compile".
        waits_for: name of the awaited lock.
    """
    path = os.environ.get(FILE)
    start = time.monotonic()
    try:
        yield
    finally:
        if path:
            line = {
                "stage": stage,
                "what": what,
                "waits_for": waits_for,
                "start": start,
                "end": time.monotonic(),
                "process": os.getpid(),
                "thread": threading.get_ident(),
            }
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
