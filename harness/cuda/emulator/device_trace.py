"""Reports of the emulated device, as models.

The process that ran the submission writes them, so sizes are bounded, and anything else is None, never an exception.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

REPORT_BYTES = 1 << 20
"""Longest report that is read."""

Severity = Literal["error", "warning", "info"]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Index = tuple[Count, Count, Count]
Word = Annotated[str, StringConstraints(max_length=400)]
Words = Annotated[str, StringConstraints(max_length=4000)]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class ReportPart(BaseModel):
    """A frozen part of a report, without conversions; unknown keys are ignored."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


class DeviceLocation(ReportPart):
    """The act of a thread, and its place in the author's source."""

    access: Word | None = None
    """`read`, `write` or `atomic`."""
    block: Index | None = None
    thread: Index | None = None
    pc: Count | None = None
    """Offset from where the program or library was loaded."""
    file: Word | None = None
    line: Count | None = None


class DeviceDefect(DeviceLocation):
    """One fault; equal ones are counted."""

    kind: Kind
    severity: Severity
    text: Words
    kernel: Word | None = None
    launch: Count | None = None
    space: Word | None = None
    bytes: Count | None = None
    buffer: Word | None = None
    offset: int | None = Field(default=None, ge=-(2**63), le=2**63 - 1)
    count: Count = 1
    other: DeviceLocation | None = None
    """The other side of a race."""


class Requests(ReportPart):
    """Traffic of one kind between a launch and global memory, in requests of a warp and sectors of 32 bytes."""

    bytes: Count = 0
    requests: Count = 0
    sectors: Count = 0
    ideal_sectors: Count = 0
    """As many as would do if the bytes lay one after the other from a sector's start."""

    @property
    def per_request(self) -> float | None:
        """Sectors a request moves; None without requests."""
        return self.sectors / self.requests if self.requests else None

    @property
    def over_ideal(self) -> float | None:
        """Sectors moved over the fewest possible; None without requests."""
        return self.sectors / self.ideal_sectors if self.ideal_sectors else None


class Wavefronts(ReportPart):
    """Traffic of one kind between a launch and shared memory: 32 banks of 4 bytes."""

    bytes: Count = 0
    requests: Count = 0
    wavefronts: Count = 0
    ideal_wavefronts: Count = 0
    lone_requests: Count = 0
    """Requests of a single lane: a wavefront each, which nothing can conflict with."""

    @property
    def conflict_factor(self) -> float | None:
        """Wavefronts over the fewest possible, 1 without bank conflicts; None without requests."""
        return self.wavefronts / self.ideal_wavefronts if self.ideal_wavefronts else None


class BufferTraffic(ReportPart):
    """Traffic between a launch and one buffer."""

    read_bytes: Count = 0
    written_bytes: Count = 0
    atomic_bytes: Count = 0
    read_sectors: Count = 0
    written_sectors: Count = 0
    unique_read_bytes: Count = 0
    unique_written_bytes: Count = 0


class Operations(ReportPart):
    """Arithmetic of one type, as the source says it."""

    add: Count = 0
    """Additions and subtractions."""
    multiply: Count = 0
    fused: Count = 0
    """Multiply-adds that are called by name, as `fmaf`."""
    divide: Count = 0
    function: Count = 0
    """Calls of functions as `expf`, however much each computes."""

    @property
    def flops(self) -> int:
        """Floating-point operations: two for a fused one, none for a function."""
        return self.add + self.multiply + self.divide + 2 * self.fused


class KernelLaunch(ReportPart):
    """One kernel launch, or `count` equal ones in a row."""

    kernel: Word
    grid: Index
    block: Index
    static_shared: Count = 0
    dynamic_shared: Count = 0
    stream: Count = 0
    """0 is the default stream."""
    threads: Count = 0
    finished: bool = True
    approximate: bool = False
    """Whether lanes went round loops so differently that requests are matched to warps by guess; bytes are exact."""
    global_load: Requests = Requests()
    global_store: Requests = Requests()
    global_atomic: Requests = Requests()
    shared_load: Wavefronts = Wavefronts()
    shared_store: Wavefronts = Wavefronts()
    shared_atomic: Wavefronts = Wavefronts()
    arithmetic: dict[Literal["half", "bfloat16", "float", "double", "tensor"], Operations] | None = None
    """By type; None where it was not counted."""
    barriers: Count = 0
    warp_meetings: Count = 0
    buffers: dict[Word, BufferTraffic] = Field(default={}, max_length=256)
    count: Count = 1


class Allocation(ReportPart):
    """One allocation of device memory."""

    name: Word
    bytes: Count
    kind: Word = "device"
    freed: bool = False
    by_program: bool = True
    """Whether it was made after the report was begun: not by whoever set the buffers up."""


class Memory(ReportPart):
    """Device memory over the whole run, in bytes."""

    allocations: list[Allocation] = Field(default=[], max_length=1024)
    peak_bytes: Count = 0
    leaked_bytes: Count = 0

    def sizes(self) -> Mapping[str, int]:
        """Bytes of each allocation by name."""
        return {allocation.name: allocation.bytes for allocation in self.allocations}


class Copy(ReportPart):
    """One copy between host and device, or within one of them."""

    bytes: Count
    direction: Word
    stream: Count = 0
    synchronous: bool = True


class Streams(ReportPart):
    """In which streams work was put."""

    kernel_streams: list[Count] = Field(default=[], max_length=1024)
    copies: list[Copy] = Field(default=[], max_length=1024)
    device_syncs: Count = 0


class ApiError(ReportPart):
    """A call of the CUDA runtime that returned an error."""

    call: Word
    error: Word
    text: Words = ""


class UnsupportedFeature(ReportPart):
    """Something the emulated device cannot do: an outcome of its own, no fault of the program."""

    what: Words
    file: Word | None = None
    line: Count | None = None


class Stop(ReportPart):
    """The stop of a program before its end."""

    why: Literal["time", "launches"]
    """Its time was up, or it had made as many launches as it was to make."""
    launches: Count = 0
    """Launches begun until then."""
    block: Count | None = None
    """In the middle of a launch: how many of its blocks were done; they run one after the other."""
    blocks: Count = 0
    """Of that launch that were to run."""
    milliseconds: Count = 0
    """That the launch had run."""


class Progress(ReportPart):
    """Progress of a program at the beginning of a block."""

    launches: Count
    """Launches begun."""
    blocks_done: Count
    """Of the last of them."""
    blocks: Count
    """That it runs."""
    milliseconds: Count
    """That it has run."""

    @property
    def whole_seconds(self) -> float | None:
        """Seconds of the whole launch at this rate; None before a block is done."""
        return self.milliseconds / 1000 * self.blocks / self.blocks_done if self.blocks_done else None


class Report(ReportPart):
    """All of it."""

    version: Literal[1]
    mode: Count = 0
    seed: Count = 0
    defects: list[DeviceDefect] = Field(default=[], max_length=256)
    launches: list[KernelLaunch] = Field(default=[], max_length=1024)
    memory: Memory = Memory()
    streams: Streams = Streams()
    api_errors: list[ApiError] = Field(default=[], max_length=1024)
    unsupported: list[UnsupportedFeature] = Field(default=[], max_length=256)
    blocks_waited: bool = False
    """Whether a block waited for one that had not begun: another order of blocks serves it."""
    truncated: bool = False
    """Whether something was left out because there was too much of it."""
    launches_unlisted: Count = 0
    """Launches that are in none of `launches`: there were too many different ones in turn."""
    launches_not_run: Count = 0
    """Launches that were refused: with an invalid configuration, or after an error that ended the context."""
    blocks_run: Count = 0
    """Where a sample of the blocks of each launch was run: how many ran."""
    blocks_launched: Count = 0
    """Likewise: how many blocks the launches had; 0 where all were to run."""
    stopped: Stop | None = None
    """Where the program was stopped; None when it was not."""
    whole: bool = True
    """False for what was seen of a program that did not live to write its report: counts are lower bounds, and nothing
    is known of its memory, streams and calls."""

    def found(self, *severities: Severity) -> list[DeviceDefect]:
        """Return the defects of these severities, by default errors."""
        return [defect for defect in self.defects if defect.severity in (severities or ("error",))]

    def with_defects(self, defects: list[DeviceDefect]) -> Self:
        """Return the report with other defects."""
        return self.model_copy(update={"defects": defects})


def parse(data: bytes) -> Report | None:
    """Return the report in `data`, which NUL bytes or blanks may pad, or None.

    Args:
        data: UTF-8 JSON, at most `REPORT_BYTES`.
    """
    text = _strip_padding(data)
    if not text or len(text) > REPORT_BYTES:
        return None
    try:
        return Report.model_validate_json(text)
    except (ValidationError, RecursionError):
        return None


def _strip_padding(data: bytes) -> bytes:
    """Strip padding by a scan from the front, since it is mostly longer than a report."""
    end = data.find(b"\0")
    padded = end >= 0 and data.count(b"\0", end) == len(data) - end
    return (data[:end] if padded else data).rstrip(b"\0 \n")


class _Line(ReportPart):
    """A line of a running program, with one of these."""

    defect: DeviceDefect | None = None
    launch: KernelLaunch | None = None
    ordinal: Count | None = None
    stopped: Stop | None = None
    progress: Progress | None = None


def last_progress(data: bytes) -> tuple[Progress | None, KernelLaunch | None, int]:
    """Return a running program's last progress, its launch, and the number of launches begun.

    Args:
        data: output so far; its beginning and end may be cut.
    """
    progress, launch, launches = None, None, 0
    for text in reversed(data.split(b"\n")):
        line = _line(text) if text.startswith((b'{"progress"', b'{"launch"')) else None
        if line and line.progress and progress is None:
            progress, launches = line.progress, max(launches, line.progress.launches)
        elif line and line.launch:
            launch, launches = line.launch, max(launches, (line.ordinal or 0) + 1)
            break
    return (progress if progress and progress.launches == launches else None), launch, launches


def parse_stream(data: bytes) -> Report | None:
    """Return a followed program's report, or what it reported before it ended.

    Args:
        data: lines of UTF-8 JSON, at most `REPORT_BYTES`; the last one may be the report.
    """
    if len(data) > REPORT_BYTES:
        return None
    *told, last = data.rstrip(b"\0 \n").split(b"\n")
    report = parse(last)
    lines = [line for text in (told if report else [*told, last]) if text and (line := _line(text))]
    stopped = next((line.stopped for line in lines if line.stopped), None)
    if report is not None:
        return report.model_copy(update={"stopped": stopped})
    return _piece_together(lines, stopped) if lines else None


def _line(text: bytes) -> _Line | None:
    try:
        return _Line.model_validate_json(text)
    except (ValidationError, RecursionError):
        return None


def _piece_together(lines: Sequence[_Line], stopped: Stop | None) -> Report:
    launched = [line for line in lines if line.launch]
    begun = max([(line.ordinal or 0) + 1 for line in launched] + ([stopped.launches] if stopped else []), default=0)
    launches = [line.launch for line in launched if line.launch][:1023]
    ended = stopped is not None and stopped.block is None
    launches = [launch.model_copy(update={"finished": ended or launch is not launches[-1]}) for launch in launches]
    if launches and begun > len(launches):  # not every launch has a line
        launches[-1] = launches[-1].model_copy(update={"count": begun - len(launches) + 1})
    return Report(
        version=1,
        defects=[line.defect for line in lines if line.defect][:256],
        launches=launches,
        stopped=stopped,
        whole=False,
    )
