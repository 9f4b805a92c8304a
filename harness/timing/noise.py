"""Causes of noise in timings, read from the kernel."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

WINDOW_SECONDS = 0.2
"""Seconds of observation; the kernel counts in ticks of a hundredth of a second per core."""
BUSY_SHARE = 0.1
"""Share of processor time that other work may take without a warning."""
STOLEN_SHARE = 0.01
"""Share of processor time that the host may take without a warning."""


@dataclass(frozen=True)
class MachineNoise:
    """Sources of noise in timings.

    Attributes:
        cores: number available to this process.
        load: runnable processes, averaged over the last minute.
        busy: share of processor time in use while this process slept.
        stolen: share of processor time that the host took meanwhile.
        quota: a container's limit in cores, if any.
        governor: frequency governor; empty if unknown.
        turbo: whether speed depends on heat and busy cores.
    """

    cores: int
    load: float
    busy: float
    stolen: float
    quota: float | None
    governor: str
    turbo: bool
    threads_share_cores: bool
    virtual: bool
    swapped_bytes: int
    counters: bool

    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each problem, with its figure and any remedy, worst first."""
        return tuple(
            text
            for applies, text in (
                (
                    self.busy > BUSY_SHARE or self.load > self.cores / 2,
                    f"other work runs: {self.busy:.0%} of the processor time now, load {self.load:.1f} on "
                    f"{_count(self.cores, 'core')}; stop it or wait",
                ),
                (self.stolen > STOLEN_SHARE, f"the host takes {self.stolen:.0%} of the processor time for others"),
                (self.cores < 2, "one core only: grader and answer take it from each other"),
                (
                    self.quota is not None,
                    f"a container limits processor time to {_count(self.quota or 0, 'core')}: a process may be paused "
                    "in the middle of a measurement",
                ),
                (
                    self.governor not in ("", "performance"),
                    f"the processor's speed follows its load (governor {self.governor}): "
                    "cpupower frequency-set -g performance",
                ),
                (self.turbo, "the processor's speed follows its heat (turbo): switch boost off in the firmware"),
                (
                    self.threads_share_cores,
                    "two threads share a core (SMT): echo off > /sys/devices/system/cpu/smt/control",
                ),
                (
                    self.swapped_bytes > 0,
                    f"memory is short: {self.swapped_bytes / 2**20:.0f} MiB were moved to disk (swap)",
                ),
                (self.virtual, "a virtual machine: its neighbours share caches and memory with it"),
                (not self.counters, "no hardware counters: only time can be measured, not instructions"),
            )
            if applies
        )


def conditions(seconds: float = WINDOW_SECONDS, root: Path = Path("/")) -> MachineNoise:
    """Observe the machine for a moment; `root` is the parent of /proc and /sys."""
    before = _read_ticks(root)
    time.sleep(seconds)
    spent = [max(after - earlier, 0) for after, earlier in zip(_read_ticks(root), before, strict=True)]
    total = sum(spent) or 1
    _, _, _, idle, waiting, _, _, stolen = spent
    cpus = root / "sys/devices/system/cpu"
    return MachineNoise(
        cores=len(os.sched_getaffinity(0)),
        load=float((_read(root / "proc/loadavg").split() or ["0"])[0]),
        busy=(total - idle - waiting - stolen) / total,
        stolen=stolen / total,
        quota=_read_quota(root / "sys/fs/cgroup"),
        governor=_read(cpus / "cpu0/cpufreq/scaling_governor"),
        turbo=_read(cpus / "intel_pstate/no_turbo") == "0" or _read(cpus / "cpufreq/boost") == "1",
        threads_share_cores=_read(cpus / "smt/active") == "1",
        virtual=" hypervisor" in _read(root / "proc/cpuinfo") or (root / "sys/hypervisor/type").exists(),
        swapped_bytes=_read_swap_use(_read(root / "proc/meminfo")),
        counters=any(any((root / "sys/bus/event_source/devices").glob(kind)) for kind in ("cpu", "cpu_core", "armv*")),
    )


def _read_ticks(root: Path) -> list[int]:
    """Return the ticks of all cores since boot: user, nice, system, idle, iowait, irq, softirq, steal."""
    words = _read(root / "proc/stat").partition("\n")[0].split()[1:9]
    return [int(word) for word in words] if len(words) == 8 else [0] * 8


def _read_quota(groups: Path) -> float | None:
    limit, _, period = _read(groups / "cpu.max").partition(" ")
    if not limit:
        limit, period = _read(groups / "cpu/cpu.cfs_quota_us"), _read(groups / "cpu/cpu.cfs_period_us")
    return int(limit) / int(period) if limit.isdigit() and period.isdigit() else None


def _read_swap_use(meminfo: str) -> int:
    kib = {name: int(value) for name, value in re.findall(r"^(SwapTotal|SwapFree):\s+(\d+) kB$", meminfo, re.MULTILINE)}
    return (kib.get("SwapTotal", 0) - kib.get("SwapFree", 0)) << 10


def _count(number: float, what: str) -> str:
    return f"{number:g} {what}" if number == 1 else f"{number:g} {what}s"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
