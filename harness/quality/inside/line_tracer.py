"""Tracer of a submission's lines in the process that runs it, so its report is untrusted.

The submission's own tests import it; a worker for calls through the contract loads it as source.
"""

import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

TRACED_EVENTS = 3_000_000
"""Line events after which tracing stops."""


class Tracer:
    """Recorder of executed lines below a folder."""

    def __init__(self, root: str) -> None:
        self.root = root + os.sep
        self.lines: dict[str, set[int]] = {}
        self.missing: dict[types.CodeType, set[int]] = {}
        self.left = TRACED_EVENTS

    def watch(self, frame: types.FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """Trace calls of the submission's code with unseen lines."""
        code = frame.f_code
        if not code.co_filename.startswith(self.root):
            return None
        missing = self.missing.get(code)
        if missing is None:
            # entering a function is a call event: its first line never shows as a line event
            lines = {line for _, _, line in code.co_lines() if line}
            missing = self.missing[code] = lines - {code.co_firstlineno}
            self.lines.setdefault(code.co_filename, set()).add(code.co_firstlineno)
        return self.follow(code, missing) if missing else None

    def follow(self, code: types.CodeType, missing: set[int]) -> Callable[..., Any]:
        """Return a local trace function; `missing` are the unseen lines of `code`."""
        lines = self.lines.setdefault(code.co_filename, set())

        def local(frame: types.FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
            if event == "line":
                self.left -= 1
                if self.left < 0:
                    sys.settrace(None)
                    return None
                lines.add(frame.f_lineno)
                missing.discard(frame.f_lineno)
                if not missing:
                    frame.f_trace_lines = False
            return local

        return local

    @property
    def gave_up(self) -> bool:
        """True if lines may have been missed."""
        return self.left < 0

    def take_lines(self) -> dict[str, list[int]]:
        """Return and clear the new lines, by relative path."""
        new = {path.removeprefix(self.root): sorted(lines) for path, lines in self.lines.items() if lines}
        for lines in self.lines.values():
            lines.clear()
        return new


def start(root: str) -> None:
    """Start tracing lines below `root`."""
    global _started
    _started = Tracer(root)
    sys.settrace(_started.watch)


def collect_lines() -> dict[str, Any]:
    """Return the lines seen since the last call, by path."""
    return {path: np.array(lines) for path, lines in _started.take_lines().items()} if _started else {}


_started: Tracer | None = None
