"""Traffic as the emulated device counts it, against the GPU's own counters, launch by launch.

    python benchmarks/counters.py [FILE.cu ...]

By default the programs whose counts the tests work out by hand, and some right ones. Needs an NVIDIA GPU, nvcc and ncu,
and the right to read its counters; it stops with a message without them.
"""

import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.cuda.emulator.device_trace import KernelLaunch
from harness.cuda.gpu.device import gpu_device
from harness.cuda.programs.program import Mode, ProgramSource, build_program, run_program
from harness.errors import HarnessError
from harness.sandbox import detect

CORPUS = Path(__file__).parents[1] / "tests" / "cuda"
PROGRAMS = (
    "theory/traffic", "theory/arithmetic", "clean/softmax_online", "clean/transpose_with_padding",
    "clean/reduction_in_shared_memory", "clean/matmul_double_buffered", "clean/layer_norm_forward",
    "clean/layer_norm_backward",
)  # fmt: skip
METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
)  # fmt: skip
NAMES = ("load requests", "load sectors", "store requests", "store sectors", "load conflicts", "store conflicts")
Counts = tuple[int, ...]


def emulated(launch: KernelLaunch) -> Counts:
    """What the emulated device counts, in the order of METRICS; a conflict is a wavefront more than needed."""
    load, store = launch.global_load, launch.global_store
    conflicts = (moved.wavefronts - moved.ideal_wavefronts for moved in (launch.shared_load, launch.shared_store))
    return (load.requests, load.sectors, store.requests, store.sectors, *conflicts)


def read(text: str) -> list[tuple[str, Counts]]:
    """Kernel and counts of each launch, from what ncu prints with `--csv`."""
    launches: dict[str, dict[str, str]] = {}
    for row in csv.DictReader(io.StringIO(text[text.find('"ID"') :])):
        of = launches.setdefault(row["ID"], {"kernel": row["Kernel Name"]})
        of[row["Metric Name"]] = row["Metric Value"]
    return [
        (re.split("[<(]", of["kernel"])[0].split()[-1], tuple(int(float(of[m].replace(",", ""))) for m in METRICS))
        for of in launches.values()
    ]


def counted(file: Path) -> list[KernelLaunch]:
    """The launches of a program on the emulated device."""
    source = ProgramSource.of([file])
    with tempfile.TemporaryDirectory() as folder:
        built = build_program(source, Path(folder), tier=detect())
        if built.path is None:
            raise HarnessError(f"{file.name} does not build for the emulated device: {built.errors}")
        ran = run_program(source, built.path, tier=detect(), mode=Mode.COUNT)
    if ran.report is None:
        raise HarnessError(f"{file.name} gives no report: {ran.ended}")
    return list(ran.report.launches)


def measured(file: Path, architecture: str) -> list[tuple[str, Counts]]:
    """The launches of a program as the GPU counts them."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program")
        words = ("nvcc", "-std=c++17", f"-arch={architecture}", f"-I{file.parent}", str(file), "-o", str(program))
        subprocess.run(words, check=True, capture_output=True)
        watch = ("ncu", "--csv", "--clock-control", "none", "--metrics", ",".join(METRICS))
        done = subprocess.run([*watch, str(program)], capture_output=True, text=True, timeout=120, check=False)
    found = read(done.stdout)
    if not found:
        raise HarnessError(f"ncu counts nothing: {(done.stdout + done.stderr)[-300:]}")
    return found


def compare(launches: list[KernelLaunch], found: list[tuple[str, Counts]]) -> list[bool]:
    """Print every launch of which a count differs; whether each is the same."""
    same = []
    for launch, (kernel, counts) in zip(launches, found, strict=True):
        own = emulated(launch)
        same.append(own == counts)
        note = ", marked approximate" if launch.approximate else ""
        for name, here, there in zip(NAMES, own, counts, strict=True):
            if here != there:
                print(f"  {kernel}: {name} {here} emulated, {there} on the GPU{note}")
    return same


def main() -> int:
    """Compare and print, or say why not."""
    device, lacking = gpu_device(), [name for name in ("nvcc", "ncu") if not shutil.which(name)]
    if device is None or lacking:
        print(f"no {' or '.join(['NVIDIA GPU'] if device is None else lacking)} here: nothing was compared")
        return 0
    print(f"{device.name}, driver {device.driver or 'unknown'}")
    same: list[bool] = []
    for file in [Path(word) for word in sys.argv[1:]] or [CORPUS / f"{name}.cu" for name in PROGRAMS]:
        print(file.name)
        same += compare(counted(file), measured(file, device.architecture))
    print(f"{sum(same)} of {len(same)} launches are counted alike")
    return 0


if __name__ == "__main__":
    sys.exit(main())
