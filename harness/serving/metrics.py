"""What a server counts, in the text format of Prometheus."""

import os
import threading
from collections import Counter
from collections.abc import Iterator

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper ends of the histograms, seconds."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class DurationHistogram:
    """How often something took how long."""

    def __init__(self) -> None:
        self._counts = [0] * len(BUCKETS)
        self._sum = 0.0
        self._count = 0

    def observe(self, seconds: float) -> None:
        """Count one."""
        for place, end in enumerate(BUCKETS):
            self._counts[place] += seconds <= end
        self._sum += seconds
        self._count += 1

    def lines(self, name: str) -> Iterator[str]:
        """As Prometheus reads it."""
        for end, count in zip(BUCKETS, self._counts, strict=True):
            yield f'{name}_bucket{{le="{end:g}"}} {count}'
        yield f'{name}_bucket{{le="+Inf"}} {self._count}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {self._count}"


class ServiceMetrics:
    """The counts of one server since it started; it may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._responses: Counter[int] = Counter()
        self._grades: Counter[str] = Counter()
        self._accepted = 0
        self._reused = 0
        self._grading = DurationHistogram()
        self._waiting = DurationHistogram()

    def responded(self, status: int) -> None:
        """A response of this HTTP status was sent."""
        with self._lock:
            self._responses[status] += 1

    def accepted(self, count: int) -> None:
        """So many answers were accepted."""
        with self._lock:
            self._accepted += count

    def graded(self, status: str, seconds: float, waited: float, reused: bool) -> None:
        """A grade was finished.

        Args:
            status: of its record.
            seconds: that it took.
            waited: seconds that it waited before.
            reused: whether the record was made before.
        """
        with self._lock:
            self._grades[status] += 1
            self._reused += reused
            self._waiting.observe(waited)
            if not reused:
                self._grading.observe(seconds)

    def text(self, waiting: int, running: int) -> str:
        """Everything, for a scrape.

        Args:
            waiting, running: works in the queue.
        """
        with self._lock:
            return "\n".join([*self._lines(waiting, running), ""])

    def _lines(self, waiting: int, running: int) -> Iterator[str]:
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
    """Resident memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE
