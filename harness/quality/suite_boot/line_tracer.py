"""Notes which lines of an answer are executed, in the process that executes them: what it says is the answer's word.

The process that runs an answer's own tests imports this file; a worker, which is called through the contract, has it
loaded as trusted source.
"""

import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

TRACED_EVENTS = 3_000_000
"""Lines executed, again or for the first time, after which it gives up."""


class Tracer:
    """Notes which lines under a folder are executed; gives up after so many that it would slow them."""

    def __init__(self, root: str) -> None:
        self.root = root + os.sep
        self.lines: dict[str, set[int]] = {}
        self.missing: dict[types.CodeType, set[int]] = {}
        self.left = TRACED_EVENTS

    def watch(self, frame: types.FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """The trace function: follows a call of the answer's code that has lines left to see."""
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
        """A tracer for one call of `code`, whose lines not yet seen are `missing`."""
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
        """Whether there may be lines that it did not see."""
        return self.left < 0

    def found(self) -> dict[str, list[int]]:
        """The lines that were seen since this was last asked, by path relative to the folder."""
        new = {path.removeprefix(self.root): sorted(lines) for path, lines in self.lines.items() if lines}
        for lines in self.lines.values():
            lines.clear()
        return new


def start(root: str) -> None:
    """Begin to note the lines under `root` that this process executes."""
    global _started
    _started = Tracer(root)
    sys.settrace(_started.watch)


def executed_lines() -> dict[str, Any]:
    """The lines that were seen since this was last asked, by path, as arrays."""
    return {path: np.array(lines) for path, lines in _started.found().items()} if _started else {}


_started: Tracer | None = None
