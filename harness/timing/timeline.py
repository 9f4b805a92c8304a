"""When each piece of a grade began and ended, and what it waited for: lines of JSON in a file that is asked for."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

FILE = "HARNESS_TIMELINE"
"""Environment variable naming the file; lines are appended, by every process of the grades."""


@contextmanager
def span(stage: str, what: str = "", *, waits_for: str = "") -> Iterator[None]:
    """Write down when the block ran, in seconds of this machine's monotonic clock.

    Args:
        stage: what runs, such as "compile".
        what: which of its kind.
        waits_for: the lock that the block only waits for.
    """
    path = os.environ.get(FILE)
    start = time.monotonic()
    try:
        yield
    finally:
        if path:
            line = {"stage": stage, "what": what, "waits_for": waits_for, "start": start, "end": time.monotonic(),
                    "process": os.getpid(), "thread": threading.get_ident()}  # fmt: skip
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
