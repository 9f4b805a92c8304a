"""Estimates for counted launches on GPUs with known data sheets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.cuda.check.messages import KernelFacts
from harness.cuda.emulator.device_trace import KernelLaunch
from harness.cuda.programs.occupancy import MULTIPROCESSORS, Occupancy, occupancy

_SECTOR = 32


@dataclass(frozen=True)
class KnownDevice:
    """A GPU after NVIDIA's data sheet.

    Attributes:
        architecture: compute capability as nvcc spells it.
        bandwidth: memory bandwidth in GB/s (1e9 bytes).
        tflops: peak of the plain cores in 1e12/s by type, a multiply-add counted as two; types without own arithmetic
            compute as float; `tensor` is half times half, summed in float.
    """

    name: str
    architecture: str
    multiprocessors: int
    bandwidth: float
    tflops: Mapping[str, float]


def _make_tflops(
    single: float, double: float, tensor: float, half: float, bfloat16: float | None = None
) -> Mapping[str, float]:
    return {"float": single, "double": double, "tensor": tensor, "half": half, "bfloat16": bfloat16 or single}


DEVICES: Mapping[str, KnownDevice] = {
    "v100": KnownDevice("V100 SXM2", "sm_70", 80, 900, _make_tflops(15.7, 7.8, 125, 31.4)),
    "t4": KnownDevice("T4", "sm_75", 40, 320, _make_tflops(8.1, 8.1 / 32, 65, 16.2)),
    "a100": KnownDevice("A100 SXM4 40 GB", "sm_80", 108, 1555, _make_tflops(19.5, 9.7, 312, 78, 39)),
    "rtx3090": KnownDevice("GeForce RTX 3090", "sm_86", 82, 936, _make_tflops(35.6, 35.6 / 64, 71, 35.6, 35.6)),
    "rtx4090": KnownDevice("GeForce RTX 4090", "sm_89", 128, 1008, _make_tflops(82.6, 82.6 / 64, 165, 82.6, 82.6)),
    "h100": KnownDevice("H100 SXM5", "sm_90", 132, 3350, _make_tflops(66.9, 33.5, 989, 133.8, 133.8)),
}


@dataclass(frozen=True)
class LaunchEstimate:
    """Estimates for a launch on a device.

    Attributes:
        registers: per thread; None if unknown.
        occupancy: None if not one block fits.
        waves: fillings of the device until all blocks have run.
        necessary_bytes: global memory read or written, each byte once.
        moved_bytes: sectors of all requests.
        least_us: microseconds of memory for `necessary_bytes`; cached data takes less.
        uncached_us: the same for `moved_bytes`.
        flops: operations in the source by type; None if uncounted.
        arithmetic_us: microseconds of the slowest type, were all of it multiply-adds.
    """

    registers: int | None
    occupancy: Occupancy | None
    waves: float | None
    necessary_bytes: int
    moved_bytes: int
    least_us: float
    uncached_us: float
    flops: Mapping[str, int] | None = None
    arithmetic_us: float | None = None

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per necessary byte; None without either."""
        return sum(self.flops.values()) / self.necessary_bytes if self.flops and self.necessary_bytes else None


def estimate(launch: KernelLaunch, device: KnownDevice, registers: int | None) -> LaunchEstimate:
    """Bound a launch by a device's memory and arithmetic, and compute its occupancy."""
    x, y, z = launch.block
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    fits = occupancy(
        MULTIPROCESSORS[device.architecture], x * y * z, launch.static_shared + launch.dynamic_shared, registers
    )
    necessary = sum(moved.unique_read_bytes + moved.unique_written_bytes for moved in launch.buffers.values())
    sectors = launch.global_load.sectors + launch.global_store.sectors + launch.global_atomic.sectors
    each = device.bandwidth * 1e3  # bytes per microsecond
    waves = blocks / (fits.blocks * device.multiprocessors) if fits.blocks else None
    flops: dict[str, int] | None = None
    if launch.arithmetic is not None:
        flops = {kind: done.flops for kind, done in launch.arithmetic.items() if done.flops}
    times = [count / (device.tflops[kind] * 1e6) for kind, count in (flops or {}).items()]
    return LaunchEstimate(
        registers,
        fits if fits.blocks else None,
        waves,
        necessary,
        sectors * _SECTOR,
        necessary / each,
        sectors * _SECTOR / each,
        flops,
        max(times, default=0.0) if flops is not None else None,
    )


def registers_of(kernel: str, known: Iterable[KernelFacts]) -> int | None:
    """Return a kernel's registers per thread, the most of its instantiations; None if unknown."""
    return max((facts.registers for facts in known if _strip_name(facts.name) == kernel), default=None)


def _strip_name(name: str) -> str:
    return name.partition("(")[0].partition("<")[0].split()[-1].rpartition("::")[2] if name.strip() else ""
