"""Time in which threads were ready to run and had no processor, as the kernel counts it.

It is asked for twice a call, so what is read stays open.
"""

import contextlib
import os
import threading

_ONE_THREAD = 3
"""Links of a folder of tasks that holds one: its own, its parent's and the task's."""


class RunQueue:
    """Waiting times of processes and of the thread that asks; close it in the end."""

    def __init__(self) -> None:
        self._processes: dict[int, tuple[int, int]] = {}
        self._own: dict[int, int] = {}

    def seconds(self, *pids: int) -> float:
        """Seconds that this thread, and of each process the thread that waited most, waited; 0 where unknown.

        Process id 0 stands for none.
        """
        return self._of_this_thread() + sum(map(self._of_process, pids))

    def close(self) -> None:
        """Close what was opened."""
        for file in (*self._own.values(), *(file for files in self._processes.values() for file in files)):
            os.close(file)
        self._processes, self._own = {}, {}

    def _of_this_thread(self) -> float:
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            if thread not in self._own:
                self._own[thread] = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
            return _waited(self._own[thread])
        return 0.0

    def _of_process(self, pid: int) -> float:
        with contextlib.suppress(OSError):
            if pid and pid not in self._processes:
                self._processes[pid] = _opened(pid)
            if pid:
                tasks, leader = self._processes[pid]
                return _waited(leader) if os.fstat(tasks).st_nlink <= _ONE_THREAD else _most(tasks)
        return 0.0


def _opened(pid: int) -> tuple[int, int]:
    """The folder of a process's tasks, and the waiting time of its first thread."""
    tasks = os.open(f"/proc/{pid}/task", os.O_RDONLY | os.O_DIRECTORY)
    try:
        return tasks, os.open(f"{pid}/schedstat", os.O_RDONLY, dir_fd=tasks)
    except OSError:
        os.close(tasks)
        raise


def _most(tasks: int) -> float:
    """The longest wait of any thread; one may end while it is looked at."""
    waits = [0.0]
    for thread in os.listdir(tasks):
        with contextlib.suppress(OSError):
            file = os.open(f"{thread}/schedstat", os.O_RDONLY, dir_fd=tasks)
            try:
                waits.append(_waited(file))
            finally:
                os.close(file)
    return max(waits)


def _waited(file: int) -> float:
    """Seconds of one thread; 0 where the kernel does not count them."""
    fields = os.pread(file, 128, 0).split()
    return int(fields[1]) / 1e9 if len(fields) > 1 else 0.0
