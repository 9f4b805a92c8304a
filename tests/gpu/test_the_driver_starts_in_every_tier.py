"""A GPU's driver finds in every tier what it opens, or the reason names the file that was closed to it.

A library stands for the driver's own: it opens the same files, also where there is no GPU.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.gpu import device as gpu
from harness.cuda.gpu.device import GpuDevice, out_of_reach
from harness.errors import PrerequisiteError
from harness.languages.cuda import CUDA
from harness.model import Tier, TierChoice
from harness.sandbox.confinement import landlock
from harness.store.content_key import environment
from tests.tiers_here import TIERS

STAND_IN = Path(__file__).parent / "stand_in"
COMPILER = host_compiler()
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler to build the stand-in with")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may read and no sandbox covers with scratch space of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def device(folder: Path, monkeypatch: pytest.MonkeyPatch) -> GpuDevice:
    assert COMPILER is not None
    library = folder / "libcuda.so.1"
    words = (*COMPILER.command, "-x", "c", "-shared", "-fPIC", "-pthread", str(STAND_IN / "libcuda.c"))
    subprocess.run((*words, "-o", str(library)), check=True, capture_output=True)
    lay = gpu._lay_driver

    def lay_with_binding(device: GpuDevice, into: Path) -> None:
        lay(device, into)
        shutil.copytree(STAND_IN / "cupy", into / "cupy")

    monkeypatch.setattr(gpu, "_lay_driver", lay_with_binding)
    return GpuDevice("stand-in", "580.0", (9, 0), 1 << 30, library)


@pytest.mark.parametrize("tier", TIERS)
def test_it_starts(device: GpuDevice, tier: Tier) -> None:
    assert out_of_reach(device, tier) == ""


def test_a_closed_file_is_named_and_memory_is_not_blamed(device: GpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "READ_BY_DRIVERS", ())
    why = out_of_reach(device, Tier.C)
    assert why.startswith("it opens /proc/")
    assert "which tier C closes; outside of the sandbox it works" in why
    assert "out of memory" not in why


def test_a_driver_that_fails_everywhere_is_no_fault_of_the_sandbox(device: GpuDevice) -> None:
    device.library.write_bytes(b"no library")
    assert out_of_reach(device, Tier.C).startswith("it cannot be set up outside of the sandbox either: ")


def test_a_gpu_that_is_passed_over_is_said_with_the_reason(device: GpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the record, so that a grade on the emulated device does not look like the best that the machine offers."""
    monkeypatch.setattr(landlock, "READ_BY_DRIVERS", ())
    monkeypatch.setattr(gpu, "gpu_device", lambda: device)
    monkeypatch.setattr("harness.cuda.compilers.nvcc.nvcc", lambda: object())
    monkeypatch.setattr("harness.languages.cuda.detect", lambda: Tier.C)
    chosen = CUDA.device("auto")
    where = environment(TierChoice(tier=Tier.C), chosen)
    assert (where.device, where.passed_over.partition(", which")[0]) == ("emulated", "stand-in: it opens /proc/cpuinfo")
    assert where.warnings == (f"a GPU was not used, {where.passed_over}",)
    with pytest.raises(PrerequisiteError, match="stand-in cannot be used: it opens /proc/"):
        CUDA.device("gpu")
