"""How many blocks of a kernel fit on one multiprocessor at once, and what holds back more.

The limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; how registers
and shared memory are handed out is as in NVIDIA's occupancy calculator (cuda_occupancy.h of the toolkit): registers
to a warp in multiples of 256, warps to the four parts of a multiprocessor, shared memory in multiples of 128 bytes
(256 before 8.0) with 1 KiB more for each block from 8.0 on.
"""

from dataclasses import dataclass
from typing import Literal

Limit = Literal["warps", "blocks", "registers", "shared memory"]
_PARTS = 4
_REGISTERS_TOGETHER = 256
_WARP = 32


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor of one compute capability holds.

    Attributes:
        warps: at once.
        blocks: at once.
        registers: of 32 bits, in all.
        shared: bytes of shared memory in all.
        reserved: bytes of shared memory that each block takes beside its own.
        granularity: bytes that shared memory is handed out in multiples of.
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
    """How full a multiprocessor gets.

    Attributes:
        blocks: that fit at once.
        warps: of these blocks.
        most: warps that the multiprocessor can hold.
        limits: what holds back one more block, all of it that does.
    """

    blocks: int
    warps: int
    most: int
    limits: tuple[Limit, ...]

    @property
    def share(self) -> float:
        """Of the warps that there is room for."""
        return self.warps / self.most


def occupancy(of: Multiprocessor, threads: int, shared: int, registers: int | None) -> Occupancy:
    """The occupancy of a kernel.

    Args:
        of: the multiprocessor.
        threads: of a block, 1 to 1024.
        shared: bytes of shared memory of a block, static and dynamic.
        registers: of a thread; None where they are not known, which leaves them out.
    """
    warps = _rounded_up(threads, _WARP) // _WARP
    fitting: dict[Limit, int] = {"warps": of.warps // warps, "blocks": of.blocks}
    taken = _rounded_up(shared + of.reserved, of.granularity)
    if taken:
        fitting["shared memory"] = of.shared // taken
    if registers:
        each = _rounded_up(registers * _WARP, _REGISTERS_TOGETHER)
        fitting["registers"] = of.registers // _PARTS // each * _PARTS // warps
    blocks = min(fitting.values())
    limits = tuple(limit for limit, fit in fitting.items() if fit == blocks)
    return Occupancy(blocks, blocks * warps, of.warps, limits)


def _rounded_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
