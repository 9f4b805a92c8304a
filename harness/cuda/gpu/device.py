"""The GPU: detection, builds, calls in the sandbox, and comparative timing."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from harness import interpreter
from harness.cuda.check.messages import errors
from harness.cuda.check.nvcc import Room, compile_library
from harness.cuda.check.sources import refusals
from harness.cuda.compilers.compile_time import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.compilers.nvcc import nvcc
from harness.cuda.gpu.figures import (
    Floats,
    Interval,
    clocks_agree,
    compute_round_ratio,
    median_interval,
    plan_repeats,
    turns,
)
from harness.errors import BusyMachineError, PrerequisiteError
from harness.model import Limits
from harness.sandbox import Array, CallStatus, Plan, Scalar, Tier, WorkerSession, WorkerSpec
from harness.sandbox.confinement import scratch
from harness.timing.exclusive import gpu_alone, gpu_beside_others

DRIVER = Path(__file__).parents[1] / "inside" / "gpu_driver.py"
ENTRY = DRIVER.name
"""Module that the sandbox imports in place of a Python submission."""
ROUNDS = 50
WARM_UP = 5
_BANDWIDTH_ROUNDS = 20
_LIMITS = Limits(start_seconds=60, call_seconds=120, scratch_mib=256)

# runs in a child process, which keeps the driver's library out of this one
_PROBE = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
count, device, version, major, minor = (ctypes.c_int() for _ in range(5))
memory, name = ctypes.c_size_t(), ctypes.create_string_buffer(128)
if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
    raise SystemExit(1)
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDeviceGetName(name, 128, device)
cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
with open("/proc/self/maps") as maps:
    place = next((line.split()[-1] for line in maps if "libcuda.so" in line), "")
print(json.dumps({"name": name.value.decode(), "major": major.value, "minor": minor.value,
                  "memory": memory.value, "library": place}))
"""


@dataclass(frozen=True)
class GpuDevice:
    """The first GPU of this machine.

    Attributes:
        driver: version of the kernel driver, or empty.
        capability: compute capability, e.g. (9, 0).
        library: path of libcuda.
    """

    name: str
    driver: str
    capability: tuple[int, int]
    memory_bytes: int
    library: Path

    @property
    def architecture(self) -> str:
        """nvcc's name for it, e.g. `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def shown(self) -> tuple[Path, ...]:
        """Paths that the sandbox must expose."""
        files = [p for p in sorted(Path("/dev").glob("nvidia*")) if not p.is_dir()]
        folder = self.library.parent
        apart = [folder] if folder.is_absolute() and not folder.is_relative_to("/usr") else []
        return (*files, Path("/sys"), *apart)


@cache
def gpu_device() -> GpuDevice | None:
    """Return the first GPU that the driver reports, or None."""
    if not Path("/dev/nvidiactl").exists():
        return None
    try:
        done = subprocess.run(
            [interpreter.EXECUTABLE, "-I", "-S", "-c", _PROBE],
            capture_output=True,
            timeout=60,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    version = Path("/proc/driver/nvidia/version")
    said = version.read_text(encoding="utf-8", errors="replace") if version.is_file() else ""
    return device_of(json.loads(done.stdout), driver_version(said))


def device_of(said: Mapping[str, Any], driver: str) -> GpuDevice:
    """Build the device from the probe's output."""
    capability = (int(said["major"]), int(said["minor"]))
    return GpuDevice(str(said["name"]), driver, capability, int(said["memory"]), Path(said["library"]))


def driver_version(text: str) -> str:
    """Return the driver's version in the kernel's description, or empty."""
    found = re.search(r"^NVRM version:.*?\s(\d+(?:\.\d+)+)\s", text, re.MULTILINE)
    return found[1] if found else ""


@dataclass(frozen=True)
class GpuBuild:
    """A submission built for the GPU: the sandbox's folder, or compiler errors."""

    folder: Path
    errors: str

    @property
    def ok(self) -> bool:
        """True if the submission can be called."""
        return not self.errors


def build_for(
    device: GpuDevice,
    answer: Path,
    entries: Sequence[str],
    into: Path,
    *,
    tier: Tier,
    name: str = "answer.so",
    seconds: float = SECONDS,
) -> GpuBuild:
    """Compile a submission for its device, and put the driver beside it; builds of different names may share `into`.

    Raises:
        PrerequisiteError: no nvcc.
        BusyMachineError: too little processor time on a busy machine.
    """
    compiler = nvcc()
    if compiler is None:
        raise PrerequisiteError("no nvcc to build for the GPU: `make compilers`, or pip install 'kernel-harness[nvcc]'")
    refused = refusals(answer, entries)
    if refused:
        return GpuBuild(into, f"{refused[0].file}:{refused[0].line}: {refused[0].text}")
    with scratch.folder() as place:
        done = compile_library(
            compiler, answer, entries, place, Room(tier, CompileTime(seconds), 8192), device.architecture
        )
        if done.undecided:
            raise BusyMachineError(TOO_BUSY)
        if done.library is None:
            return GpuBuild(into, "\n".join(e.text for e in errors(done.log)) or done.log[-500:] or "nvcc failed")
        shutil.copyfile(done.library, into / name)
    _lay_driver(device, into)
    return GpuBuild(into, "")


def _lay_driver(device: GpuDevice, into: Path) -> None:
    shutil.copyfile(DRIVER, into / ENTRY)
    (into / "gpu.json").write_text(json.dumps({"libcuda": str(device.library)}), encoding="utf-8")


@cache
def out_of_reach(device: GpuDevice, tier: Tier) -> str:
    """Return why the sandbox cannot use the device, whatever the submission, or empty."""
    closed, error = _set_up(device, tier)
    if not error:
        return ""
    _, outside = _set_up(device, Tier.UNSAFE)
    if outside:
        return f"it cannot be set up outside of the sandbox either: {outside}"
    # the driver misreports this: for a file that it may not read it says that memory ran out
    number = re.search(r"cudaError\w+", error)
    seen = f"it opens {', '.join(closed)}, which tier {tier} closes" if closed else f"tier {tier} hinders its driver"
    return f"{seen}; outside of the sandbox it works ({number[0] if number else error})"


def _set_up(device: GpuDevice, tier: Tier) -> tuple[tuple[str, ...], str]:
    """Set up the device in a tier; return the files closed to its driver, and any error."""
    with scratch.folder() as folder:
        _lay_driver(device, folder)
        with WorkerSession(target(device, GpuBuild(folder, ""), (), tier)) as box:
            opened = box.open()
            reply = box.call("ready", returns=Scalar(int)) if opened.status is CallStatus.RETURNED else opened
            why = "" if reply.status is CallStatus.RETURNED else reply.text or reply.status.value
            return box.closed_files, why


def target(
    device: GpuDevice, build: GpuBuild, functions: Sequence[str], tier: Tier, limits: Limits = _LIMITS
) -> WorkerSpec:
    """Return the sandbox's specification, with access to the device."""
    return WorkerSpec(build.folder, ENTRY, tuple(functions), limits, tier, device.shown)


@dataclass(frozen=True)
class Measured:
    """Times of one submission on the GPU.

    Attributes:
        milliseconds: median of a call between two events, with an empty L2 cache.
        ratios: time of each other contender over the submission's.
        bandwidth_fraction: necessary bytes per second over the copy bandwidth.
        trusted: True if the parent's clock confirms the event times.
        outputs: for the first inputs.
    """

    milliseconds: Interval
    ratios: Mapping[str, Interval]
    bandwidth_fraction: float
    trusted: bool
    outputs: tuple[np.ndarray[Any, Any], ...]


class Bench:
    """A sandbox with builds to compare on the GPU."""

    def __init__(self, box: WorkerSession, symbol: str) -> None:
        self.box = box
        self.symbol = symbol

    def ask(self, function: str, *args: Any, returns: Plan) -> tuple[Any, float]:
        """Send the driver a request; return its value and the parent's wall seconds.

        Raises:
            PrerequisiteError: a failed request.
        """
        reply = self.box.call(function, *args, returns=returns)
        if reply.status is not CallStatus.RETURNED:
            raise PrerequisiteError(f"the GPU driver's `{function}` {reply.status.value}: {reply.text}")
        return reply.value, reply.seconds

    def copy_bandwidth(self) -> float:
        """Return the median copy bandwidth, bytes read and written per second."""
        with gpu_alone():
            value, _ = self.ask("copy_bandwidth", _BANDWIDTH_ROUNDS, returns=Array((_BANDWIDTH_ROUNDS,), "float64"))
        return float(np.median(value))

    def has_torch(self) -> bool:
        """Return whether PyTorch can be a contender."""
        return bool(self.ask("has_torch", returns=Scalar(int))[0])

    def measure(
        self,
        arguments: Sequence[Any],
        contenders: Sequence[str],
        outputs: Sequence[Array],
        necessary: int,
        bandwidth: float,
        seed: int = 0,
    ) -> Measured:
        """Time the first contender against the others.

        Args:
            arguments: those of the driver's `prepare`.
            contenders: builds in the sandbox's folder, the submission's first, and "torch".
            outputs: plans of the outputs.
            necessary: bytes that any submission must read and write.
            bandwidth: of copies, bytes per second.
            seed: of the order of turns.

        Raises:
            PrerequisiteError: a failed request.
        """
        with gpu_beside_others():
            self.ask("prepare", list(arguments), returns=Scalar(int))
        order = turns(WARM_UP + ROUNDS, len(contenders), seed)
        plan = (Array((len(order), len(contenders)), "float64"), *outputs)
        with gpu_alone():
            (taken, *written), _ = self.ask("measure", self.symbol, list(contenders), order, returns=plan)
            times: Floats = taken[WARM_UP:]
            own = median_interval(times[:, 0])
            few, many = plan_repeats(own.median)
            again = partial(self.ask, "repeat", self.symbol, contenders[0], returns=Scalar(int))
            # the first run warms up
            spent = [again(n)[1] for n in (few, few, many)]
        return Measured(
            own,
            {name: compute_round_ratio(times, index, 0) for index, name in enumerate(contenders) if index},
            necessary / (own.median / 1e3) / bandwidth,
            clocks_agree(own.median, (few, spent[1]), (many, spent[2])),
            tuple(written),
        )
