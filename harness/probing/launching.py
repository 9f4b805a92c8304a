"""Launches of a CUDA submission, with the contents of device memory before and after.

Inputs lie between guards of NaN, so a read beside one spoils the result. Outputs hold, and lie between, random bytes,
so stray writes and unwritten outputs show.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.cuda.emulator.device_trace import DeviceDefect, parse
from harness.cuda.emulator.device_trace import Report as Report
from harness.cuda.emulator.trace_validation import contradiction
from harness.cuda.inside.driver import MODES, REPORT_BYTES
from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.failures import (
    CallRefused,
    KernelFailed,
    NotMeasurable,
    ProbeFailure,
    WrittenOutside,
    WrongOutputs,
)
from harness.probing.patterns import pattern_of
from harness.sandbox import Array, Scalar

Values = NDArray[Any]

FEWEST_ROWS = 8
"""Fewest rows for which a rule is reported: several rules fit fewer rows, and may not hold for the next one."""
GUARD = 64
"""Elements before and behind each buffer, in modes that do not watch every access: 256 bytes of float32, so that a
buffer starts where device memory would."""
STREAM = "stream"
"""Argument that becomes a stream other than the default one."""
REFUSED = "invalid_launch"
"""Defect of a launch that the device refuses to run."""
NARROWEST = 4
"""Fewest bytes of an output's element: a narrower one may equal the random bytes below it by chance."""


@dataclass(frozen=True)
class InputBuffer:
    """Device memory that a call reads.

    Attributes:
        shift: bytes off the alignment of device memory, a multiple of an element.
    """

    name: str
    values: Values
    shift: int = 0

    @property
    def inside(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype."""
        return self.values.shape, self.values.dtype

    def laid_out(self, draw: Draw, guard: int) -> tuple[Values, int]:
        """Return the flat buffer with guards, and the index of its first element."""
        dtype = self.values.dtype
        lead, size = guard + self.shift // dtype.itemsize, self.values.size
        spoiler = np.nan if dtype.kind == "f" else dtype.kind == "b" or np.iinfo(dtype).max
        buffer = np.full(lead + size + guard, spoiler, dtype)
        buffer[lead : lead + size] = self.values.ravel()
        return buffer, lead


@dataclass(frozen=True)
class OutputBuffer:
    """Device memory that a call writes, in elements of four bytes or more. See `InputBuffer`."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    shift: int = 0

    def __post_init__(self) -> None:
        if np.dtype(self.dtype).itemsize < NARROWEST:
            raise ValueError(f"{self.name}: an output of {self.dtype} cannot be distinguished from the fill bytes")

    @property
    def inside(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype."""
        return self.shape, np.dtype(self.dtype)

    def laid_out(self, draw: Draw, guard: int) -> tuple[Values, int]:
        """See `InputBuffer.laid_out`."""
        dtype = np.dtype(self.dtype)
        lead = guard + self.shift // dtype.itemsize
        size = lead + int(np.prod(self.shape)) + guard
        word = np.dtype(f"u{dtype.itemsize}").type
        return draw.rng.integers(0, np.iinfo(word).max, size, word, endpoint=True).view(dtype), lead


Argument = int | float | str | InputBuffer | OutputBuffer


@dataclass(frozen=True)
class Region:
    """One buffer with guards before and after a call, as unsigned words."""

    buffer: InputBuffer | OutputBuffer
    lead: int
    before: Values
    after: Values

    @property
    def changed(self) -> Values:
        """Mask of changed words."""
        mask: Values = self.before != self.after
        return mask

    @property
    def inside(self) -> slice:
        """Slice between the guards."""
        shape, _ = self.buffer.inside
        return slice(self.lead, self.lead + int(np.prod(shape)))

    @property
    def values(self) -> Values:
        """Contents after the call."""
        shape, dtype = self.buffer.inside
        return self.after[self.inside].view(dtype).reshape(shape)


@dataclass(frozen=True)
class DeviceCall:
    """One call of a submission."""

    code: int
    mode: str
    report: Report
    regions: Mapping[str, Region]

    def __getitem__(self, name: str) -> Values:
        return self.regions[name].values

    def kept(self, name: str) -> bool:
        """Return whether a buffer and its guards are unchanged."""
        return not self.regions[name].changed.any()

    @property
    def untouched(self) -> bool:
        """True if all outputs and guards are unchanged."""
        return all(self.kept(region.buffer.name) for region in self._outputs)

    def require_complete(self, where: str, rows: NDArray[np.bool_] | None = None) -> None:
        """Require success, all outputs written, and unchanged guards.

        Args:
            rows: mask of the rows that must be written; all by default.
        """
        defects = self.report.found()
        if self.code or (defects and self.mode == "plain"):
            raise self.failure(where)
        for region in self._outputs:
            _require_inside(region, where)
        for region in self._outputs:
            _require_writes(region, where, rows)

    @property
    def _outputs(self) -> list[Region]:
        return [region for region in self.regions.values() if isinstance(region.buffer, OutputBuffer)]

    @property
    def defects(self) -> list[DeviceDefect]:
        """Reported defects, except refused launches."""
        return [defect for defect in self.report.found() if defect.kind != REFUSED]

    @property
    def refused(self) -> bool:
        """True if an error is returned or a launch refused, without other defects."""
        return not self.defects and bool(self.code or self.report.found())

    def failure(self, where: str) -> KernelFailed:
        """Return the failure of the call."""
        detail = f"{where}: it returns {self.code}{_format_messages(self.report)}"
        if not self.defects:
            return CallRefused("a legal call is refused", detail)
        return KernelFailed(f"the kernel ends with {self.defects[0].kind.replace('_', ' ')}", detail)


def launch(
    answer: Answer, draw: Draw, symbol: str, arguments: Sequence[Argument], *, mode: str = "plain", seed: int = 0,
    guard: int = GUARD, fill: str = "mixed", moved: Collection[str] = (),
) -> DeviceCall:  # fmt: skip
    """Call a C function of a submission on its device.

    Buffers keep the addresses of the previous call if their sizes are the same, as with most allocators.

    Args:
        arguments: ints, floats (C floats), `STREAM` and buffers, in the order of the contract.
        mode: plain, check, count, all or sample. Mode check with `guard=0` finds accesses one element too far. Mode
            sample runs only blocks at the ends of a large grid and around 2^16; outputs of others stay unwritten.
        seed: seed of the schedule of threads.
        fill: contents of unwritten memory: `mixed` (NaN, large numbers, zeros and minus infinity in a drawn order),
            `nan`, `zeros` or `left` (earlier contents). A GPU may hand out other memory, and its shared memory keeps
            earlier contents.
        moved: names of buffers to place at other addresses.

    Raises:
        ProbeFailure: the call fails, or the device's report cannot be true.
        NotMeasurable: the device lacks the mode or something that the submission needs.
    """
    passed: list[Any] = []
    laid: list[tuple[InputBuffer | OutputBuffer, Values, int]] = []
    for argument in arguments:
        if isinstance(argument, (InputBuffer, OutputBuffer)):
            buffer, lead = argument.laid_out(draw, guard)
            laid.append((argument, buffer, lead))
            given = {"buffer": buffer, "shift": lead * buffer.itemsize, "name": argument.name, "back": True}
            passed.append({**given, "moved": True} if argument.name in moved else given)
        else:
            passed.append(argument)
    back = (Array(buffer.shape, buffer.dtype.name) for _, buffer, _ in laid)
    plan = (Scalar(int), *back, Array((REPORT_BYTES,), "uint8"))
    options: dict[str, Any] = {"mode": mode, "seed": seed, "fill": fill, "turn": draw.turn()}
    code, *after, report = answer.call("launch", symbol, passed, returns=plan, **options)
    regions = {
        argument.name: Region(argument, lead, _view_words(buffer), _view_words(now))
        for (argument, buffer, lead), now in zip(laid, after, strict=True)
    }
    changed = {name: int(region.changed.sum()) * region.before.itemsize for name, region in regions.items()}
    return DeviceCall(code, mode, read_report(report, mode, seed, changed), regions)


def read_report(report: NDArray[np.uint8], mode: str, seed: int, changed: Mapping[str, int]) -> Report:
    """Parse a device's report, and compare it with the changed bytes by buffer; raise as `launch` does."""
    parsed = parse(report.tobytes())
    if parsed is None:
        raise ProbeFailure("the device's report is spoilt", "what the device says of the call is no report")
    if parsed.unsupported:
        first = parsed.unsupported[0]
        place = f" ({first.file}:{first.line})" if first.file else ""
        raise NotMeasurable(f"unsupported on the emulated device: {first.what}{place}")
    wanted = MODES[mode]
    if parsed.mode & wanted != wanted:
        raise NotMeasurable(f"this device does not {mode}")
    # a GPU counts nothing, so a plain run has nothing to contradict
    if wanted and (wrong := contradiction(parsed, mode=wanted, seed=seed, changed=changed)):
        raise ProbeFailure("the device's report cannot be true", wrong)
    return parsed


def _require_inside(region: Region, where: str) -> None:
    touched = region.changed.copy()
    touched[region.inside] = False
    if touched.any():
        name = region.buffer.name
        place = int(np.flatnonzero(touched)[0]) - region.lead
        most = "at least " if touched[0] or touched[-1] else ""  # writes beyond the guards stay unseen
        count = f"{most}{int(touched.sum())} numbers beside {name}"
        detail = f"{where}: {count} are changed, the first at {name}[{place}]"
        raise WrittenOutside(f"writes outside {name}", detail, where=f"{name}[{place}]")


def _require_writes(region: Region, where: str, rows: NDArray[np.bool_] | None) -> None:
    shape, _ = region.buffer.inside
    stale = ~region.changed[region.inside].reshape(shape)
    if rows is not None:
        stale[~rows] = False
    if not stale.any():
        return
    name, first = region.buffer.name, [int(i) for i in np.argwhere(stale)[0]]
    place = f"{name}[{', '.join(map(str, first))}]"
    missing: Values = np.all(stale.reshape(shape[0], -1), axis=1)
    if len(shape) < 2 or not missing.any():
        detail = f"{where}: {int(stale.sum())} of {stale.size} entries of {name}, the first at {first}"
        raise WrongOutputs("entries are never written", detail, where=place)
    rule = None if missing.all() else pattern_of(missing)
    diagnosis = None
    if rule and len(missing) >= FEWEST_ROWS:
        seen = "" if rule.period else f"of {len(missing)} rows, "  # without a period the rule holds for these rows only
        diagnosis = f"{seen}rows r with {rule.condition('r')} are never written"
    loss = rule.loss("rows") if rule else None
    row = int(np.flatnonzero(missing)[0])
    detail = f"{where}: {int(missing.sum())} of {len(missing)} rows of {name}, the first is row {row}"
    raise WrongOutputs("rows are never written", detail, where=place, diagnosis=diagnosis, loss=loss)


def _format_messages(report: Report) -> str:
    said = [defect.text for defect in report.found()] + [f"{e.call}: {e.error}" for e in report.api_errors]
    return "".join(f"; {text}" for text in said[:3])


def _view_words(values: Values) -> Values:
    return values.view(f"u{values.dtype.itemsize}")
