"""What no honest report says, whatever the kernel: figures that contradict each other or what the parent saw itself.

A report comes out of the process that ran the answer. The parent drew the buffers, knows which bytes of them changed,
and can therefore tell a report that leaves out what must have happened.
"""

from collections.abc import Iterator, Mapping

from harness.cuda.report import BufferTraffic, KernelLaunch, Report, Requests

LANES = 32
WIDEST = 16
"""Bytes that one lane moves in one access, at the most."""
COUNTED = 2
"""The bit of a report's mode that says that traffic was counted."""
_INTO_THE_DEVICE = ("h2d", "d2d", "set")


def contradiction(report: Report, *, mode: int, seed: int, changed: Mapping[str, int]) -> str:
    """In a sentence, what in a report cannot be; empty when nothing is.

    Args:
        report: as it was read.
        mode: bits that were asked for.
        seed: of the schedule that was asked for.
        changed: bytes of each of the harness's buffers that differ after the call, by the buffer's name.
    """
    return next(_contradictions(report, mode, seed, changed), "")


def _contradictions(report: Report, mode: int, seed: int, changed: Mapping[str, int]) -> Iterator[str]:
    if (report.mode & mode, report.seed) != (mode, seed):
        yield f"it is of mode {report.mode} and seed {report.seed}, asked for were {mode} and {seed}"
    written = {name: count for name, count in changed.items() if count}
    if written and not report.launches and not report.streams.copies and not report.found():
        yield f"nothing ran on the device, yet {_listed(written)} changed"
    for number, launch in enumerate(report.launches):
        for what in _within(launch):
            yield f"launch {number}, `{launch.kernel[:80]}`: {what}"
    if report.mode & COUNTED and not report.truncated and not report.found():
        yield from _uncounted(report, written)


def _within(launch: KernelLaunch) -> Iterator[str]:
    """Figures of one launch that contradict each other."""
    size = launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.block[0] * launch.block[1] * launch.block[2]
    if launch.threads != size or not launch.count:
        yield f"{launch.threads} threads in a grid and blocks of {size}"
    parts = {"read": launch.global_load, "written": launch.global_store, "changed": launch.global_atomic}
    for verb, traffic in parts.items():
        if not _possible(traffic):
            yield (
                f"{traffic.bytes} bytes {verb} in {traffic.requests} requests of {traffic.sectors} sectors, of which "
                f"{traffic.ideal_sectors} would do"
            )
    for name, buffer in launch.buffers.items():
        if buffer.unique_read_bytes > buffer.read_bytes + buffer.atomic_bytes:
            yield f"{buffer.unique_read_bytes} different bytes among {buffer.read_bytes} read of `{name[:80]}`"
        if buffer.unique_written_bytes > buffer.written_bytes + buffer.atomic_bytes:
            yield f"{buffer.unique_written_bytes} different bytes among {buffer.written_bytes} written to `{name[:80]}`"
    for kind, traffic in (("written", launch.global_store), ("atomic", launch.global_atomic)):
        named = sum(getattr(buffer, f"{kind}_bytes") for buffer in launch.buffers.values())
        if named > traffic.bytes:
            yield f"{traffic.bytes} bytes {kind} in all, {named} of them to buffers with a name"


def _possible(traffic: Requests) -> bool:
    """Whether a request has a byte and a sector, no more bytes than a warp can move, and no sector too few."""
    if not traffic.requests:
        return not (traffic.bytes or traffic.sectors)
    return (
        traffic.requests <= traffic.bytes <= traffic.requests * LANES * WIDEST
        and traffic.requests <= traffic.sectors
        and traffic.ideal_sectors <= traffic.sectors
    )


def _uncounted(report: Report, changed: Mapping[str, int]) -> Iterator[str]:
    """Buffers of which more bytes changed than the report has anything write."""
    copied = sum(copy.bytes for copy in report.streams.copies if copy.direction in _INTO_THE_DEVICE)
    for name, count in changed.items():
        parts = [(launch.count, launch.buffers.get(name, BufferTraffic())) for launch in report.launches]
        reported = sum(times * (part.written_bytes + part.atomic_bytes) for times, part in parts)
        if count > reported + copied:
            yield f"{count} bytes of `{name}` changed, but the report has {reported + copied} written"


def _listed(changed: Mapping[str, int]) -> str:
    return " and ".join(f"{count} bytes of `{name}`" for name, count in changed.items())
