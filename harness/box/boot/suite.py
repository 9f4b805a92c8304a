"""The side of the box that runs an answer's own tests, again and again, on changed copies of its source.

A fork server: it imports NumPy and pytest once and forks a child per run. Only this process writes to the report (file
descriptor 3); a child never holds it, and cannot reach it through /proc, for the server is not dumpable. What a child
says of itself (tests, lines executed) comes by a pipe of its own, as its word; the verdict is its exit status.

Called with the path of a plan in JSON: `command` (words), `sources` (text by path, for the files that are changed),
`limit` (seconds for one run), `budget` (seconds for all), `runs`: each `edits` (path, first character, end, text
instead), `trace`, `quick`.
Reported is one JSON line a run: `run` (its index), `end` (exit, signal, late, cut), `status`, `seconds`, and unless the
run is `quick` the child's `word` and the last of its `output`. A run with `must_pass` that fails ends the plan.
"""

import contextlib
import ctypes
import gc
import hashlib
import json
import os
import re
import runpy
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
import unittest
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.fft
import numpy.linalg
import numpy.random
import numpy.testing
import pytest

REPORT = 3
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
WORD_LIMIT = 1 << 18
OUTPUT_KEPT = 8 << 10
TRACED_EVENTS = 3_000_000


def main(plan_path: str) -> None:
    """Do every run of the plan, within its budget."""
    with open(plan_path, encoding="utf-8") as file:
        plan = json.load(file)
    scratch = os.environ["TMPDIR"]
    shield()
    deadline = time.monotonic() + plan["budget"]
    understood = understand(plan["command"])
    if understood is None:
        report({"refused": True})
        return
    program, arguments = understood
    original = os.getcwd()
    gc.freeze()
    for index, run in enumerate(plan["runs"]):
        if time.monotonic() >= deadline:
            break
        folder = lay_out(original, scratch, plan["sources"], run["edits"])
        line = one_run(program, arguments, folder, run, min(deadline, time.monotonic() + plan["limit"]))
        if line["end"] == "late" and time.monotonic() >= deadline:
            line["end"] = "cut"
        report({"run": index, **line})
        if run["must_pass"] and line["status"] != 0:
            break


def shield() -> None:
    """Keep children away from this process's files, and collect what they leave behind."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def report(line: dict[str, Any]) -> None:
    """Write one line of the report."""
    data = json.dumps(line).encode() + b"\n"
    while data:
        data = data[os.write(REPORT, data) :]


def understand(command: Sequence[str]) -> tuple[str, list[str]] | None:
    """The program of a test command ("pytest", "unittest" or a script) and its arguments; None for anything else."""
    words = list(command)
    first = os.path.basename(words.pop(0))
    if first in ("pytest", "py.test"):
        return "pytest", words
    if re.fullmatch(r"python[\d.]*", first):
        while words and words[0].startswith("-") and words[0] != "-m":
            del words[: 2 if words[0] in ("-W", "-X") else 1]
        if len(words) >= 2 and words[0] == "-m" and words[1] in ("pytest", "unittest"):
            return words[1], words[2:]
        if words and words[0].endswith(".py"):
            return words[0], words[1:]
    return None


def lay_out(original: str, scratch: str, sources: dict[str, str], edits: Iterable[Sequence[Any]]) -> str:
    """A fresh copy of the answer under `scratch` with `edits` made, everything else there removed."""
    for name in os.listdir(scratch):
        path = os.path.join(scratch, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    folder = os.path.join(scratch, "answer")
    for root, _, names in os.walk(original):
        place = os.path.normpath(os.path.join(folder, os.path.relpath(root, original)))
        os.mkdir(place)
        for name in names:
            # modes are left behind: the original is read-only
            shutil.copyfile(os.path.join(root, name), os.path.join(place, name))
    for path, start, end, text in edits:
        source = sources[path]
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(source[:start] + text + source[end:])
    return folder


def one_run(
    program: str, arguments: Sequence[str], folder: str, run: dict[str, Any], deadline: float
) -> dict[str, Any]:
    """Fork a child for one run of the suite and say how it ended."""
    word_read, word_write = os.pipe()
    output_read, output_write = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            os.close(word_read)
            os.close(output_read)
            become_child(folder, output_write, run["quick"])
            status = run_suite(program, arguments, run, word_write)
        os._exit(status)
    os.close(word_write)
    os.close(output_write)
    word, output = Pipe(word_read, WORD_LIMIT), Pipe(output_read, OUTPUT_KEPT)
    wait_status = wait(child, (word, output), deadline)
    line: dict[str, Any] = {"seconds": round(time.monotonic() - start, 4)}
    remove_descendants(child)
    if not run["quick"]:
        line |= {"word": word.parsed(), "output": output.text()}
    word.close()
    output.close()
    if wait_status is None:
        return line | {"end": "late", "status": None}
    code = os.waitstatus_to_exitcode(wait_status)
    return line | {"end": "exit" if code >= 0 else "signal", "status": abs(code)}


class Pipe:
    """The reading end of a pipe from a child: what comes is drained, its tail kept."""

    def __init__(self, fd: int, kept: int) -> None:
        os.set_blocking(fd, False)
        self.fd, self.kept = fd, kept
        self.open = True
        self.total = 0
        self.tail = b""

    def drain(self, rounds: int = 64) -> None:
        """Read what is there, at most `rounds` times."""
        for _ in range(rounds):
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.open = False
                return
            self.total += len(data)
            self.tail = (self.tail + data)[-self.kept :]

    def parsed(self) -> Any:
        """The JSON that came, None when it is cut short, too long or none."""
        if self.total > self.kept:
            return None
        try:
            return json.loads(self.tail)
        except (ValueError, RecursionError):
            return None

    def text(self) -> str:
        """The end of what came."""
        return self.tail.decode(errors="replace")

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.fd)


def wait(child: int, pipes: Sequence[Pipe], deadline: float) -> int | None:
    """Drain `pipes` until `child` ends; its wait status, or None when it had to be killed at `deadline`."""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        for pipe in pipes:
            if pipe.open:
                pipe.drain()
        if done:
            return status
        left = deadline - time.monotonic()
        if left <= 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        open_fds = [pipe.fd for pipe in pipes if pipe.open]
        # a child without open pipes is about to end, or hides: look again soon
        select.select(open_fds, [], [], min(left, 0.05 if open_fds else 0.001))


def remove_descendants(child: int) -> None:
    """Kill what a finished run left running: its group, then whatever was handed to this process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    until = time.monotonic() + 2
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for pid in own_children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def own_children() -> list[int]:
    """Processes whose parent this one is."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                if parent == os.getpid():
                    found.append(int(name))
    return found


def become_child(folder: str, output: int, quiet: bool) -> None:
    """Make a forked copy of the server a process the suite can be run in."""
    os.setsid()
    os.close(REPORT)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd, target in ((nothing, 0), (nothing if quiet else output, 1), (nothing if quiet else output, 2)):
        os.dup2(fd, target)
    os.close(nothing)
    os.close(output)
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.chdir(folder)
    np.random.seed()  # a fork shares the state of NumPy's generator: every run would draw the same
    tempfile.tempdir = None


def run_suite(program: str, arguments: Sequence[str], run: dict[str, Any], word: int) -> int:
    """Run the suite in this process; its exit status. Its word is written when it comes to its end."""
    tracer = Tracer(os.getcwd()) if run["trace"] else None
    if tracer:
        threading.settrace(tracer.watch)
        sys.settrace(tracer.watch)
    counts: dict[str, Any] = {}
    status = exit_status(lambda: PROGRAMS.get(program, run_script)(program, arguments, run["quick"], counts))
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
    counter = Counter()
    status = int(pytest.main([*arguments, *options], plugins=[counter]))
    counts.update(counter.counts())
    return status


class Counter:
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
            return local

        return local

    def found(self) -> dict[str, list[int]]:
        """Executed lines by path relative to the folder."""
        return {path.removeprefix(self.root): sorted(lines) for path, lines in self.lines.items()}


if __name__ == "__main__":
    main(sys.argv[1])
