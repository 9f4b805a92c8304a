"""The kernel's count of the time that runnable threads wait for a processor.

Each call reads it twice, so files stay open.
"""

import contextlib
import os
import threading

_ONE_THREAD = 3
"""Links of a task folder with one thread: itself, its parent's entry, and the thread's."""


class RunQueue:
    """Waiting times of processes and the calling thread."""

    def __init__(self) -> None:
        self._processes: dict[int, tuple[int, int]] = {}
        self._own: dict[int, int] = {}

    def seconds(self, *pids: int) -> float:
        """Return the waiting seconds of this thread plus those of each process's longest-waiting thread.

        Unknown times count 0.
        """
        return self._read_this_thread() + sum(map(self._of_process, pids))

    def close(self) -> None:
        """Close the files."""
        for file in (*self._own.values(), *(file for files in self._processes.values() for file in files)):
            os.close(file)
        self._processes, self._own = {}, {}

    def _read_this_thread(self) -> float:
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            if thread not in self._own:
                self._own[thread] = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
            return _read_wait(self._own[thread])
        return 0.0

    def _of_process(self, pid: int) -> float:
        with contextlib.suppress(OSError):
            if pid and pid not in self._processes:
                self._processes[pid] = _open_stats(pid)
            if pid:
                tasks, leader = self._processes[pid]
                return _read_wait(leader) if os.fstat(tasks).st_nlink <= _ONE_THREAD else _most(tasks)
        return 0.0


def _open_stats(pid: int) -> tuple[int, int]:
    tasks = os.open(f"/proc/{pid}/task", os.O_RDONLY | os.O_DIRECTORY)
    try:
        return tasks, os.open(f"{pid}/schedstat", os.O_RDONLY, dir_fd=tasks)
    except OSError:
        os.close(tasks)
        raise


def _most(tasks: int) -> float:
    waits = [0.0]
    for thread in os.listdir(tasks):
        with contextlib.suppress(OSError):
            file = os.open(f"{thread}/schedstat", os.O_RDONLY, dir_fd=tasks)
            try:
                waits.append(_read_wait(file))
            finally:
                os.close(file)
    return max(waits)


def _read_wait(file: int) -> float:
    fields = os.pread(file, 128, 0).split()
    return int(fields[1]) / 1e9 if len(fields) > 1 else 0.0
