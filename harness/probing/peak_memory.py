"""Memory that a call takes while it runs, read from outside the answer's process."""

from typing import Any

from harness.probing.answers import Answer
from harness.probing.failures import NotMeasurable, NotRun, WorkerLost
from harness.probing.wrapper import boxed
from harness.sandbox import Nothing, Plan, process_stats

BESIDE = """
import ctypes
import gc

LIBC = ctypes.CDLL(None)
PR_SET_THP_DISABLE = 41
LIBC.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def tidy():
    gc.collect()
    LIBC.malloc_trim(0)


def receive(*given, **named):
    pass
"""
"""Runs beside the answer: without it freed memory stays resident, and memory comes in pages of 2 MiB."""
HIDDEN = 4 << 20
"""Bytes that an earlier peak may rise above what is resident, where the kernel does not let peaks begin anew."""


class PeakMeter:
    """Measures the calls of one answer, in a process of its own; a first call of each function should be thrown away.

    Raises:
        NotMeasurable: the answer is not in a box.
    """

    def __init__(self, answer: Answer) -> None:
        inside = boxed(answer)
        if inside is None:
            raise NotMeasurable("memory is measured in the box only")
        self.answer, self.inside = answer, inside
        inside.fresh()
        inside.load("beside", BESIDE)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> tuple[Any, int]:
        """What a call of the answer returns, and the bytes that its process held at most beyond those it held with the
        arguments in it. What the call returns counts; the arguments do not.

        Raises:
            NotRun: what the process held earlier hides the peak.
        """
        self._begin()
        self.inside.call("receive", *args, returns=Nothing(), module="beside", **options)
        before = self._peak()
        self._begin()
        value = self.answer.call(function, *args, returns=returns, **options)
        return value, max(0, self._peak() - before)

    def _begin(self) -> None:
        """Give back what is free, and let the peak begin anew."""
        self.inside.call("tidy", returns=Nothing(), module="beside")
        pid = self.inside.box().pid
        if not process_stats.restart_peak(pid) and self._peak() - self.inside.resident_bytes() > HIDDEN:
            raise NotRun("what the process held earlier hides what a call takes")

    def _peak(self) -> int:
        try:
            return process_stats.peak_resident_bytes(self.inside.box().pid)
        except ProcessLookupError:
            raise WorkerLost("crashes", "the process ended") from None
