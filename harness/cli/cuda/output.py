"""Output of `harness cuda`: defects with source lines, and traffic tables."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from harness.cli import output
from harness.cuda.emulator.device_trace import (
    DeviceLocation,
    Index,
    KernelLaunch,
    Report,
    Requests,
    Wavefronts,
)
from harness.cuda.programs import self_reported_failures
from harness.cuda.programs.faults import ProgramFault, leaks, program_faults
from harness.cuda.programs.program import ProgramRun, ProgramSource
from harness.report.exports.programs import headline, kind_name

COUNTED = "counted on the emulated device, not measured"
_OF_A_BUFFER = ("bytes", "read", "passes", "written", "atomics", "distinct read", "distinct written")
_OF_ARITHMETIC = ("add", "multiply", "fused", "divide", "flops", "functions")
_COLOURS = {"error": "1;31", "warning": "1;33", "info": "1;36"}
_MOST_OWN_WORDS = 5


def defects(source: ProgramSource, runs: Sequence[ProgramRun], *, quoted: bool = False) -> None:
    """Print the findings, worst first, then the program's output.

    Args:
        runs: one run per schedule.
        quoted: mark each line of the program's output, so that a code host takes none as a command.
    """
    found = program_faults(runs)
    for number, finding in enumerate(found, 1):
        _print_finding(source, runs, finding, number, found)
    if found:
        output.line()
    output.line(f"{', '.join(source.entries)}: {headline(runs, found)}")
    for text in source.changed:
        output.line(f"note: built with {text}")
    leaked = [f"{', '.join(names)}" + (f" ({place})" if place else "") for place, names in leaks(runs).items()]
    if leaked:
        output.line(f"note: never freed: {', '.join(leaked)}")
    for text in _list_hints(runs):
        output.line(f"note: {text}")
    report = next((run.report for run in runs if run.report), None)
    if report is not None:
        _say_api_errors(report)
    own_words = dict.fromkeys(text for run in runs for text in self_reported_failures.failures(run.completed.output))
    for text in list(own_words)[:_MOST_OWN_WORDS]:
        output.line(f"note: the program itself printed a failure: {text}")
    _say_end(runs, quoted=quoted)


def traffic(source: ProgramSource, run: ProgramRun, further: Callable[[KernelLaunch], Iterable[str]]) -> None:
    """Print the counters of every launch, then the program's output.

    Args:
        further: returns more lines for a launch.
    """
    if run.report is not None and not run.report.whole:
        output.line("the program did not live to report its traffic; these launches were begun:")
        for launch in run.report.launches:
            shape = f"grid {_format_extent(launch.grid)}, block {_format_extent(launch.block)}"
            more = f", then {launch.count - 1} more" if launch.count > 1 else ""
            output.line(f"  {launch.kernel}: {shape}{more}")
    elif run.report is not None:
        sizes = run.report.memory.sizes()
        for launch in run.report.launches:
            _print_launch(launch, sizes, further(launch))
        if run.report.launches and all(launch.arithmetic is None for launch in run.report.launches):
            output.line("arithmetic was not counted: that takes sources that compile with operators that count")
        peak, left = run.report.memory.peak_bytes, run.report.memory.leaked_bytes
        output.line(f"device memory: at most {peak:,} bytes at a time, {left:,} never freed")
        if run.report.truncated:
            output.line("more was launched than is shown: counters of the rest were left out")
    cut = f", not all of it: {run.unchecked}" if run.unchecked else ""
    made = f"{run.launches} kernel launch{'es' if run.launches != 1 else ''}, schedule {run.seed}{cut}"
    output.line(f"{', '.join(source.entries)}: {made}; {COUNTED}")
    for text in source.changed:
        output.line(f"note: built with {text}")
    _say_end([run])


def _print_finding(
    source: ProgramSource, runs: Sequence[ProgramRun], finding: ProgramFault, number: int, found: Sequence[ProgramFault]
) -> None:
    defect = finding.defect
    output.print_drawing(
        f"{number}. {_colour(defect.severity)}: {output.clean(f'{kind_name(defect.kind)}: {defect.text}')}"
    )
    if finding.cause in found:
        output.line(f"     may be caused by finding {found.index(finding.cause) + 1}; fix that first")
    other = _format_place(source, defect.other, None, "against ") if defect.other is not None else ()
    for text in (*_format_place(source, defect, defect.kernel), *other):
        output.line(f"     {text}")
    for text in finding.others:
        output.line(f"     also: {text}")
    if finding.kernels:
        output.line(
            f"     also in kernel {', '.join(finding.kernels[:4])}{', ...' if len(finding.kernels) > 4 else ''}"
        )
    seen = f", in {finding.schedules} of {len(runs)} schedules" if len(runs) > 1 else ""
    output.line(f"     {_format_times(finding)}{seen}")


def _colour(severity: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return severity
    return f"\033[{_COLOURS[severity]}m{severity}\033[0m"


def _format_place(source: ProgramSource, place: DeviceLocation, kernel: str | None, opening: str = "") -> Iterator[str]:
    parts = [place.access or "", f"in kernel {kernel}" if kernel else ""]
    parts += [f"block {_format_index(place.block)}" if place.block else ""]
    parts += [f"thread {_format_index(place.thread)}" if place.thread else ""]
    said = opening + ", ".join(part for part in parts if part)
    if place.file is not None and place.line is not None:
        yield f"{said}{' at ' if said else ''}{place.file}:{place.line}"
        yield from _format_excerpt(source, place.file, place.line)
    elif said:
        yield said


def _format_excerpt(source: ProgramSource, file: str, line: int) -> Iterator[str]:
    around = [(number, text.expandtabs(4)) for number, text in source.around(file, line)]
    left = min((len(text) - len(text.lstrip()) for _, text in around if text), default=0)
    for number, text in around:
        yield f"  {'>' if number == line else ' '} {number:>{len(str(line + 1))}} | {text[left:][:160]}".rstrip()


def _format_times(finding: ProgramFault) -> str:
    said = "once" if finding.count == 1 else f"{finding.count:,} times"
    return f"at least {said}" if finding.at_least else said


def _list_hints(runs: Sequence[ProgramRun]) -> Iterator[str]:
    run = next((run for run in runs if run.report and run.report.stopped and run.report.stopped.why == "time"), None)
    if run is None or run.report is None or run.report.stopped is None:
        return
    stopped = run.report.stopped
    if stopped.block is None:
        yield "the program was in host code when its time was up"
        return
    if stopped.milliseconds < 500 * run.completed.seconds:  # less than half of the time
        yield (
            f"the time went into {stopped.launches:,} launches, of which the last was running: give it smaller sizes or"
            " fewer repeats (arguments after --, -D, --set NAME=VALUE), --launches fewer, or --timeout more seconds"
        )
        return
    kernel = run.report.launches[-1].kernel if run.report.launches else "the kernel"
    done = f"{stopped.block:,} of {stopped.blocks:,} blocks of {kernel} were done"
    said = f"{done} after {stopped.milliseconds / 1000:.0f} s"
    minutes = stopped.milliseconds / 60_000 * stopped.blocks / max(stopped.block, 1)
    if minutes > 1:
        said += f"; all of them would take {'at least' if not stopped.block else 'about'} {minutes:,.0f} minutes"
    yield f"{said}: give it smaller sizes (arguments after --, -D, --set NAME=VALUE), or --timeout more seconds"


def _format_index(index: Index) -> str:
    return f"({index[0]}, {index[1]}, {index[2]})"


def _format_extent(index: Index) -> str:
    """Return a grid or block without trailing dimensions of 1: `64` or `8 x 4`."""
    x, y, z = index
    return " x ".join(f"{n:,}" for n in ((x, y, z) if z != 1 else (x, y) if y != 1 else (x,)))


def _say_api_errors(report: Report) -> None:
    for error in report.api_errors[:10]:
        said = f": {error.text}" if error.text else ""
        output.line(f"note: {error.call} returned {error.error}{said}")
    if len(report.api_errors) > 10:
        output.line(f"note: {len(report.api_errors) - 10} more calls returned an error")


def _say_end(runs: Sequence[ProgramRun], *, quoted: bool = False) -> None:
    run = next((run for run in runs if run.failed), runs[0])
    if run.report is None:
        output.line("the program left no report: nothing is known of what the device saw")
    printed = run.completed.output.splitlines()
    said = "its output:" if printed else "it printed nothing"
    output.line(f"--- the program, schedule {run.seed}: {run.ended}; {said}")
    for text in printed:
        output.line(f"| {text}" if quoted else text)


def _print_launch(launch: KernelLaunch, sizes: Mapping[str, int], further: Iterable[str]) -> None:
    times = f", {launch.count} times, each:" if launch.count > 1 else ""
    shared = launch.static_shared + launch.dynamic_shared
    output.line(
        f"{launch.kernel}: grid {_format_extent(launch.grid)}, block {_format_extent(launch.block)},"
        f" {launch.threads:,} threads"
        f"{f', {shared:,} bytes of shared memory a block' if shared else ''}{times}"
    )
    if not launch.finished:
        output.line("  it did not finish: what follows is what it had done until then")
    if launch.approximate:
        output.line("  approximate: its lanes go different ways, so requests are matched by guess; bytes are exact")
    rows = list(_list_requests(launch))
    if rows:
        output.table(
            ("memory", "access", "bytes", "requests", "per request", "over ideal"),
            rows,
            right=("bytes", "requests", "per request", "over ideal"),
        )
    if launch.buffers:
        output.table(("buffer", *_OF_A_BUFFER), list(_list_buffers(launch, sizes)), right=_OF_A_BUFFER)
    if launch.arithmetic:
        output.table(("arithmetic", *_OF_ARITHMETIC), list(_list_arithmetic(launch)), right=_OF_ARITHMETIC)
    for text in further:
        output.line(text)
    output.line()


def _list_arithmetic(launch: KernelLaunch) -> Iterator[tuple[str, ...]]:
    for kind, done in (launch.arithmetic or {}).items():
        figures = (done.add, done.multiply, done.fused, done.divide, done.flops, done.function)
        yield kind, *(f"{figure:,}" for figure in figures)


def _list_requests(launch: KernelLaunch) -> Iterator[tuple[str, ...]]:
    kinds: tuple[tuple[str, str, Requests | Wavefronts], ...] = (
        ("global", "load", launch.global_load),
        ("global", "store", launch.global_store),
        ("global", "atomic", launch.global_atomic),
        ("shared", "load", launch.shared_load),
        ("shared", "store", launch.shared_store),
        ("shared", "atomic", launch.shared_atomic),
    )
    for memory, access, moved in kinds:
        if moved.bytes == 0:
            continue
        if isinstance(moved, Requests):
            each, over = _format_figure(moved.per_request, " sectors"), _format_figure(moved.over_ideal, " x")
        else:
            per = moved.wavefronts / moved.requests if moved.requests else None
            each, over = _format_figure(per, " wavefronts"), _format_figure(moved.conflict_factor, " x")
        yield memory, access, f"{moved.bytes:,}", f"{moved.requests:,}", each, over


def _list_buffers(launch: KernelLaunch, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    for name, moved in launch.buffers.items():
        size = sizes.get(name)
        distinct = moved.unique_read_bytes
        passes = f"{moved.read_bytes / distinct:.3f}" if distinct else "-"
        figures = (moved.written_bytes, moved.atomic_bytes, moved.unique_read_bytes, moved.unique_written_bytes)
        shown = f"{size:,}" if size is not None else "-"
        yield name, shown, f"{moved.read_bytes:,}", passes, *(f"{figure:,}" for figure in figures)


def _format_figure(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{value:.2f}{unit}"
