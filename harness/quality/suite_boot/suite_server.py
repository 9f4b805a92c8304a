"""The side of the box that runs an answer's own tests, again and again, on changed copies of its source.

It forks a process with NumPy and pytest loaded (`suite_forker.py`) that forks the children, and only then reads from
its standard input what is asked for. What it knows and what it reports, no child can reach: it is in no memory that a
child was copied from, the server is not dumpable, its input is emptied once it is read, and only the server holds the
report (file descriptor 3). What a child says of itself (tests, lines executed) is its word; the verdict is its exit
status.

The plan is JSON: `command` (words), `run_seconds` (processor time of one run), `idle_seconds` (wall time within which a
run must do something), `seconds` (processor time of all), `runs`: each `files` (path and text of those that are
changed), `trace`, `quick`, `must_pass`.
Reported is one JSON line a run: `run` (its index), `end` (exit, signal, late, idle, cut), `status`,
`processor_seconds`, and unless the run is `quick` the child's `word` and the last of its `output`. The plan ends early
at a run with `must_pass` that fails, and when the processor time is used up: the run under way is then `cut`.
"""

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), sys.argv[1]]  # this folder, and the sandbox's own
import suite_forker  # noqa: E402

del sys.path[:2]
# an answer may have modules of the same names
for _name in ("line_tracer", "process_control", "suite_forker", "suite_programs"):
    sys.modules.pop(_name, None)

REPORT = 3
TRACED = 3.0
"""How many times the processor time of another run a traced one may take."""
GONE = 69
"""Exit status when the forker was ended."""


def main() -> None:
    """Do every run of the plan, within its budget."""
    suite_forker.make_undumpable()
    requests, replies = start_forker()
    with open(0, "rb", closefd=False) as given:
        plan = json.loads(given.read())
    os.ftruncate(0, 0)  # whoever started this process may hold the file where a child can open it
    understood = understand(plan["command"])
    if understood is None:
        report({"refused": True})
        return
    program, arguments = understood
    left = plan["seconds"]
    for index, run in enumerate(plan["runs"]):
        limit = plan["run_seconds"] * (TRACED if run["trace"] else 1.0)
        request = {"program": program, "arguments": arguments, "trace": run["trace"], "quick": run["quick"]}
        request["folder"] = lay_out(os.getcwd(), os.environ["TMPDIR"], run["files"])
        line = asked(requests, replies, request | {"seconds": min(limit, left), "idle_seconds": plan["idle_seconds"]})
        if line["end"] == "late" and left < limit:
            line["end"] = "cut"
        report({"run": index, **line})
        left -= line["processor_seconds"]
        if left <= 0.0 or (run["must_pass"] and line["status"] != 0):
            break


def start_forker() -> tuple[int, BinaryIO]:
    """Fork the forker; where to write requests to it, and where to read its replies."""
    (requested, requests), (replies, replied) = os.pipe(), os.pipe()
    server = os.getpid()
    if os.fork() == 0:
        os.close(requests)
        os.close(replies)
        suite_forker.serve(requested, replied, server)
        os._exit(0)
    os.close(requested)
    os.close(replied)
    lines = os.fdopen(replies, "rb")
    if lines.readline() != suite_forker.READY:
        raise OSError("the process to fork tests from did not start")
    return requests, lines


def asked(requests: int, replies: BinaryIO, request: dict[str, Any]) -> dict[str, Any]:
    """The result of one run."""
    line = b""
    with contextlib.suppress(BrokenPipeError):
        os.write(requests, json.dumps(request).encode() + b"\n")
        line = replies.readline()
    if not line.endswith(b"\n"):
        os._exit(GONE)
    found: dict[str, Any] = json.loads(line)
    return found


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


def lay_out(original: str, scratch: str, files: Iterable[Sequence[str]]) -> str:
    """A fresh copy of the answer under `scratch` with `files` (path and text) in it, everything else there removed."""
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
    for path, text in files:
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return folder


if __name__ == "__main__":
    main()
