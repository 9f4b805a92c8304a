"""Counters of a server in Prometheus text format."""

import os
import threading
from collections import Counter
from collections.abc import Iterator

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the histogram buckets, in seconds."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class DurationHistogram:
    """Histogram of durations."""

    def __init__(self) -> None:
        self._counts = [0] * len(BUCKETS)
        self._sum = 0.0
        self._count = 0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        for place, end in enumerate(BUCKETS):
            self._counts[place] += seconds <= end
        self._sum += seconds
        self._count += 1

    def lines(self, name: str) -> Iterator[str]:
        """Yield the histogram as Prometheus lines."""
        for end, count in zip(BUCKETS, self._counts, strict=True):
            yield f'{name}_bucket{{le="{end:g}"}} {count}'
        yield f'{name}_bucket{{le="+Inf"}} {self._count}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {self._count}"


class ServiceMetrics:
    """Counts since the server's start; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._responses: Counter[int] = Counter()
        self._grades: Counter[str] = Counter()
        self._accepted = 0
        self._reused = 0
        self._grading = DurationHistogram()
        self._waiting = DurationHistogram()

    def count_response(self, status: int) -> None:
        """Count a response."""
        with self._lock:
            self._responses[status] += 1

    def count_submissions(self, count: int) -> None:
        """Count accepted submissions."""
        with self._lock:
            self._accepted += count

    def count_grade(self, status: str, seconds: float, waited: float, reused: bool) -> None:
        """Count a grade, its seconds of waiting and, unless reused, of grading."""
        with self._lock:
            self._grades[status] += 1
            self._reused += reused
            self._waiting.observe(waited)
            if not reused:
                self._grading.observe(seconds)

    def text(self, waiting: int, running: int) -> str:
        """Return all metrics, given the numbers of waiting and running works."""
        with self._lock:
            return "\n".join([*self._format_lines(waiting, running), ""])

    def _format_lines(self, waiting: int, running: int) -> Iterator[str]:
        yield "# TYPE harness_responses_total counter"
        yield from (f'harness_responses_total{{status="{s}"}} {n}' for s, n in sorted(self._responses.items()))
        yield "# TYPE harness_accepted_total counter"
        yield f"harness_accepted_total {self._accepted}"
        yield "# TYPE harness_grades_total counter"
        yield from (f'harness_grades_total{{status="{s}"}} {n}' for s, n in sorted(self._grades.items()))
        yield "# TYPE harness_reused_total counter"
        yield f"harness_reused_total {self._reused}"
        yield "# TYPE harness_queue gauge"
        yield f'harness_queue{{state="waiting"}} {waiting}'
        yield f'harness_queue{{state="running"}} {running}'
        for name, histogram in (("grade", self._grading), ("wait", self._waiting)):
            yield f"# TYPE harness_{name}_seconds histogram"
            yield from histogram.lines(f"harness_{name}_seconds")
        yield "# TYPE process_resident_memory_bytes gauge"
        yield f"process_resident_memory_bytes {resident_bytes()}"


def resident_bytes() -> int:
    """Return this process's resident memory in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE
