"""Runs a submission's own tests in this process, as pytest, unittest or a script would."""

import contextlib
import hashlib
import json
import os
import runpy
import sys
import threading
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from line_tracer import Tracer  # type: ignore[import-not-found]


def run_suite(program: str, arguments: Sequence[str], trace: bool, quick: bool, word: int) -> int:
    """Run the suite, write its report to `word`, and return the exit status."""
    tracer = Tracer(os.getcwd()) if trace else None
    if tracer:
        threading.settrace(tracer.watch)
        sys.settrace(tracer.watch)
    counts: dict[str, Any] = {}
    status = exit_status(lambda: PROGRAMS.get(program, run_script)(program, arguments, quick, counts))
    if tracer:
        sys.settrace(None)
        counts["lines"] = None if tracer.gave_up else tracer.take_lines()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    with open(word, "wb") as file:
        file.write(json.dumps({"ended": True, **counts}).encode())
    return status


def exit_status(call: Callable[[], int]) -> int:
    """Return the exit status of a process that runs `call`."""
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
    """Run `python -m pytest ARGUMENTS`; `quick` stops at the first failure."""
    sys.path.insert(0, os.getcwd())
    sys.argv = [program, *arguments]
    options = ["-p", "no:cacheprovider", *(["-x", "--tb=no"] if quick else [])]
    counter = OutcomeCounter()
    status = int(pytest.main([*arguments, *options], plugins=[counter]))
    counts.update(counter.counts())
    return status


class OutcomeCounter:
    """A pytest plugin that counts tests and their outcomes."""

    def __init__(self) -> None:
        self.collected = 0
        self.outcomes: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests to run."""
        self.collected = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record an outcome; a failure in any phase fails the test."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome

    def counts(self) -> dict[str, Any]:
        """Return the numbers of collected and passed tests, and a digest."""
        digest = hashlib.sha256(json.dumps(sorted(self.outcomes.items())).encode()).hexdigest()
        passed = sum(outcome == "passed" for outcome in self.outcomes.values())
        return {"collected": self.collected, "passed": passed, "digest": digest}


def run_unittest(program: str, arguments: Sequence[str], quick: bool, counts: dict[str, Any]) -> int:
    """Run `python -m unittest ARGUMENTS`."""
    sys.path.insert(0, os.getcwd())
    argv = ["python -m unittest", *arguments]
    ran = unittest.main(module=None, argv=argv, exit=False, failfast=quick or None).result
    bad = [str(test) for test, _ in (*ran.failures, *ran.errors)]
    counts.update(collected=ran.testsRun, passed=ran.testsRun - len(bad) - len(ran.skipped), digest=str(sorted(bad)))
    return 0 if ran.wasSuccessful() else 1


def run_script(program: str, arguments: Sequence[str], quick: bool, counts: dict[str, Any]) -> int:
    """Run `python FILE.py ARGUMENTS`."""
    path = os.path.abspath(program)
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [program, *arguments]
    runpy.run_path(path, run_name="__main__")
    return 0


PROGRAMS: dict[str, Callable[[str, Sequence[str], bool, dict[str, Any]], int]] = {
    "pytest": run_pytest,
    "unittest": run_unittest,
}
