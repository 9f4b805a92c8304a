"""Grades on this machine, in processes that each take the next folder.

Starting them by `python -m`, not by fork or multiprocessing, works in any program.
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
from harness.executors.base import NotGraded, Progress
from harness.grading.options import Options
from harness.grading.options import Progress as StageProgress
from harness.grading.retry import Attempt, grade_with_retries
from harness.grading.submission_grade import Graded, grade_one
from harness.model import Record, TierChoice
from harness.sandbox.confinement import cgroup, scratch
from harness.sandbox.session.tiers import choose
from harness.workspace import Workspace

_KINDS = {kind.__name__: kind for kind in (BusyMachineError, JudgeError, PrerequisiteError, StoreError, HarnessError)}
"""Error classes that callers distinguish: retriable, our side's, and the rest."""
PATIENCE = 5.0
"""Seconds for an idle grading process to leave before it is terminated."""


class LocalExecutor:
    """An `Executor` on this machine; a single job or submission needs no other process."""

    def __init__(self, workspace: Workspace, options: Options, jobs: int = 1) -> None:
        self._workspace = workspace
        self._options = options
        self._jobs = jobs
        self._unfinished = 0
        self._waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._events: queue.SimpleQueue[tuple[Path, str | Graded | NotGraded | None]] = queue.SimpleQueue()
        self._feeders: list[tuple[GradingProcess, threading.Thread]] = []
        scratch.sweep()
        cgroup.sweep()

    def submit(self, folder: Path) -> None:
        """Queue a submission."""
        self._unfinished += 1
        self._waiting.put(folder)

    def results(self, progress: Progress) -> Iterator[Graded | NotGraded]:
        """See `Executor.results`."""
        if min(self._jobs, self._unfinished) <= 1:
            with contextlib.suppress(queue.Empty):
                while True:
                    folder = self._waiting.get_nowait()
                    yield self._grade_folder(folder, partial(progress, folder), grade_one)
            return
        for _ in range(count := min(self._jobs, self._unfinished)):
            self._start(max(1, len(os.sched_getaffinity(0)) // count))
        while self._unfinished:
            folder, event = self._events.get()
            if isinstance(event, str):
                progress(folder, event)
                continue
            self._unfinished -= 1
            if event is not None:
                yield event

    def places(self) -> str:
        """Return an empty string."""
        return ""

    def drain(self) -> None:
        """See `Executor.drain`."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._events.put((self._waiting.get_nowait(), None))

    def cancel(self) -> None:
        """See `Executor.cancel`."""
        self.drain()
        for process, _ in self._feeders:
            process.stop()
        for _, feeder in self._feeders:
            feeder.join()
        self._feeders, self._unfinished, self._events = [], 0, queue.SimpleQueue()

    def _start(self, cores: int) -> None:
        process = GradingProcess(self._workspace, replace(self._options, cores=cores))
        feeder = threading.Thread(target=self._feed, args=(process,), daemon=True)
        self._feeders.append((process, feeder))
        feeder.start()

    def _feed(self, process: "GradingProcess") -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                folder = self._waiting.get_nowait()
                result = self._grade_folder(folder, partial(self._report, folder), process.grade)
                self._events.put((folder, result))
        process.close()

    def _report(self, folder: Path, stage: str) -> None:
        self._events.put((folder, stage))

    def _grade_folder(self, folder: Path, progress: StageProgress, attempt: Attempt) -> Graded | NotGraded:
        try:
            return grade_with_retries(self._workspace, folder, self._options, progress, attempt)
        except Exception as error:  # an escaped error would leave the run waiting forever, or end the whole batch
            return NotGraded(folder, as_own_error(error, folder))


def _rebuild_error(message: Mapping[str, Any]) -> HarnessError:
    if SpecError.__name__ in message["kinds"]:
        return SpecError.rebuilt(message["path"], message["error"])
    return next(_KINDS[name] for name in message["kinds"] if name in _KINDS)(message["error"])


class GradingProcess:
    """A grading process, restarted after a loss."""

    def __init__(self, workspace: Workspace, options: Options, isolation: TierChoice | None = None) -> None:
        chosen = (isolation or choose()).model_dump_json()
        given = (str(workspace.root), options.to_json(), chosen, str(os.getpid()))
        # -P: the current folder may be a submission's, whose files must not be imported here
        self._command = (interpreter.EXECUTABLE, "-P", "-m", "harness.executors.grading_process", *given)
        self._lock = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 without a process."""
        return self._process.pid if self._process else 0

    def grade(self, workspace: Workspace, folder: Path, options: Options, progress: StageProgress) -> Graded:
        """Grade like `grade_one`, in the process; `workspace` and `options` must be those of the constructor.

        Raises:
            HarnessError: the error of `grade_one`, or `LostGraderError` if the process ended.
        """
        process = self._ensure_process()
        if process.stdin is not None and process.stdout is not None:
            with contextlib.suppress(OSError, ValueError):  # ValueError: its last line was cut short
                process.stdin.write(json.dumps(os.fspath(folder.resolve())) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    message = json.loads(line)
                    if "stage" in message:
                        progress(message["stage"])
                    elif "error" in message:
                        raise _rebuild_error(message)
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

    def _ensure_process(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise HarnessError("not graded: the run was stopped")
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    bufsize=1,
                    start_new_session=True,
                )
            return self._process

    def _end(self) -> int:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return 0
        # a signal just before it waits for the next folder would not wake it; the end of its input does
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
