"""Memory traffic of a call in mode count: bytes, sectors and wavefronts over all launches, equal in every run."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.cuda.emulator.device_trace import BufferTraffic, KernelLaunch, Report, Requests, Wavefronts
from harness.model import Figure
from harness.probing.failures import ProbeFailure
from harness.probing.probe import Partial

Steps = Sequence[tuple[float, float]]
"""Largest value and its credit, best first."""
Counted = TypeVar("Counted", Requests, Wavefronts)


def total(report: Report, part: Callable[[KernelLaunch], Counted], figure: Callable[[Counted], int]) -> int:
    """Sum a figure of one part of the traffic over all launches."""
    return sum(launch.count * figure(part(launch)) for launch in report.launches)


def buffer_traffic(report: Report, name: str) -> BufferTraffic:
    """Return all launches' reads of a buffer; `unique_read_bytes` is the most of one launch."""
    parts = [(launch.count, launch.buffers[name]) for launch in report.launches if name in launch.buffers]
    return BufferTraffic(
        read_bytes=sum(count * part.read_bytes for count, part in parts),
        unique_read_bytes=max((part.unique_read_bytes for _, part in parts), default=0),
    )


def written_bytes(report: Report) -> int:
    """Return bytes written to global memory by stores, atomics and copies."""
    stored = total(report, lambda n: n.global_store, lambda traffic: traffic.bytes)
    copied = sum(copy.bytes for copy in report.streams.copies if copy.direction.endswith("2d"))
    return stored + copied + total(report, lambda n: n.global_atomic, lambda traffic: traffic.bytes)


def moved_bytes(report: Report) -> int:
    """Return the bytes read and written."""
    copied = sum(copy.bytes for copy in report.streams.copies if copy.direction.startswith("d2"))
    return written_bytes(report) + copied + total(report, lambda n: n.global_load, lambda traffic: traffic.bytes)


def allocated_bytes(report: Report) -> int:
    """Return the bytes allocated by the submission."""
    return sum(allocation.bytes for allocation in report.memory.allocations if allocation.by_program)


def sector_factor(report: Report) -> float:
    """Return sectors moved by global reads over the fewest for as many bytes."""
    sectors = total(report, lambda n: n.global_load, lambda traffic: traffic.sectors)
    return sectors / max(total(report, lambda n: n.global_load, lambda traffic: traffic.ideal_sectors), 1)


def conflict_factor(report: Report) -> float:
    """Return wavefronts of multi-lane shared accesses over the fewest possible; 1 without any."""
    kinds: tuple[Callable[[KernelLaunch], Wavefronts], ...] = (lambda n: n.shared_load, lambda n: n.shared_store)
    waves = sum(total(report, kind, lambda shared: shared.wavefronts - shared.lone_requests) for kind in kinds)
    ideal = sum(total(report, kind, lambda shared: shared.ideal_wavefronts - shared.lone_requests) for kind in kinds)
    return waves / ideal if ideal else 1.0


def graded(value: float, steps: Steps, title: str, detail: str, figures: dict[str, Figure]) -> Partial:
    """Return the credit of the first step that `value` does not exceed.

    Raises:
        ProbeFailure: `value` exceeds the last step.
    """
    for limit, share in steps:
        if value <= limit:
            return Partial(share, figures, detail if share < 1 else "")
    raise ProbeFailure(title, detail, measured=figures)
