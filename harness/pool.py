"""Many submissions at once: each grading process takes the next folder and answers in lines of JSON.

Processes are started as `python -m harness.pool`, not forked or spawned by multiprocessing, so that grading works
from any program, a training loop's included, and one that dies takes nothing with it.
"""

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
    graders = [Grader(workspace, options) for _ in range(min(jobs, len(folders)))]
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
            grader.stop()
        for feeder in feeders:
            feeder.join()


def _here(workspace: Workspace, folder: Path, options: Options, progress: Progress) -> Graded | Rejected:
    try:
        return grade_one(workspace, folder, options, lambda stage: progress(folder, stage))
    except HarnessError as error:
        return Rejected(folder, error)
    except Exception as error:  # a fault of ours in one grade must not end the others
        return Rejected(folder, _unforeseen(folder, error))


def _unforeseen(folder: Path, error: Exception) -> JudgeError:
    failure = JudgeError(f"{folder}: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


class Grader:
    """A grading process, started anew when it was lost."""

    def __init__(self, workspace: Workspace, options: Options) -> None:
        # -P: the current folder may be a submission's, and nothing it holds may be imported here
        self._command = (sys.executable, "-P", "-m", "harness.pool", str(workspace.root), json.dumps(asdict(options)))
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 while there is no process."""
        return self._process.pid if self._process else 0

    def ask(self, folder: Path, progress: Callable[[str], None]) -> Graded | Rejected:
        """Grade one folder; a process that ends on the way costs that folder only."""
        process = self._ready()
        if process is not None and process.stdin is not None and process.stdout is not None:
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(os.fspath(folder.resolve())) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    message = json.loads(line)
                    if "stage" in message:
                        progress(message["stage"])
                    elif "record" in message:
                        return Graded(folder, Record.from_json(message["record"]), message["reused"], message["reason"])
                    else:
                        kind = JudgeError if message["ours"] else HarnessError
                        return Rejected(folder, kind(message["error"]))
        self._end()
        return Rejected(folder, JudgeError(f"{folder}: the grading process ended; run it again with -j 1 --debug"))

    def stop(self) -> None:
        """End the process for good."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        """Wait for the process and close its pipes."""
        self._end()

    def _ready(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._process is None and not self._stopped:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                    start_new_session=True,
                )  # fmt: skip
            return self._process

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        process.wait()
        with contextlib.suppress(OSError), process:
            pass


def _feed(
    grader: Grader, waiting: "queue.SimpleQueue[Path]",
    events: "queue.SimpleQueue[tuple[Path, str | Graded | Rejected]]",
) -> None:  # fmt: skip
    """Give one grading process folders until there are none left."""
    while True:
        try:
            folder = waiting.get_nowait()
        except queue.Empty:
            grader.close()
            return

        def tell(stage: str, folder: Path = folder) -> None:
            events.put((folder, stage))

        events.put((folder, grader.ask(folder, tell)))


def serve(workspace: Workspace, options: Options) -> None:
    """Grade the folders named on standard input, one a line, and answer on standard output."""

    def say(**message: object) -> None:
        print(json.dumps(message), flush=True)

    for line in sys.stdin:
        try:
            folder = Path(json.loads(line))
            graded = grade_one(workspace, folder, options, lambda stage: say(stage=stage))
            say(record=graded.record.to_json(), reused=graded.reused, reason=graded.reason)
        except HarnessError as error:
            say(error=str(error), ours=isinstance(error, JudgeError))
        except Exception as error:
            say(error=f"{line.strip()}: {type(error).__name__}: {error}", ours=True)


def _leave(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # asked twice, it still leaves once and quietly
    sys.exit(143)


def _main() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: no grader outlives who asked for it
    signal.signal(signal.SIGTERM, _leave)
    serve(Workspace(Path(sys.argv[1])), Options(**json.loads(sys.argv[2])))


if __name__ == "__main__":
    _main()
