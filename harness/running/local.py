"""Many submissions at once: each grading process takes the next folder.

Processes are started as `python -m harness.running.grading_process`, not forked or spawned by multiprocessing, so that
grading works from any program, a training loop's included, and one that dies takes nothing with it.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from harness.errors import HarnessError, JudgeError, PrerequisiteError, StoreError
from harness.model import Record
from harness.running.grade import Graded, grade_one
from harness.running.options import Options
from harness.running.options import Progress as Stage
from harness.running.retry import Attempt, grade_with_retries
from harness.sandbox import cgroup, detect, scratch
from harness.workspace import Workspace

Progress = Callable[[Path, str], None]
_KINDS = {kind.__name__: kind for kind in (JudgeError, PrerequisiteError, StoreError, HarnessError)}
"""Errors that are told apart here: what may be tried again, what is our side's, and the rest."""
PATIENCE = 5.0
"""Seconds in which a grading process whose work is done leaves by itself."""


@dataclass(frozen=True)
class NotGraded:
    """A submission that could not be graded at all; the others go on."""

    folder: Path
    error: HarnessError


def grade_all(
    workspace: Workspace, folders: Sequence[Path], options: Options, *, jobs: int = 1,
    progress: Progress = lambda folder, stage: None,
) -> Iterator[Graded | NotGraded]:  # fmt: skip
    """Grade every folder; results come as they finish and are kept on disk before they are yielded.

    Args:
        workspace: where the challenges are.
        folders: the submissions.
        options: how to grade.
        jobs: grading processes at a time; one works in this process.
        progress: told each stage of each folder.
    """
    scratch.sweep()
    cgroup.sweep()
    if jobs <= 1 or len(folders) <= 1:
        for folder in folders:
            yield _graded(workspace, folder, options, partial(progress, folder))
        return
    events: queue.SimpleQueue[tuple[Path, str | Graded | NotGraded]] = queue.SimpleQueue()
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for folder in folders:
        waiting.put(folder)
    graders = [GradingProcess(workspace, options) for _ in range(min(jobs, len(folders)))]
    feeders = [
        threading.Thread(target=_feed, args=(g, workspace, options, waiting, events), daemon=True) for g in graders
    ]
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


def _graded(
    workspace: Workspace, folder: Path, options: Options, progress: Stage, attempt: Attempt = grade_one
) -> Graded | NotGraded:
    try:
        return grade_with_retries(workspace, folder, options, progress, attempt)
    except HarnessError as error:
        return NotGraded(folder, error)


class GradingProcess:
    """A grading process, started anew when it was lost."""

    def __init__(self, workspace: Workspace, options: Options) -> None:
        given = (str(workspace.root), json.dumps(asdict(options)), detect().value, str(os.getpid()))
        # -P: the current folder may be a submission's, and nothing it holds may be imported here
        self._command = (sys.executable, "-P", "-m", "harness.running.grading_process", *given)
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 while there is no process."""
        return self._process.pid if self._process else 0

    def grade(self, workspace: Workspace, folder: Path, options: Options, progress: Stage) -> Graded:
        """As `grade_one`, in the process; `workspace` and `options` are those it was started with.

        Raises:
            HarnessError: as `grade_one`; `JudgeError` also where the process ended on the way.
        """
        process = self._ready()
        if process.stdin is not None and process.stdout is not None:
            with contextlib.suppress(OSError, ValueError):  # ValueError: what it said last was cut short
                process.stdin.write(json.dumps(os.fspath(folder.resolve())) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    message = json.loads(line)
                    if "stage" in message:
                        progress(message["stage"])
                    elif "error" in message:
                        raise next(_KINDS[name] for name in message["kinds"] if name in _KINDS)(message["error"])
                    else:
                        return Graded(folder, Record.from_json(message.pop("record")), **message)
        self._end()
        raise JudgeError(f"{folder}: the grading process ended\n  try: harness grade {folder} -j 1 --debug")

    def stop(self) -> None:
        """End the process for good."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        """Wait for the process and close its pipes."""
        self._end()

    def _ready(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise HarnessError("not graded: the run was stopped")
            if self._process is None:
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
        # a signal that comes right before it waits for the next folder would not wake it, the end of its input does
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
        with contextlib.suppress(OSError), process:
            pass


def _feed(
    grader: GradingProcess, workspace: Workspace, options: Options, waiting: "queue.SimpleQueue[Path]",
    events: "queue.SimpleQueue[tuple[Path, str | Graded | NotGraded]]",
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

        events.put((folder, _graded(workspace, folder, options, tell, grader.grade)))
