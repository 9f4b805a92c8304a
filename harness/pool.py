"""Many submissions at once: each grading process takes the next folder and answers in lines of JSON.

Processes are started as `python -m harness.pool`, not forked or spawned by multiprocessing, so that grading works
from any program, a training loop's included, and one that dies takes nothing with it.
"""

import contextlib
import ctypes
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.box import scratch
from harness.errors import HarnessError, JudgeError
from harness.grading import Graded, Options, grade_one
from harness.model import Record
from harness.workspace import Workspace

Progress = Callable[[Path, str], None]


@dataclass(frozen=True)
class Rejected:
    """A submission that could not be graded at all; the others go on."""

    folder: Path
    error: HarnessError


def grade_all(
    workspace: Workspace, folders: Sequence[Path], options: Options, *, jobs: int = 1,
    progress: Progress = lambda folder, stage: None,
) -> Iterator[Graded | Rejected]:  # fmt: skip
    """Grade every folder; results come as they finish and are kept on disk before they are yielded.

    Args:
        workspace: where the challenges are.
        folders: the submissions.
        options: how to grade.
        jobs: grading processes at a time; one works in this process.
        progress: told each stage of each folder.
    """
    scratch.sweep()
    if jobs <= 1 or len(folders) <= 1:
        for folder in folders:
            yield _here(workspace, folder, options, progress)
        return
    events: queue.SimpleQueue[tuple[Path, str | Graded | Rejected]] = queue.SimpleQueue()
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for folder in folders:
        waiting.put(folder)
    graders = [_start(workspace, options) for _ in range(min(jobs, len(folders)))]
    feeders = [threading.Thread(target=_feed, args=(g, waiting, events), daemon=True) for g in graders]
    try:
        for feeder in feeders:
            feeder.start()
        left = len(folders)
        while left:
            folder, event = events.get()
            if isinstance(event, str):
                progress(folder, event)
            else:
                left -= 1
                yield event
    finally:
        for grader in graders:
            grader.terminate()
        for grader, feeder in zip(graders, feeders, strict=True):
            grader.wait()
            feeder.join()
            with contextlib.suppress(OSError), grader:
                pass


def _here(workspace: Workspace, folder: Path, options: Options, progress: Progress) -> Graded | Rejected:
    try:
        return grade_one(workspace, folder, options, lambda stage: progress(folder, stage))
    except HarnessError as error:
        return Rejected(folder, error)


def _start(workspace: Workspace, options: Options) -> subprocess.Popen[str]:
    # -P: the current folder may be a submission's, and nothing it holds may be imported here
    command = (sys.executable, "-P", "-m", "harness.pool", str(workspace.root), json.dumps(asdict(options)))
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True
    )


def _feed(
    grader: subprocess.Popen[str], waiting: "queue.SimpleQueue[Path]",
    events: "queue.SimpleQueue[tuple[Path, str | Graded | Rejected]]",
) -> None:  # fmt: skip
    """Give one grading process folders until there are none left."""
    while True:
        try:
            folder = waiting.get_nowait()
        except queue.Empty:
            return
        events.put((folder, _ask(grader, folder, events)))


def _ask(grader: subprocess.Popen[str], folder: Path, events: Any) -> Graded | Rejected:
    assert grader.stdin is not None and grader.stdout is not None
    with contextlib.suppress(OSError):
        grader.stdin.write(f"{folder.resolve()}\n")
        grader.stdin.flush()
        for line in grader.stdout:
            message = json.loads(line)
            if "stage" in message:
                events.put((folder, message["stage"]))
            elif "record" in message:
                return Graded(folder, Record.from_json(message["record"]), message["reused"], message["reason"])
            else:
                kind = JudgeError if message["ours"] else HarnessError
                return Rejected(folder, kind(message["error"]))
    return Rejected(folder, JudgeError(f"{folder}: the grading process ended; run it again with -j 1 --debug"))


def serve(workspace: Workspace, options: Options) -> None:
    """Grade the folders named on standard input, one a line, and answer on standard output."""

    def say(**message: object) -> None:
        print(json.dumps(message), flush=True)

    for line in sys.stdin:
        try:
            graded = grade_one(workspace, Path(line.rstrip("\n")), options, lambda stage: say(stage=stage))
            say(record=graded.record.to_json(), reused=graded.reused, reason=graded.reason)
        except HarnessError as error:
            say(error=str(error), ours=isinstance(error, JudgeError))
        except Exception as error:
            say(error=f"{line.strip()}: {type(error).__name__}: {error}", ours=True)


def _main() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: no grader outlives who asked for it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    serve(Workspace(Path(sys.argv[1])), Options(**json.loads(sys.argv[2])))


if __name__ == "__main__":
    _main()
