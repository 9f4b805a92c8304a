"""Occupancy follows the limits of each architecture, and the estimates for a launch follow from what was counted.

Expected figures are worked out by hand from the tables of the CUDA C++ Programming Guide; the module's formula was
compared with cuda_occupancy.h of CUDA 13.0 for every architecture listed when it was written.
"""

from pathlib import Path

import pytest
from gate_rooms import A_TIER, needs_nvcc

from harness.cuda.check.messages import KernelFacts
from harness.cuda.emulator.device_trace import BufferTraffic, KernelLaunch, Requests
from harness.cuda.programs.devices import DEVICES, estimate, registers_of
from harness.cuda.programs.kernel_registers import kernel_registers
from harness.cuda.programs.occupancy import MULTIPROCESSORS, occupancy
from harness.cuda.programs.program import ProgramSource
from harness.model import Tier


@pytest.mark.parametrize(
    ("architecture", "threads", "shared", "registers", "blocks", "limits"),
    [
        ("sm_80", 256, 0, 32, 8, {"warps", "registers"}),  # 64 warps of 64; 65536 / (32 * 32) = 64, too
        ("sm_80", 256, 0, None, 8, {"warps"}),
        ("sm_80", 256, 0, 33, 6, {"registers"}),  # 1056 -> 1280 a warp, 12 a part, 48 in all
        ("sm_80", 256, 0, 255, 1, {"registers"}),  # 8192 a warp, 2 a part
        ("sm_80", 32, 0, 16, 32, {"blocks"}),
        ("sm_80", 128, 48 << 10, 32, 3, {"shared memory"}),  # 164 / (48 + 1)
        ("sm_80", 1, 1, 32, 32, {"blocks"}),
        ("sm_86", 1024, 0, 32, 1, {"warps"}),  # 32 of 48
        ("sm_70", 128, 48 << 10, 32, 2, {"shared memory"}),  # nothing is taken beside: 96 / 48
        ("sm_90", 128, 227 << 10, 32, 1, {"shared memory"}),
        ("sm_75", 64, 0, 64, 16, {"warps", "blocks", "registers"}),
    ],
)
def test_blocks_and_what_limits_them(
    architecture: str, threads: int, shared: int, registers: int | None, blocks: int, limits: set[str]
) -> None:
    found = occupancy(MULTIPROCESSORS[architecture], threads, shared, registers)
    assert (found.blocks, set(found.limits)) == (blocks, limits)
    assert found.warps == blocks * -(-threads // 32)


def test_a_launch_is_bound_by_what_it_must_move() -> None:
    launch = KernelLaunch(
        kernel="copy", grid=(216, 1, 1), block=(1024, 1, 1),
        global_load=Requests(bytes=4_000_000, requests=31_250, sectors=125_000, ideal_sectors=125_000),
        global_store=Requests(bytes=4_000_000, requests=31_250, sectors=250_000, ideal_sectors=125_000),
        buffers={"x": BufferTraffic(read_bytes=4_000_000, unique_read_bytes=2_000_000),
                 "y": BufferTraffic(written_bytes=4_000_000, unique_written_bytes=4_000_000)},
    )  # fmt: skip
    found = estimate(launch, DEVICES["a100"], None)
    assert (found.necessary_bytes, found.moved_bytes) == (6_000_000, 12_000_000)
    assert found.least_us == pytest.approx(6_000_000 / 1555e9 * 1e6)
    assert found.uncached_us == pytest.approx(12_000_000 / 1555e9 * 1e6)
    assert found.waves == 1.0  # two blocks of 1024 threads on each of 108 multiprocessors


def test_registers_are_those_of_the_instantiation_with_the_most() -> None:
    def facts(name: str, registers: int) -> KernelFacts:
        return KernelFacts(name, registers, 0, 0, 0, 0, 0)

    known = [facts("rows::softmax<float, 4>", 40), facts("rows::softmax<float, 8>", 64), facts("softmax_last", 90)]
    assert registers_of("softmax", known) == 64
    assert registers_of("other", known) is None


@needs_nvcc
@A_TIER
def test_nvcc_tells_registers_of_a_program(tmp_path: Path, tier: Tier) -> None:
    (tmp_path / "main.cu").write_text(
        "template <class T> __global__ void __launch_bounds__(BLOCK) copy(T* y, const T* x) { y[threadIdx.x] = *x; }\n"
        "int main() { copy<float><<<1, 32>>>(nullptr, nullptr); }\n"
    )
    source = ProgramSource.of([tmp_path / "main.cu"])
    known, why = kernel_registers(source, "sm_80", tier=tier, defines={"BLOCK": "64"})
    assert why == ""
    registers = registers_of("copy", known)
    assert registers is not None and 4 <= registers <= 32  # two pointers and an index; no more than a handful is needed
