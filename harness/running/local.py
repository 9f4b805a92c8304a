"""Grades on this machine: each grading process takes the next folder.

Processes are started as `python -m harness.running.grading_process`, not forked or spawned by multiprocessing, so that
grading works from any program, a training loop's included, and one that dies takes nothing with it.
"""

import contextlib
import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness import interpreter
from harness.errors import (
    BusyMachineError,
    HarnessError,
    JudgeError,
    LostGraderError,
    PrerequisiteError,
    SpecError,
    StoreError,
    as_own_error,
)
from harness.model import Record, TierChoice
from harness.running.executor import NotGraded, Progress
from harness.running.options import Options
from harness.running.options import Progress as StageProgress
from harness.running.retry import Attempt, grade_with_retries
from harness.running.submission_grade import Graded, grade_one
from harness.sandbox import cgroup, scratch
from harness.sandbox.tiers import choose
from harness.workspace import Workspace

_KINDS = {kind.__name__: kind for kind in (BusyMachineError, JudgeError, PrerequisiteError, StoreError, HarnessError)}
"""Errors that are distinguished here: what may be tried again, what is our side's, and the rest."""
PATIENCE = 5.0
"""Seconds in which a grading process whose work is done leaves by itself."""


class LocalExecutor:
    """An `Executor` of this machine's processes; a single submission, or one at a time, is graded in this process.

    Args:
        workspace: where the challenges are.
        options: how to grade.
        jobs: grading processes at a time.
    """

    def __init__(self, workspace: Workspace, options: Options, jobs: int = 1) -> None:
        self._workspace = workspace
        self._options = options
        self._jobs = jobs
        self._unfinished = 0
        self._waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[Path, str | Graded | NotGraded]] = queue.SimpleQueue()
        self._feeders: list[tuple[GradingProcess, threading.Thread]] = []
        scratch.sweep()
        cgroup.sweep()

    def submit(self, folder: Path) -> None:
        """Queue a submission."""
        self._unfinished += 1
        self._waiting.put(folder)

    def results(self, progress: Progress) -> Iterator[Graded | NotGraded]:
        """One result for each submission queued, as they finish."""
        if min(self._jobs, self._unfinished) <= 1:
            while self._unfinished:
                folder = self._waiting.get()
                self._unfinished -= 1
                yield self._result(folder, partial(progress, folder), grade_one)
            return
        for _ in range(count := min(self._jobs, self._unfinished)):
            self._start(max(1, len(os.sched_getaffinity(0)) // count))
        while self._unfinished:
            folder, event = self._events.get()
            if isinstance(event, str):
                progress(folder, event)
            else:
                self._unfinished -= 1
                yield event

    def places(self) -> str:
        """Nothing: this machine."""
        return ""

    def cancel(self) -> None:
        """End the grading processes and drop what waits."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        for process, _ in self._feeders:
            process.stop()
        for _, feeder in self._feeders:
            feeder.join()
        self._feeders, self._unfinished = [], 0

    def _start(self, cores: int) -> None:
        process = GradingProcess(self._workspace, replace(self._options, cores=cores))
        feeder = threading.Thread(target=self._feed, args=(process,), daemon=True)
        self._feeders.append((process, feeder))
        feeder.start()

    def _feed(self, process: "GradingProcess") -> None:
        """Give one grading process folders until there are none left."""
        with contextlib.suppress(queue.Empty):
            while True:
                folder = self._waiting.get_nowait()
                result = self._result(folder, partial(self._report, folder), process.grade)
                self._events.put((folder, result))
        process.close()

    def _report(self, folder: Path, stage: str) -> None:
        self._events.put((folder, stage))

    def _result(self, folder: Path, progress: StageProgress, attempt: Attempt) -> Graded | NotGraded:
        try:
            return grade_with_retries(self._workspace, folder, self._options, progress, attempt)
        except Exception as error:  # the run would wait forever for the folder, or its neighbours end with it
            return NotGraded(folder, as_own_error(error, folder))


def _raised(message: Mapping[str, Any]) -> HarnessError:
    """Rebuild the error that a grading process reports."""
    if SpecError.__name__ in message["kinds"]:
        return SpecError.rebuilt(message["path"], message["error"])
    return next(_KINDS[name] for name in message["kinds"] if name in _KINDS)(message["error"])


class GradingProcess:
    """A grading process, started anew when it was lost.

    Args:
        workspace: where the challenges are.
        options: how to grade.
        isolation: of the run; chosen by default.
    """

    def __init__(self, workspace: Workspace, options: Options, isolation: TierChoice | None = None) -> None:
        chosen = (isolation or choose()).model_dump_json()
        given = (str(workspace.root), options.to_json(), chosen, str(os.getpid()))
        # -P: the current folder may be a submission's, and nothing it holds may be imported here
        self._command = (interpreter.EXECUTABLE, "-P", "-m", "harness.running.grading_process", *given)
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 while there is no process."""
        return self._process.pid if self._process else 0

    def grade(self, workspace: Workspace, folder: Path, options: Options, progress: StageProgress) -> Graded:
        """As `grade_one`, in the process; `workspace` and `options` are those it was started with.

        Raises:
            HarnessError: as `grade_one`; `LostGraderError` where the process ended on the way.
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
                        raise _raised(message)
                    else:
                        return Graded(folder, Record.from_json(message.pop("record")), **message)
        status = self._end()
        message = f"{folder}: the grading process ended\n  try: harness grade {folder} -j 1 --debug"
        raise LostGraderError(message, status)

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

    def _end(self) -> int:
        """Wait for the process to end; its exit status."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return 0
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
        return process.returncode
