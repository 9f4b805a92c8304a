"""Plausibility checks that every honest report passes.

The submission's process makes the report. The parent drew the buffers and knows which bytes changed, so it detects
omitted accesses.
"""

from collections.abc import Iterator, Mapping

from harness.cuda.emulator.device_trace import BufferTraffic, KernelLaunch, Report, Requests

LANES = 32
WIDEST = 16
"""Most bytes that one lane moves in one access."""
COUNTED = 2
"""Bit of a report's mode for traffic counting."""
_INTO_THE_DEVICE = ("h2d", "d2d", "set")


def contradiction(report: Report, *, mode: int, seed: int, changed: Mapping[str, int]) -> str:
    """Return the first contradiction in a report as a sentence, or an empty string.

    Args:
        mode: requested mode bits.
        seed: requested schedule seed.
        changed: number of changed bytes in each of the harness's buffers.
    """
    return next(_find_contradictions(report, mode, seed, changed), "")


def _find_contradictions(report: Report, mode: int, seed: int, changed: Mapping[str, int]) -> Iterator[str]:
    if (report.mode & mode, report.seed) != (mode, seed):
        yield f"it is of mode {report.mode} and seed {report.seed}, asked for were {mode} and {seed}"
    written = {name: count for name, count in changed.items() if count}
    if written and not report.launches and not report.streams.copies and not report.found():
        yield f"nothing ran on the device, yet {_format_changes(written)} changed"
    for number, launch in enumerate(report.launches):
        for what in _check_launch(launch):
            yield f"launch {number}, `{launch.kernel[:80]}`: {what}"
    if report.mode & COUNTED and not report.truncated and not report.found():
        yield from _find_uncounted(report, written)


def _check_launch(launch: KernelLaunch) -> Iterator[str]:
    size = launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.block[0] * launch.block[1] * launch.block[2]
    if launch.threads != size or not launch.count:
        yield f"{launch.threads} threads in a grid and blocks of {size}"
    parts = {"read": launch.global_load, "written": launch.global_store, "changed": launch.global_atomic}
    for verb, traffic in parts.items():
        if not _is_possible(traffic):
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


def _is_possible(traffic: Requests) -> bool:
    """Return whether each request moves at least a byte, at most what a warp can, in enough sectors."""
    if not traffic.requests:
        return not (traffic.bytes or traffic.sectors)
    return (
        traffic.requests <= traffic.bytes <= traffic.requests * LANES * WIDEST
        and traffic.requests <= traffic.sectors
        and traffic.ideal_sectors <= traffic.sectors
    )


def _find_uncounted(report: Report, changed: Mapping[str, int]) -> Iterator[str]:
    copied = sum(copy.bytes for copy in report.streams.copies if copy.direction in _INTO_THE_DEVICE)
    for name, count in changed.items():
        parts = [(launch.count, launch.buffers.get(name, BufferTraffic())) for launch in report.launches]
        reported = sum(times * (part.written_bytes + part.atomic_bytes) for times, part in parts)
        if count > reported + copied:
            yield f"{count} bytes of `{name}` changed, but the report has {reported + copied} written"


def _format_changes(changed: Mapping[str, int]) -> str:
    return " and ".join(f"{count} bytes of `{name}`" for name, count in changed.items())
