"""An answer in CUDA on a GPU: which there is, the build for it, calls in the box, times against others'."""

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
from harness.cuda.compiling import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.gate_messages import errors
from harness.cuda.gate_nvcc import Room, compile_library
from harness.cuda.gate_sources import refusals
from harness.cuda.gpu_figures import Floats, Interval, clocks_agree, median_interval, paired_ratio, plan_repeats, turns
from harness.cuda.nvcc import nvcc
from harness.errors import BusyMachineError, PrerequisiteError
from harness.model import Limits
from harness.sandbox import Array, Box, CallStatus, Plan, Scalar, Tier, WorkerSpec, scratch
from harness.timing.exclusive import gpu_alone, gpu_beside_others

DRIVER = Path(__file__).parent / "driver" / "gpu_driver.py"
ENTRY = DRIVER.name
"""The module that the box imports in place of an answer in Python."""
ROUNDS = 50
WARM_UP = 5
_BANDWIDTH_ROUNDS = 20
_LIMITS = Limits(start_seconds=60, call_seconds=120, scratch_mib=256)

# asked in a process of its own: the driver's library stays out of this one
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
        name: as its driver calls it.
        driver: version of the kernel driver, empty when it does not say.
        capability: compute capability, e.g. (9, 0).
        memory_bytes: device memory.
        library: the driver's library, libcuda.
    """

    name: str
    driver: str
    capability: tuple[int, int]
    memory_bytes: int
    library: Path

    @property
    def architecture(self) -> str:
        """What nvcc calls it, e.g. `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    @property
    def shown(self) -> tuple[Path, ...]:
        """What the box must show for it: device files, what the driver reads, its library where that lies apart."""
        files = [p for p in sorted(Path("/dev").glob("nvidia*")) if not p.is_dir()]
        folder = self.library.parent
        apart = [folder] if folder.is_absolute() and not folder.is_relative_to("/usr") else []
        return (*files, Path("/sys"), *apart)


@cache
def gpu_device() -> GpuDevice | None:
    """The GPU there is, by asking its driver; None without one."""
    if not Path("/dev/nvidiactl").exists():
        return None
    try:
        done = subprocess.run(
            [interpreter.EXECUTABLE, "-I", "-S", "-c", _PROBE], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    version = Path("/proc/driver/nvidia/version")
    said = version.read_text(encoding="utf-8", errors="replace") if version.is_file() else ""
    return device_of(json.loads(done.stdout), driver_version(said))


def device_of(said: Mapping[str, Any], driver: str) -> GpuDevice:
    """The device that the probe describes."""
    capability = (int(said["major"]), int(said["minor"]))
    return GpuDevice(str(said["name"]), driver, capability, int(said["memory"]), Path(said["library"]))


def driver_version(text: str) -> str:
    """The driver's version in what the kernel says of it; empty when it is not there."""
    found = re.search(r"^NVRM version:.*?\s(\d+(?:\.\d+)+)\s", text, re.MULTILINE)
    return found[1] if found else ""


@dataclass(frozen=True)
class GpuBuild:
    """An answer built for the GPU: the folder that the box shows, or the compiler's words."""

    folder: Path
    errors: str

    @property
    def ok(self) -> bool:
        """Whether the answer can be called."""
        return not self.errors


def build_for(
    device: GpuDevice, answer: Path, entries: Sequence[str], into: Path, *, tier: Tier, name: str = "answer.so",
    seconds: float = SECONDS,
) -> GpuBuild:  # fmt: skip
    """Compile an answer for the device it will run on, and lay the driver beside it.

    Args:
        device: the GPU.
        answer: its files.
        entries: those to compile.
        into: a folder for what the box will show; a second build of another name may join the first.
        tier: how the compiler is held.
        name: of the library there.
        seconds: processor time.

    Raises:
        PrerequisiteError: there is no nvcc.
        BusyMachineError: the machine gave the compiler too little time.
        BoxError: the compiler could not be started.
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
    """Return why the sandbox cannot use the device, which no answer is to be blamed for; empty where it can."""
    closed, error = _set_up(device, tier)
    if not error:
        return ""
    _, outside = _set_up(device, Tier.UNSAFE)
    if outside:
        return f"it cannot be set up outside of the sandbox either: {outside}"
    # the driver's own word is no help here: of a file that it may not read it says that memory ran out
    number = re.search(r"cudaError\w+", error)
    seen = f"it opens {', '.join(closed)}, which tier {tier} closes" if closed else f"tier {tier} hinders its driver"
    return f"{seen}; outside of the sandbox it works ({number[0] if number else error})"


def _set_up(device: GpuDevice, tier: Tier) -> tuple[tuple[str, ...], str]:
    """Set the device up in a tier: the files that its driver opened there and may not, and why it failed or nothing."""
    with scratch.folder() as folder:
        _lay_driver(device, folder)
        with Box(target(device, GpuBuild(folder, ""), (), tier)) as box:
            opened = box.open()
            reply = box.call("ready", returns=Scalar(int)) if opened.status is CallStatus.RETURNED else opened
            why = "" if reply.status is CallStatus.RETURNED else reply.text or reply.status.value
            return box.closed_files, why


def target(
    device: GpuDevice, build: GpuBuild, functions: Sequence[str], tier: Tier, limits: Limits = _LIMITS
) -> WorkerSpec:
    """What the box runs: the driver with the device shown to it."""
    return WorkerSpec(build.folder, ENTRY, tuple(functions), limits, tier, device.shown)


@dataclass(frozen=True)
class Measured:
    """One answer's times on the GPU.

    Attributes:
        milliseconds: median of a call between two events, the L2 cache empty.
        ratios: for each other contender, how many times longer it takes than the answer.
        bandwidth_fraction: bytes the task cannot do without, per second, over the measured copy bandwidth.
        trusted: whether the parent's own clock bears the event times out.
        outputs: the answer's outputs for the first inputs, to be compared with what is right.
    """

    milliseconds: Interval
    ratios: Mapping[str, Interval]
    bandwidth_fraction: float
    trusted: bool
    outputs: tuple[np.ndarray[Any, Any], ...]


class Bench:
    """A box with builds in it that are timed against each other on the GPU."""

    def __init__(self, box: Box, symbol: str) -> None:
        self.box = box
        self.symbol = symbol

    def ask(self, function: str, *args: Any, returns: Plan) -> tuple[Any, float]:
        """One request to the driver: its value and the parent's wall seconds.

        Raises:
            PrerequisiteError: it did not come back, in the driver's words.
        """
        reply = self.box.call(function, *args, returns=returns)
        if reply.status is not CallStatus.RETURNED:
            raise PrerequisiteError(f"the GPU driver's `{function}` {reply.status.value}: {reply.text}")
        return reply.value, reply.seconds

    def copy_bandwidth(self) -> float:
        """Bytes per second, read and written, of copies within device memory: the median."""
        with gpu_alone():
            value, _ = self.ask("copy_bandwidth", _BANDWIDTH_ROUNDS, returns=Array((_BANDWIDTH_ROUNDS,), "float64"))
        return float(np.median(value))

    def has_torch(self) -> bool:
        """Whether PyTorch can be a contender."""
        return bool(self.ask("has_torch", returns=Scalar(int))[0])

    def measure(
        self, arguments: Sequence[Any], contenders: Sequence[str], outputs: Sequence[Array], necessary: int,
        bandwidth: float, seed: int = 0,
    ) -> Measured:  # fmt: skip
        """Time the first contender against the others.

        Args:
            arguments: as the driver's `prepare` takes them.
            contenders: builds in the box's folder, the answer's first, and "torch".
            outputs: the plans of what the answer writes.
            necessary: bytes that any answer must read and write.
            bandwidth: of copies, bytes per second.
            seed: of the order of turns.

        Raises:
            PrerequisiteError: the driver did not come back.
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
            spent = [again(n)[1] for n in (few, few, many)]
        return Measured(
            own,
            {name: paired_ratio(times, index, 0) for index, name in enumerate(contenders) if index},
            necessary / (own.median / 1e3) / bandwidth,
            clocks_agree(own.median, (few, spent[1]), (many, spent[2])),
            tuple(written),
        )
