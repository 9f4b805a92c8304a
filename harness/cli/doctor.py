"""`harness doctor`: what this machine offers a grade, and what would make it better."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import output


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False) -> None:
    """Show what this machine offers.

    Isolation, versions, sources of noise in timings, and what to do about them.
    """
    from harness.box import detect
    from harness.box.tiers import why_no_bubblewrap
    from harness.cuda.gpu import gpu_device
    from harness.cuda.nvcc import lacking
    from harness.cuda.toolchain import versions
    from harness.store import environment

    tier, why, gpu = detect(), why_no_bubblewrap(), gpu_device()
    here = environment(tier)
    facts = {
        "isolation": f"{tier}: {tier.promise}",
        "harness": here.harness,
        "python": here.python,
        "packages": ", ".join(f"{name} {version}" for name, version in here.packages.items()),
        **dict(versions()),
        "gpu": f"{gpu.name}, {gpu.memory_bytes >> 30} GiB, driver {gpu.driver or 'unknown'}" if gpu else "none",
        "processor": here.cpu,
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.2f}",
        "platform": here.platform,
    }
    advice = [f"isolation could be better: {why}"] if why else []
    advice += [_BRINGS[extra] for extra in lacking()] + list(_noise())
    if as_json:
        output.data({**facts, "advice": advice})
        return
    output.pairs(facts)
    output.line()
    for text in advice or ["nothing to improve"]:
        output.line(f"- {text}")


_BRINGS = {
    "zig": "answers in CUDA cannot be run: no C++ compiler; install g++ or clang++, or `pip install 'harness[zig]'`",
    "nvcc": "answers in CUDA are not shown to a CUDA compiler: `make compilers`, or `pip install 'harness[nvcc]'`",
    "nvrtc": "answers in CUDA are not shown to a CUDA compiler: `make compilers`, or `pip install 'harness[nvrtc]'`",
}
"""What each missing compiler costs, and how to get it."""


def _noise() -> Iterator[str]:
    """What makes timings vary here."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if load > cores / 2:
        yield f"other work is running (load {load:.1f} on {cores} cores): measured times will vary; stop it or wait"
    if cores < 2:
        yield "one core only: the grader and the submission take it from each other, so times will vary"
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor not in ("", "performance"):
        yield f"the processor's speed follows its load (governor {governor}): `cpupower frequency-set -g performance`"
    quota = _read("/sys/fs/cgroup/cpu.max").partition(" ")[0]
    if quota.isdigit():
        yield "a container limits processor time: a process may be paused in the middle of a measurement"
    if " hypervisor" in _read("/proc/cpuinfo"):
        yield "a virtual machine: neighbours on the same host make times vary"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""
