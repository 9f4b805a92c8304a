"""What `harness cuda` prints: defects with the author's lines, and tables of traffic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.cli import output
from harness.cuda.program import ProgramRun, ProgramSource
from harness.cuda.report import DeviceDefect, DeviceLocation, Index, KernelLaunch, Report, Requests, Wavefronts

COUNTED = "counted on the emulated device, not measured"
_OF_A_BUFFER = ("bytes", "read", "passes", "written", "atomics", "distinct read", "distinct written")
_SEVERITIES = ("error", "warning", "info")


def as_data(source: ProgramSource, runs: Sequence[ProgramRun]) -> dict[str, Any]:
    """Everything of the runs as plain data, for `--json`."""
    return {
        "files": list(source.entries),
        "runs": [
            {
                "seed": run.seed,
                "ended": run.ended,
                "exit_status": run.completed.returncode,
                "output": run.completed.output,
                "report": run.report and run.report.model_dump(mode="json"),
            }
            for run in runs
        ],
    }


def defects(source: ProgramSource, runs: Sequence[ProgramRun], found: Sequence[tuple[DeviceDefect, int]]) -> None:
    """Print what was found, worst first, then what the program printed.

    Args:
        source: the program.
        runs: one for each schedule.
        found: each defect with the number of runs that showed it.
    """
    shown = [f for f in found if f[0].kind != "leaked"]
    for number, (defect, schedules) in enumerate(sorted(shown, key=lambda f: _SEVERITIES.index(f[0].severity)), 1):
        seen = f", in {schedules} of {len(runs)} schedules" if len(runs) > 1 else ""
        output.line(f"{number}. {defect.severity}: {defect.kind.replace('_', ' ')}: {defect.text}")
        for text in (*_where(source, defect), _times(defect) + seen):
            output.line(f"     {text}")
    if shown:
        output.line()
    output.line(f"{', '.join(source.entries)}: {_summary([d for d, _ in shown])}, {_coverage(runs)}")
    leaked = [f"{d.buffer}" + (f" ({d.file}:{d.line})" if d.file else "") for d, _ in found if d.kind == "leaked"]
    if leaked:
        output.line(f"note: never freed: {', '.join(leaked)}")
    report = next((run.report for run in runs if run.report), None)
    if report is not None:
        _say_api_errors(report)
    _say_end(runs)


def traffic(source: ProgramSource, run: ProgramRun) -> None:
    """Print the counters of every launch, then what the program printed."""
    if run.report is not None:
        sizes = run.report.memory.sizes()
        for launch in run.report.launches:
            _launch(launch, sizes)
        peak, left = run.report.memory.peak_bytes, run.report.memory.leaked_bytes
        output.line(f"device memory: at most {peak:,} bytes at a time, {left:,} never freed")
        if run.report.truncated:
            output.line("more was launched than is shown: counters of the rest were left out")
    output.line(f"{', '.join(source.entries)}: {_coverage([run])}; {COUNTED}")
    _say_end([run])


def _where(source: ProgramSource, defect: DeviceDefect) -> Iterator[str]:
    """The defect's places: the line with its source, the thread, and the other side of a race."""
    yield from _place(source, defect, defect.kernel)
    if defect.other is not None:
        yield from _place(source, defect.other, None, "against ")


def _place(source: ProgramSource, place: DeviceLocation, kernel: str | None, opening: str = "") -> Iterator[str]:
    parts = [place.access or "", f"in kernel {kernel}" if kernel else ""]
    parts += [f"block {_index(place.block)}" if place.block else ""]
    parts += [f"thread {_index(place.thread)}" if place.thread else ""]
    said = opening + ", ".join(part for part in parts if part)
    if place.file is not None and place.line is not None:
        yield f"{said}{' at ' if said else ''}{place.file}:{place.line}"
        text = source.line(place.file, place.line)
        if text:
            yield f"    {text}"
    elif said:
        yield said


def _times(defect: DeviceDefect) -> str:
    return "once" if defect.count == 1 else f"{defect.count:,} times"


def _index(index: Index) -> str:
    return f"({index[0]}, {index[1]}, {index[2]})"


def _extent(index: Index) -> str:
    """A grid or block without the dimensions that are 1: `64` or `8 x 4`."""
    x, y, z = index
    return " x ".join(f"{n:,}" for n in ((x, y, z) if z != 1 else (x, y) if y != 1 else (x,)))


def _summary(found: Sequence[DeviceDefect]) -> str:
    counts = {severity: sum(d.severity == severity for d in found) for severity in _SEVERITIES}
    said = [f"{n} {severity}{'s' if n > 1 and severity != 'info' else ''}" for severity, n in counts.items() if n]
    return ", ".join(said) or "no defect found"


def _coverage(runs: Sequence[ProgramRun]) -> str:
    launches = max((sum(launch.count for launch in run.report.launches) for run in runs if run.report), default=0)
    seeds = f"schedule {runs[0].seed}" if len(runs) == 1 else f"schedules {runs[0].seed} to {runs[-1].seed}"
    cut = ", not run to its end" if any(run.report and run.report.unsupported for run in runs) else ""
    return f"{launches} kernel launch{'es' if launches != 1 else ''}, {seeds}{cut}"


def _say_api_errors(report: Report) -> None:
    for error in report.api_errors[:10]:
        said = f": {error.text}" if error.text else ""
        output.line(f"note: {error.call} returned {error.error}{said}")
    if len(report.api_errors) > 10:
        output.line(f"note: {len(report.api_errors) - 10} more calls returned an error")


def _say_end(runs: Sequence[ProgramRun]) -> None:
    """How the program ended and what it printed, of the first run that failed or else the first."""
    run = next((run for run in runs if run.failed), runs[0])
    if run.report is None:
        output.line("the program left no report: what the device saw is lost")
    printed = run.completed.output.splitlines()
    said = "its output:" if printed else "it printed nothing"
    output.line(f"--- the program, schedule {run.seed}: {run.ended}; {said}")
    for text in printed:
        output.line(text)


def _launch(launch: KernelLaunch, sizes: Mapping[str, int]) -> None:
    times = f", {launch.count} times, each:" if launch.count > 1 else ""
    shared = launch.static_shared + launch.dynamic_shared
    output.line(
        f"{launch.kernel}: grid {_extent(launch.grid)}, block {_extent(launch.block)}, {launch.threads:,} threads"
        f"{f', {shared:,} bytes of shared memory a block' if shared else ''}{times}"
    )
    if not launch.finished:
        output.line("  it did not finish: what follows is what it had done until then")
    if launch.approximate:
        output.line("  approximate: its lanes go different ways, so requests are matched by guess; bytes are exact")
    rows = list(_requests(launch))
    if rows:
        output.table(
            ("memory", "access", "bytes", "requests", "per request", "over ideal"), rows,
            right=("bytes", "requests", "per request", "over ideal"),
        )  # fmt: skip
    if launch.buffers:
        output.table(("buffer", *_OF_A_BUFFER), list(_buffers(launch, sizes)), right=_OF_A_BUFFER)
    output.line()


def _requests(launch: KernelLaunch) -> Iterator[tuple[str, ...]]:
    """Rows of the table of requests: sectors of global memory, wavefronts of shared memory."""
    kinds: tuple[tuple[str, str, Requests | Wavefronts], ...] = (
        ("global", "load", launch.global_load), ("global", "store", launch.global_store),
        ("global", "atomic", launch.global_atomic), ("shared", "load", launch.shared_load),
        ("shared", "store", launch.shared_store), ("shared", "atomic", launch.shared_atomic),
    )  # fmt: skip
    for memory, access, moved in kinds:
        if moved.bytes == 0:
            continue
        if isinstance(moved, Requests):
            each, over = _figure(moved.per_request, " sectors"), _figure(moved.over_ideal, " x")
        else:
            per = moved.wavefronts / moved.requests if moved.requests else None
            each, over = _figure(per, " wavefronts"), _figure(moved.conflict_factor, " x")
        yield memory, access, f"{moved.bytes:,}", f"{moved.requests:,}", each, over


def _buffers(launch: KernelLaunch, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    for name, moved in launch.buffers.items():
        size = sizes.get(name)
        distinct = moved.unique_read_bytes
        passes = f"{moved.read_bytes / distinct:.3f}" if distinct else "-"
        figures = (
            moved.written_bytes, moved.atomic_bytes, moved.unique_read_bytes, moved.unique_written_bytes,
        )  # fmt: skip
        yield (
            name, f"{size:,}" if size is not None else "-", f"{moved.read_bytes:,}", passes,
            *(f"{figure:,}" for figure in figures),
        )  # fmt: skip


def _figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.2f}{unit}"
