"""Peak memory of a call, read from outside the answer's process."""

from typing import Any

from harness.probing.answers import Answer
from harness.probing.failures import NotMeasurable, NotRun, WorkerLost
from harness.probing.submissions.wrapper import unwrap
from harness.sandbox import Nothing, Plan
from harness.sandbox.accounting import process_stats

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
"""Code beside the answer that frees memory for the system and turns off pages of 2 MiB, which would blur the peak."""
HIDDEN = 4 << 20
"""Largest excess in bytes of an earlier peak over resident memory, on kernels that cannot reset the peak."""


class PeakMeter:
    """A meter for one answer's calls in a new process. Discard the first call of each function.

    Raises:
        NotMeasurable: the answer is not in a sandbox.
    """

    def __init__(self, answer: Answer) -> None:
        inside = unwrap(answer)
        if inside is None:
            raise NotMeasurable("memory is measured in the box only")
        self.answer, self.inside = answer, inside
        inside.fresh()
        inside.load("beside", BESIDE)

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> tuple[Any, int]:
        """Return a call's result and its peak memory in bytes, including the result but not the arguments.

        Raises:
            NotRun: an earlier peak hides that of the call.
        """
        self._begin()
        self.inside.call("receive", *args, returns=Nothing(), module="beside", **options)
        before = self._read_peak()
        self._begin()
        value = self.answer.call(function, *args, returns=returns, **options)
        return value, max(0, self._read_peak() - before)

    def _begin(self) -> None:
        self.inside.call("tidy", returns=Nothing(), module="beside")
        pid = self.inside.box().pid
        if not process_stats.restart_peak(pid) and self._read_peak() - self.inside.resident_bytes() > HIDDEN:
            raise NotRun("what the process held earlier hides what a call takes")

    def _read_peak(self) -> int:
        try:
            return process_stats.peak_resident_bytes(self.inside.box().pid)
        except ProcessLookupError:
            raise WorkerLost("crashes", "the process ended") from None
