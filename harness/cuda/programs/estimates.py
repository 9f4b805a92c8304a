"""Estimates of `harness cuda count` for another device, labelled so in each line."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.cuda.check.messages import KernelFacts
from harness.cuda.emulator.device_trace import KernelLaunch
from harness.cuda.programs.devices import KnownDevice, LaunchEstimate, estimate, registers_of
from harness.cuda.programs.program import ProgramRun

_LAUNCH_US = 1.0
"""Time that the overhead of a launch exceeds."""


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
        yield f"estimate for {self.device.name}: {'; '.join(self._list_bounds(found))}"

    def _list_bounds(self, found: LaunchEstimate) -> Iterator[str]:
        """Yield both sides of the roofline, in times if one of them exceeds a launch's overhead."""
        arithmetic_us = found.arithmetic_us or 0.0
        timed = max(found.least_us, arithmetic_us) >= _LAUNCH_US
        memory, arithmetic = (f"{_format_time(us)} " if timed else "" for us in (found.least_us, arithmetic_us))
        bounds = [f"memory {memory}({found.necessary_bytes:,} bytes at {self.device.bandwidth:,.0f} GB/s)"]
        if flops := found.flops:
            slowest = max(flops, key=lambda kind: flops[kind] / self.device.tflops[kind])
            bounds.append(
                f"arithmetic {arithmetic}({flops[slowest]:,} operations in {slowest} at"
                f" {self.device.tflops[slowest]:.3g} TFLOP/s, if all were fused multiply-adds)"
            )
        if timed:
            yield f"lower bounds with cold caches, without launch overhead: {', '.join(bounds)}"
            yield f"memory without any cache {_format_time(found.uncached_us)} ({found.moved_bytes:,} bytes)"
        else:
            yield f"launch overhead outweighs the lower bounds, which are below 1 us: {', '.join(bounds)}"
        if found.intensity is not None:
            bound = "arithmetic" if arithmetic_us > found.least_us else "memory"
            yield f"{found.intensity:.3g} operations per byte{f': {bound}-bound' if timed else ''}"

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
