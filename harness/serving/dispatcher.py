"""Slots that take works from the queue, each with a process that grades, until they are told to stop."""

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
"""Graders that may end under one answer before it is given up: a judge error, for nobody knows whose fault that is."""
CLUSTER_DEATHS = 11
"""The same for a grader that only sends answers to a cluster: it ends where its cluster does."""
PAUSE = 1.0
"""Seconds between looks at a queue in which nothing was announced, and between attempts to write."""
START_SECONDS = 120.0
"""In which the first grader must say whether answers can be held here."""
GROUP = 256
"""Works that are taken at once for a cluster."""
LOST = "the grader ended {} times while it graded this answer; memory is the likeliest reason"

_log = logging.getLogger("harness.serving")


@dataclass(frozen=True)
class FinishedWork:
    """A work whose record is on disk.

    Attributes:
        number: of the work.
        status: of its record.
        seconds: that the grade took; 0 where it was made before.
        waited: seconds from its acceptance until a slot took it.
        reused: whether the record was made before.
    """

    number: int
    status: str
    seconds: float
    waited: float
    reused: bool


class Dispatcher:
    """Grades what is in the queue.

    Args:
        root: of the workspace.
        queue: where works are taken from.
        settings: what runs the grades.
        slots: graders, each a process.
        finished: called with each work whose record is on disk, by the slot's thread.
    """

    def __init__(
        self, root: Path, queue: JobQueue, settings: GraderSettings, slots: int,
        finished: Callable[[FinishedWork], None],
    ) -> None:  # fmt: skip
        self.root = root
        self.queue = queue
        self.settings = settings
        self.group, self.deaths = (GROUP, CLUSTER_DEATHS) if settings.clustered else (1, DEATHS)
        self.finished = finished
        self._changed = threading.Condition()
        self._arrivals = 0
        self._stopping = threading.Event()
        self._warnings: set[str] = set()
        self._slots = [SlotThread(self, number) for number in range(slots)]

    @property
    def ready(self) -> bool:
        """Whether something grades."""
        return any(slot.tier for slot in self._slots)

    @property
    def stopping(self) -> bool:
        """Whether nothing further is taken."""
        return self._stopping.is_set()

    def start(self) -> str:
        """Begin, and return the tier of isolation that answers are held in.

        Raises:
            PrerequisiteError: answers cannot be held here.
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
        """Log once that answers are held in a weaker tier than they could be; each grader looks when it starts."""
        if warning and warning not in self._warnings:
            self._warnings.add(warning)
            _log.warning("isolation", extra={"facts": {"warning": warning}})

    def announce(self) -> None:
        """Something was accepted."""
        with self._changed:
            self._arrivals += 1
            self._changed.notify_all()

    def arrivals(self) -> int:
        """How often something was announced."""
        return self._arrivals

    def wait(self, seen: int) -> None:
        """Wait until more is announced than was `seen`, or a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._arrivals != seen or self.stopping, PAUSE)

    def stop_taking(self) -> None:
        """Let what is graded now be finished, and take nothing further."""
        self._stopping.set()
        self.announce()

    def stop(self, seconds: float) -> bool:
        """Wait so long for what is graded to be finished, and end the graders; whether nothing was broken off.

        What was broken off waits for the next start.
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
        """End the graders now."""
        for slot in self._slots:
            slot.end()


class SlotThread(threading.Thread):
    """One place in which works are graded.

    Args:
        dispatcher: whose it is.
        number: of the slot.
    """

    def __init__(self, dispatcher: Dispatcher, number: int) -> None:
        super().__init__(name=f"slot-{number}", daemon=True)
        self._dispatcher = dispatcher
        self._process: subprocess.Popen[str] | None = None
        self._ended = False
        self._lock = threading.Lock()
        self.tier = ""
        self.problem = ""

    def run(self) -> None:
        """Grade until told to stop."""
        whole = self._dispatcher
        while not whole.stopping:
            seen = whole.arrivals()
            if self._ready() is None:
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
        """End the grader now."""
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def _grade(self, works: Sequence[QueuedWork]) -> None:
        """Grade works; those whose grader ends wait again, or have a record that says so."""
        limit = self._dispatcher.deaths
        lost = [work for work in works if work.deaths >= limit]
        for group, why in ((lost, LOST.format(limit)), ([work for work in works if work not in lost], "")):
            for work in self._unanswered(group, why):
                died = not (self._ended or self.problem)
                self._kept(partial(self._dispatcher.queue.give_back, work.number, died=died))
                _log.error("grader ended", extra={"facts": {"work": work.number, "deaths": work.deaths + died}})

    def _unanswered(self, works: Sequence[QueuedWork], why: str) -> list[QueuedWork]:
        """Send works to the grader and keep what it answers; those that it did not answer before it ended."""
        left, process = dict(enumerate(works)), self._process
        if not works or process is None or process.stdin is None or process.stdout is None:
            return list(works)
        message = {"requests": [work.request.decode() for work in works], "lost": why}
        try:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            while left:
                said = json.loads(process.stdout.readline())
                if "unready" in said:  # a cluster is gone: that says nothing of what was sent to it
                    self._unready(said["unready"])
                    break
                work = left.pop(said["place"])
                if self._kept(partial(self._dispatcher.queue.finish, work.number, said["record"].encode())):
                    self._dispatcher.finished(
                        FinishedWork(work.number, said["status"], said["seconds"], work.waited, said["reused"])
                    )
        except (OSError, ValueError):  # ValueError: its last line was cut short, or is empty
            self._close()
        return list(left.values())

    def _kept(self, write: Callable[[], None]) -> bool:
        """Write until it succeeds: a disk that is full now may have room later. Whether it did before the end."""
        while True:
            try:
                write()
                return True
            except StoreError as error:
                _log.error("queue", extra={"facts": {"error": str(error).partition("\n")[0]}})
                if self._ended:
                    return False
                time.sleep(PAUSE)

    def _ready(self) -> "subprocess.Popen[str] | None":
        """The grader, started where there is none, once it has said that answers can be held here."""
        if self._process is not None and self._process.poll() is not None:  # it ended with nothing to grade
            self._close()
        with self._lock:
            if self._process is not None or self._ended:
                return None if self._ended else self._process
            self._process = subprocess.Popen(
                command(self._dispatcher.root, self._dispatcher.settings),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, start_new_session=True,
            )  # fmt: skip
            process = self._process
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            said = {"unready": "the grader ended while it started"}
        if "ready" not in said:
            self._unready(said["unready"])
            time.sleep(PAUSE)
            return None
        self.tier, self.problem = said["ready"], ""
        self._dispatcher.warn(said["warning"])
        return process

    def _unready(self, problem: str) -> None:
        """The grader cannot grade now; another one is tried in its place."""
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
