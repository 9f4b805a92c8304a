"""Threads that feed the queue's work to graders."""

import json
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.errors import PrerequisiteError, StoreError
from harness.serving.job_queue import JobQueue, QueuedWork
from harness.serving.slot_process import GraderSettings, command

DEATHS = 3
"""Grader deaths under one submission before it becomes a judge error: the cause may be either side's."""
CLUSTER_DEATHS = 11
"""Grader deaths allowed with a cluster: such a grader only forwards submissions and dies with its cluster."""
PAUSE = 1.0
"""Seconds between polls of a silent queue, and between attempts to write."""
START_SECONDS = 120.0
"""Seconds in which the first grader must report whether this machine can isolate submissions."""
GROUP = 256
"""Works taken at once for a cluster."""
LOST = "the grader ended {} times while it graded this answer; memory is the likeliest reason"

_log = logging.getLogger("harness.serving")


@dataclass(frozen=True)
class FinishedWork:
    """A work whose record is on disk.

    Attributes:
        seconds: duration of the grade; 0 for a reused record.
        waited: seconds from acceptance until a slot took it.
    """

    number: int
    status: str
    seconds: float
    waited: float
    reused: bool


class Dispatcher:
    """The slots of one server.

    Args:
        slots: number of graders.
        finished: callback in the slot's thread once a record is on disk.
    """

    def __init__(
        self,
        root: Path,
        queue: JobQueue,
        settings: GraderSettings,
        slots: int,
        finished: Callable[[FinishedWork], None],
    ) -> None:
        self.root = root
        self.queue = queue
        self.settings = settings
        self.group, self.deaths = (GROUP, CLUSTER_DEATHS) if settings.clustered else (1, DEATHS)
        self.finished = finished
        self._changed = threading.Condition()
        self.arrivals = 0
        self._stopping = threading.Event()
        self._warnings: set[str] = set()
        self._slots = [SlotThread(self, number) for number in range(slots)]

    @property
    def ready(self) -> bool:
        """True if a grader is up."""
        return any(slot.tier for slot in self._slots)

    @property
    def stopping(self) -> bool:
        """True once slots take no more work."""
        return self._stopping.is_set()

    def start(self) -> str:
        """Start the graders and return the isolation tier of submissions.

        Raises:
            PrerequisiteError: this machine cannot isolate submissions.
        """
        for slot in self._slots:
            slot.start()
        first, deadline = self._slots[0], time.monotonic() + START_SECONDS
        while not first.tier:
            if first.problem or time.monotonic() > deadline:
                self.stop(0)
                raise PrerequisiteError(first.problem or f"no grader was ready within {START_SECONDS:g} s")
            time.sleep(0.02)
        return first.tier

    def warn(self, warning: str) -> None:
        """Log a warning once, although every grader reports it."""
        if warning and warning not in self._warnings:
            self._warnings.add(warning)
            _log.warning("isolation", extra={"facts": {"warning": warning}})

    def announce(self) -> None:
        """Wake the slots after new work was accepted."""
        with self._changed:
            self.arrivals += 1
            self._changed.notify_all()

    def wait(self, seen: int) -> None:
        """Wait for an announcement beyond `seen`, or `PAUSE` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.arrivals != seen or self.stopping, PAUSE)

    def stop_taking(self) -> None:
        """Take no more work, but let running grades finish."""
        self._stopping.set()
        self.announce()

    def stop(self, seconds: float) -> bool:
        """Wait up to `seconds` for running grades, then end the graders; return whether all finished.

        Interrupted works wait for the next start.
        """
        self.stop_taking()
        deadline = time.monotonic() + seconds
        for slot in self._slots:
            if slot.ident is not None:
                slot.join(max(0.0, deadline - time.monotonic()))
        late = [slot for slot in self._slots if slot.is_alive()]
        self.break_off()
        for slot in late:
            slot.join(PAUSE * 20)
        return not late

    def break_off(self) -> None:
        """Kill the graders."""
        for slot in self._slots:
            slot.end()


class SlotThread(threading.Thread):
    """Thread that feeds one grader."""

    def __init__(self, dispatcher: Dispatcher, number: int) -> None:
        super().__init__(name=f"slot-{number}", daemon=True)
        self._dispatcher = dispatcher
        self._process: subprocess.Popen[str] | None = None
        self._ended = False
        self._lock = threading.Lock()
        self.tier = ""
        self.problem = ""

    def run(self) -> None:
        """Grade until the dispatcher stops."""
        whole = self._dispatcher
        while not whole.stopping:
            seen = whole.arrivals
            if self._ensure_grader() is None:
                continue
            try:
                works = whole.queue.take(whole.group)
            except StoreError as error:
                _log.error("queue", extra={"facts": {"error": str(error).partition("\n")[0]}})
                works = []
            if works:
                self._grade(works)
            else:
                whole.wait(seen)
        self._close()

    def end(self) -> None:
        """Kill the grader."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def _grade(self, works: Sequence[QueuedWork]) -> None:
        """Grade works; requeue those whose grader dies, up to a limit."""
        limit = self._dispatcher.deaths
        lost = [work for work in works if work.deaths >= limit]
        for group, why in ((lost, LOST.format(limit)), ([work for work in works if work not in lost], "")):
            for work in self._send(group, why):
                died = not (self._ended or self.problem)
                self._retry_write(partial(self._dispatcher.queue.give_back, work.number, died=died))
                _log.error("grader ended", extra={"facts": {"work": work.number, "deaths": work.deaths + died}})

    def _send(self, works: Sequence[QueuedWork], why: str) -> list[QueuedWork]:
        left, process = dict(enumerate(works)), self._process
        if not works or process is None or process.stdin is None or process.stdout is None:
            return list(works)
        message = {"requests": [work.request.decode() for work in works], "lost": why}
        try:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            while left:
                said = json.loads(process.stdout.readline())
                if "unready" in said:  # the cluster is gone, which is not the works' fault
                    self._report_unready(said["unready"])
                    break
                work = left.pop(said["place"])
                if self._retry_write(partial(self._dispatcher.queue.finish, work.number, said["record"].encode())):
                    self._dispatcher.finished(
                        FinishedWork(work.number, said["status"], said["seconds"], work.waited, said["reused"])
                    )
        except (OSError, ValueError):  # ValueError: the grader died, so its last line is empty or cut
            self._close()
        return list(left.values())

    def _retry_write(self, write: Callable[[], None]) -> bool:
        """Retry until a full disk gains room; return False if the slot ends first."""
        while True:
            try:
                write()
                return True
            except StoreError as error:
                _log.error("queue", extra={"facts": {"error": str(error).partition("\n")[0]}})
                if self._ended:
                    return False
                time.sleep(PAUSE)

    def _ensure_grader(self) -> "subprocess.Popen[str] | None":
        if self._process is not None and self._process.poll() is not None:  # it died while idle
            self._close()
        with self._lock:
            if self._process is not None or self._ended:
                return None if self._ended else self._process
            words, pipe = command(self._dispatcher.root, self._dispatcher.settings), subprocess.PIPE
            process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, bufsize=1, start_new_session=True)
            self._process = process
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            said = {"unready": "the grader ended while it started"}
        if "ready" not in said:
            self._report_unready(said["unready"])
            time.sleep(PAUSE)
            return None
        self.tier, self.problem = said["ready"], ""
        self._dispatcher.warn(said["warning"])
        return process

    def _report_unready(self, problem: str) -> None:
        self.problem = problem
        _log.error("grader", extra={"facts": {"error": problem.partition("\n")[0]}})
        self._close()

    def _close(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        self.tier = ""
        if process is None:
            return
        try:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(PAUSE * 5)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
