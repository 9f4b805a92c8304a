"""Occupancy: the blocks of a kernel that fit on one multiprocessor at once.

Limits are from the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from dataclasses import dataclass
from typing import Literal

Limit = Literal["warps", "blocks", "registers", "shared memory"]
_PARTS = 4
_REGISTERS_TOGETHER = 256
_WARP = 32


@dataclass(frozen=True)
class Multiprocessor:
    """Capacity of a multiprocessor of one compute capability.

    Attributes:
        warps, blocks: most resident ones.
        shared: bytes of shared memory.
        reserved: bytes of shared memory reserved per block.
        granularity: unit of shared memory in bytes.
    """

    warps: int
    blocks: int
    registers: int
    shared: int
    reserved: int = 1024
    granularity: int = 128


MULTIPROCESSORS = {
    "sm_70": Multiprocessor(64, 32, 65536, 96 << 10, 0, 256),
    "sm_75": Multiprocessor(32, 16, 65536, 64 << 10, 0, 256),
    "sm_80": Multiprocessor(64, 32, 65536, 164 << 10),
    "sm_86": Multiprocessor(48, 16, 65536, 100 << 10),
    "sm_89": Multiprocessor(48, 24, 65536, 100 << 10),
    "sm_90": Multiprocessor(64, 32, 65536, 228 << 10),
}


@dataclass(frozen=True)
class Occupancy:
    """Occupancy of a multiprocessor.

    Attributes:
        blocks, warps: resident ones.
        most: capacity in warps.
        limits: all resources that exclude one more block.
    """

    blocks: int
    warps: int
    most: int
    limits: tuple[Limit, ...]

    @property
    def share(self) -> float:
        """Resident warps over capacity."""
        return self.warps / self.most


def occupancy(of: Multiprocessor, threads: int, shared: int, registers: int | None) -> Occupancy:
    """Compute the occupancy of a kernel.

    Args:
        threads: per block, 1 to 1024.
        shared: bytes per block, static and dynamic.
        registers: per thread; None for no limit.
    """
    # as in NVIDIA's occupancy calculator (cuda_occupancy.h of the toolkit): registers go to a warp in multiples of 256,
    # warps to the four parts of a multiprocessor, shared memory in multiples of 128 bytes (256 before 8.0), with 1 KiB
    # more per block from 8.0 on
    warps = _round_up(threads, _WARP) // _WARP
    fitting: dict[Limit, int] = {"warps": of.warps // warps, "blocks": of.blocks}
    taken = _round_up(shared + of.reserved, of.granularity)
    if taken:
        fitting["shared memory"] = of.shared // taken
    if registers:
        each = _round_up(registers * _WARP, _REGISTERS_TOGETHER)
        fitting["registers"] = of.registers // _PARTS // each * _PARTS // warps
    blocks = min(fitting.values())
    limits = tuple(limit for limit, fit in fitting.items() if fit == blocks)
    return Occupancy(blocks, blocks * warps, of.warps, limits)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
