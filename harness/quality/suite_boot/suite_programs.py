"""An answer's own tests run in this process, as pytest, unittest or a script would be."""

import contextlib
import hashlib
import json
import os
import runpy
import sys
import threading
import types
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import pytest

TRACED_EVENTS = 3_000_000


def run_suite(program: str, arguments: Sequence[str], trace: bool, quick: bool, word: int) -> int:
    """Run the suite in this process; its exit status. Its word is written when it comes to its end."""
    tracer = Tracer(os.getcwd()) if trace else None
    if tracer:
        threading.settrace(tracer.watch)
        sys.settrace(tracer.watch)
    counts: dict[str, Any] = {}
    status = exit_status(lambda: PROGRAMS.get(program, run_script)(program, arguments, quick, counts))
    if tracer:
        sys.settrace(None)
        counts["lines"] = tracer.found()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    with open(word, "wb") as file:
        file.write(json.dumps({"ended": True, **counts}).encode())
    return status


def exit_status(call: Callable[[], int]) -> int:
    """The exit status that `call` would give a process of its own."""
    try:
        return call() & 0xFF
    except SystemExit as error:
        if error.code is None:
            return 0
        return error.code & 0xFF if isinstance(error.code, int) else 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1


def run_pytest(program: str, arguments: Sequence[str], quick: bool, counts: dict[str, Any]) -> int:
    """`python -m pytest ARGUMENTS`; stops at the first failure when `quick`."""
    sys.path.insert(0, os.getcwd())
    sys.argv = [program, *arguments]
    options = ["-p", "no:cacheprovider", *(["-x", "--tb=no"] if quick else [])]
    counter = OutcomeCounter()
    status = int(pytest.main([*arguments, *options], plugins=[counter]))
    counts.update(counter.counts())
    return status


class OutcomeCounter:
    """A pytest plugin that counts tests and remembers how each went."""

    def __init__(self) -> None:
        self.collected = 0
        self.outcomes: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what is about to run."""
        self.collected = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember one outcome; a failure in any phase of a test is one."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome

    def counts(self) -> dict[str, Any]:
        """Tests collected and passed, and a digest of all outcomes."""
        digest = hashlib.sha256(json.dumps(sorted(self.outcomes.items())).encode()).hexdigest()
        passed = sum(outcome == "passed" for outcome in self.outcomes.values())
        return {"collected": self.collected, "passed": passed, "digest": digest}


def run_unittest(program: str, arguments: Sequence[str], quick: bool, counts: dict[str, Any]) -> int:
    """`python -m unittest ARGUMENTS`; stops at the first failure when `quick`."""
    sys.path.insert(0, os.getcwd())
    argv = ["python -m unittest", *arguments]
    ran = unittest.main(module=None, argv=argv, exit=False, failfast=quick or None).result
    bad = [str(test) for test, _ in (*ran.failures, *ran.errors)]
    counts.update(collected=ran.testsRun, passed=ran.testsRun - len(bad) - len(ran.skipped), digest=str(sorted(bad)))
    return 0 if ran.wasSuccessful() else 1


def run_script(program: str, arguments: Sequence[str], quick: bool, counts: dict[str, Any]) -> int:
    """`python FILE.py ARGUMENTS`."""
    path = os.path.abspath(program)
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [program, *arguments]
    runpy.run_path(path, run_name="__main__")
    return 0


PROGRAMS: dict[str, Callable[[str, Sequence[str], bool, dict[str, Any]], int]] = {
    "pytest": run_pytest,
    "unittest": run_unittest,
}


class Tracer:
    """Notes which lines under a folder are executed; gives up after so many events that it would slow the suite."""

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

    def found(self) -> dict[str, list[int]] | None:
        """Executed lines by path relative to the folder; None when it gave up before all were seen."""
        if self.left < 0:
            return None
        return {path.removeprefix(self.root): sorted(lines) for path, lines in self.lines.items()}
