"""Server in the sandbox that runs a submission's own tests repeatedly, on changed copies of its source.

It first forks the parent of all runs (`suite_forker.py`), and only then reads the plan from standard input. Children
can reach neither the plan nor the report: their memory is copied from a process that never had the plan, the server is
not dumpable, it empties its input after reading, and it alone holds the report (file descriptor 3). A child's own
report (tests, executed lines) is untrusted; the verdict is its exit status.

The plan is JSON: `command` (words), `run_seconds` (processor time per run), `idle_seconds` (wall time within which a
run must use the processor), `seconds` (processor time of all runs), and `runs` (`boxed_suite.Run`). It ends early
if processor time runs out, in which case the last run is `cut`. The report has one JSON line per run: its index `run`,
and the reply of the forker.
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
# a submission may have modules of the same names
for _name in ("line_tracer", "process_control", "suite_forker", "suite_programs"):
    sys.modules.pop(_name, None)

REPORT = 3
TRACED = 3.0
"""Factor on the processor time of traced runs."""
GONE = 69
"""Exit status if the forker is gone."""


def main() -> None:
    """Read the plan, make its runs and report them."""
    suite_forker.make_undumpable()
    requests, replies = start_forker()
    with open(0, "rb", closefd=False) as given:
        plan = json.loads(given.read())
    os.ftruncate(0, 0)  # a process outside may hold the file open where a child can reach it
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
        line = request_run(
            requests, replies, request | {"seconds": min(limit, left), "idle_seconds": plan["idle_seconds"]}
        )
        if line["end"] == "late" and left < limit:
            line["end"] = "cut"
        report({"run": index, **line})
        left -= line["processor_seconds"]
        if left <= 0.0 or (run["must_pass"] and line["status"] != 0):
            break


def start_forker() -> tuple[int, BinaryIO]:
    """Fork the forker; return pipes for requests and replies."""
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


def request_run(requests: int, replies: BinaryIO, request: dict[str, Any]) -> dict[str, Any]:
    """Request one run and return its result."""
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
    """Split a command into program ("pytest", "unittest" or a script) and arguments; None if unsupported."""
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
    """Copy the submission into an emptied `scratch`, with `files` replaced; return its folder."""
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
            # without modes, as the original is read-only
            shutil.copyfile(os.path.join(root, name), os.path.join(place, name))
    for path, text in files:
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return folder


if __name__ == "__main__":
    main()
