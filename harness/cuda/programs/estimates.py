"""Estimates of `harness cuda count` for another device, labelled so in each line."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.cuda.check.messages import KernelFacts
from harness.cuda.emulator.device_trace import KernelLaunch
from harness.cuda.programs.devices import KnownDevice, LaunchEstimate, estimate, registers_of
from harness.cuda.programs.program import ProgramRun


@dataclass(frozen=True)
class Estimates:
    """Estimates of launches on one device.

    Attributes:
        known: the CUDA compiler's facts on the kernels.
        unknown: why some registers are unknown.
    """

    device: KnownDevice
    known: Sequence[KernelFacts] = ()
    unknown: str = ""

    def of(self, launch: KernelLaunch) -> LaunchEstimate:
        """Return the estimate of a launch."""
        return estimate(launch, self.device, registers_of(launch.kernel, self.known))

    def lines(self, launch: KernelLaunch) -> Iterator[str]:
        """Yield the printed lines on a launch."""
        found = self.of(launch)
        used = f"{found.registers} registers" if found.registers else f"registers not known: {self.unknown}"
        full = found.occupancy
        if full is None or found.waves is None:
            yield f"estimate for {self.device.name}: not one block fits a multiprocessor ({used})"
        else:
            yield (
                f"estimate for {self.device.name}: {full.blocks} blocks, {full.warps} of {full.most} warps on a"
                f" multiprocessor ({100 * full.share:.0f} %), limited by {' and '.join(full.limits)}; {used}"
            )
            at_once = full.blocks * self.device.multiprocessors
            yield (
                f"estimate for {self.device.name}: its {self.device.multiprocessors} multiprocessors hold {at_once:,}"
                f" blocks at once; the grid has {math.prod(launch.grid):,}"
            )
        yield (
            f"estimate for {self.device.name}: {_format_time(found.least_us)} at {self.device.bandwidth:,.0f} GB/s for"
            f" {found.necessary_bytes:,} bytes moved once, {_format_time(found.uncached_us)} for {found.moved_bytes:,}"
            " without any cache"
        )
        if found.flops and found.arithmetic_us is not None:
            yield f"estimate for {self.device.name}: {self._format_roofline(found.flops, found.arithmetic_us, found)}"

    def _format_roofline(self, flops: Mapping[str, int], arithmetic_us: float, found: LaunchEstimate) -> str:
        slowest = max(flops, key=lambda kind: flops[kind] / self.device.tflops[kind])
        said = (
            f"{_format_time(arithmetic_us)} at {self.device.tflops[slowest]:.3g} TFLOP/s for {flops[slowest]:,}"
            f" operations in {slowest}, were all of them multiply-adds"
        )
        if found.intensity is None:
            return said
        longer = "arithmetic" if arithmetic_us > found.least_us else "memory"
        return f"{said}; {found.intensity:.3g} a byte moved once, of the two {longer} takes longer"

    def as_data(self, run: ProgramRun) -> dict[str, Any]:
        """Return the estimates as plain data, for `--json`."""
        launches = run.report.launches if run.report else []
        return {
            "device": asdict(self.device),
            "registers_not_known": self.unknown or None,
            "launches": [{"kernel": launch.kernel, **asdict(self.of(launch))} for launch in launches],
        }


def _format_time(microseconds: float) -> str:
    if microseconds < 1:
        return f"{microseconds * 1e3:.3g} ns"
    return f"{microseconds / 1e3:,.2f} ms" if microseconds >= 1e3 else f"{microseconds:,.2f} us"
