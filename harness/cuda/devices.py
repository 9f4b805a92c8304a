"""GPUs whose figures are known, and what follows from them for a launch that was counted: estimates, never times."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.cuda.gate_messages import KernelFacts
from harness.cuda.occupancy import MULTIPROCESSORS, Occupancy, occupancy
from harness.cuda.report import KernelLaunch

_SECTOR = 32


@dataclass(frozen=True)
class KnownDevice:
    """A GPU, by NVIDIA's data sheet of it.

    Attributes:
        name: what it is sold as.
        architecture: its compute capability, as nvcc is told.
        multiprocessors: how many it has.
        bandwidth: of its memory, in GB/s (1e9 bytes).
        tflops: floating-point operations of its plain cores in 1e12 a second by type, multiply-adds counted as two; a
            type that it has no arithmetic for is computed as float; `tensor` is half by half summed in float.
    """

    name: str
    architecture: str
    multiprocessors: int
    bandwidth: float
    tflops: Mapping[str, float]


def _tflops(
    single: float, double: float, tensor: float, half: float, bfloat16: float | None = None
) -> Mapping[str, float]:
    return {"float": single, "double": double, "tensor": tensor, "half": half, "bfloat16": bfloat16 or single}


DEVICES: Mapping[str, KnownDevice] = {
    "v100": KnownDevice("V100 SXM2", "sm_70", 80, 900, _tflops(15.7, 7.8, 125, 31.4)),
    "t4": KnownDevice("T4", "sm_75", 40, 320, _tflops(8.1, 8.1 / 32, 65, 16.2)),
    "a100": KnownDevice("A100 SXM4 40 GB", "sm_80", 108, 1555, _tflops(19.5, 9.7, 312, 78, 39)),
    "rtx3090": KnownDevice("GeForce RTX 3090", "sm_86", 82, 936, _tflops(35.6, 35.6 / 64, 71, 35.6, 35.6)),
    "rtx4090": KnownDevice("GeForce RTX 4090", "sm_89", 128, 1008, _tflops(82.6, 82.6 / 64, 165, 82.6, 82.6)),
    "h100": KnownDevice("H100 SXM5", "sm_90", 132, 3350, _tflops(66.9, 33.5, 989, 133.8, 133.8)),
}


@dataclass(frozen=True)
class LaunchEstimate:
    """What a launch would find on a device.

    Attributes:
        registers: of a thread, as a CUDA compiler hands them out; None where none was asked or it does not say.
        occupancy: None where not one block fits.
        waves: how often the device fills with blocks until all have run.
        necessary_bytes: global memory that was read or written, each byte once.
        moved_bytes: all sectors of all requests.
        least_us: microseconds that the memory takes for `necessary_bytes`; what was in a cache before takes less.
        uncached_us: for `moved_bytes`, as if no cache helped.
        flops: floating-point operations by type, as the source says them; None where they were not counted.
        arithmetic_us: microseconds that the cores take for the type that takes longest, were all of it multiply-adds.
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
        """Floating-point operations for each byte that has to be moved; None without either."""
        return sum(self.flops.values()) / self.necessary_bytes if self.flops and self.necessary_bytes else None


def estimate(launch: KernelLaunch, device: KnownDevice, registers: int | None) -> LaunchEstimate:
    """The bounds that a device's memory and arithmetic set to a launch, and how the launch fills the device."""
    x, y, z = launch.block
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    fits = occupancy(
        MULTIPROCESSORS[device.architecture], x * y * z, launch.static_shared + launch.dynamic_shared, registers
    )
    necessary = sum(moved.unique_read_bytes + moved.unique_written_bytes for moved in launch.buffers.values())
    sectors = launch.global_load.sectors + launch.global_store.sectors + launch.global_atomic.sectors
    each = device.bandwidth * 1e3  # bytes in a microsecond
    waves = blocks / (fits.blocks * device.multiprocessors) if fits.blocks else None
    flops: dict[str, int] | None = None
    if launch.arithmetic is not None:
        flops = {kind: done.flops for kind, done in launch.arithmetic.items() if done.flops}
    times = [count / (device.tflops[kind] * 1e6) for kind, count in (flops or {}).items()]
    return LaunchEstimate(
        registers, fits if fits.blocks else None, waves,
        necessary, sectors * _SECTOR, necessary / each, sectors * _SECTOR / each,
        flops, max(times, default=0.0) if flops is not None else None,
    )  # fmt: skip


def registers_of(kernel: str, known: Iterable[KernelFacts]) -> int | None:
    """Registers of a thread of a kernel: the most of all instantiations of that name; None where it is not known."""
    return max((facts.registers for facts in known if _plain(facts.name) == kernel), default=None)


def _plain(name: str) -> str:
    """A kernel's name without its scopes, template arguments and parameters."""
    return name.partition("(")[0].partition("<")[0].split()[-1].rpartition("::")[2] if name.strip() else ""
