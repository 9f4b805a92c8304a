"""Whatever on this machine makes times vary is named with its figure, and nothing is named that is not so."""

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.timing import noise
from harness.timing.noise import MachineNoise, conditions

QUIET = MachineNoise(
    cores=4, load=0.2, busy=0.0, stolen=0.0, quota=None, governor="performance", turbo=False,
    threads_share_cores=False, virtual=False, swapped_bytes=0, counters=True,
)  # fmt: skip
CFS = "sys__fs__cgroup__cpu__cpu.cfs"
HOG = "import time\nend = time.monotonic() + 5\nprint(flush=True)\nwhile time.monotonic() < end: pass"


def changed(**values: object) -> MachineNoise:
    return MachineNoise(**{**asdict(QUIET), **values})


def machine(root: Path, **files: str) -> Path:
    """A tree like /, with a file for every name, in which a double underscore stands for a slash."""
    for name, text in {"proc__loadavg": "0.20 0.1 0.1 1/100 1", **files}.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_quiet_machine_has_nothing_to_say():
    assert QUIET.sentences() == ()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"busy": 0.35}, "other work runs: 35% of the processor time now, load 0.2 on 4 cores"),
        ({"load": 2.5}, "load 2.5 on 4 cores"),
        ({"cores": 1}, "one core only"),
        ({"stolen": 0.08}, "the host takes 8% of the processor time"),
        ({"quota": 1.0}, "limits processor time to 1 core:"),
        ({"quota": 1.5}, "limits processor time to 1.5 cores:"),
        ({"governor": "powersave"}, "governor powersave): cpupower frequency-set -g performance"),
        ({"turbo": True}, "turbo"),
        ({"threads_share_cores": True}, "echo off > /sys/devices/system/cpu/smt/control"),
        ({"virtual": True}, "a virtual machine"),
        ({"swapped_bytes": 300 << 20}, "300 MiB"),
        ({"counters": False}, "no hardware counters"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_each_source_is_named_with_its_figure(values, words):
    (sentence,) = changed(**values).sentences()
    assert words in sentence
    assert sentence[0].islower() and not sentence.endswith(".")


def test_a_little_of_each_is_not_worth_a_word():
    assert changed(busy=0.05, load=1.9, stolen=0.005).sentences() == ()


@pytest.mark.parametrize(
    ("files", "field", "value"),
    [
        ({"proc__loadavg": "3.25 1 1 2/300 77"}, "load", 3.25),
        ({"sys__devices__system__cpu__cpu0__cpufreq__scaling_governor": "schedutil\n"}, "governor", "schedutil"),
        ({"sys__devices__system__cpu__intel_pstate__no_turbo": "0\n"}, "turbo", True),
        ({"sys__devices__system__cpu__intel_pstate__no_turbo": "1\n"}, "turbo", False),
        ({"sys__devices__system__cpu__cpufreq__boost": "1\n"}, "turbo", True),
        ({"sys__devices__system__cpu__smt__active": "1\n"}, "threads_share_cores", True),
        ({"sys__devices__system__cpu__smt__active": "0\n"}, "threads_share_cores", False),
        ({"proc__cpuinfo": "flags\t\t: sse2 hypervisor lm\n"}, "virtual", True),
        ({"proc__cpuinfo": "flags\t\t: sse2 lm\n"}, "virtual", False),
        ({"sys__hypervisor__type": "xen\n"}, "virtual", True),
        ({"proc__meminfo": "SwapTotal:  4096 kB\nSwapFree:  1024 kB\n"}, "swapped_bytes", 3 << 20),
        ({"sys__fs__cgroup__cpu.max": "150000 100000\n"}, "quota", 1.5),
        ({"sys__fs__cgroup__cpu.max": "max 100000\n"}, "quota", None),
        ({f"{CFS}_quota_us": "-1", f"{CFS}_period_us": "100000"}, "quota", None),
        ({f"{CFS}_quota_us": "50000", f"{CFS}_period_us": "100000"}, "quota", 0.5),
        ({"sys__bus__event_source__devices__cpu__type": "4"}, "counters", True),
        ({"sys__bus__event_source__devices__software__type": "1"}, "counters", False),
    ],
)  # fmt: skip
def test_what_the_kernel_says_is_read(tmp_path, files, field, value):
    assert asdict(conditions(0, machine(tmp_path, **files)))[field] == value


def test_shares_of_time_are_those_of_the_span_watched(tmp_path, monkeypatch):
    later = "cpu  140 10 110 1030 30 5 5 120 9 9\n"
    machine(tmp_path, proc__stat="cpu  100 10 100 1000 20 5 5 110 9 9\n")
    monkeypatch.setattr(noise.time, "sleep", lambda seconds: machine(tmp_path, proc__stat=later))
    found = conditions(1, tmp_path)
    # of 100 ticks 40 and 10 were work, 30 and 10 idle, 10 stolen
    assert (found.busy, found.stolen) == (0.5, 0.1)


def test_a_machine_that_tells_nothing_is_no_error(tmp_path):
    assert conditions(0, tmp_path).load == 0


def test_work_beside_us_is_seen():
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", HOG], stdout=subprocess.PIPE) as hog:
        assert hog.stdout is not None
        hog.stdout.readline()
        try:
            # it fills one core while we sleep; half of that allows for ticks and for who else wants the core
            assert conditions().busy >= 0.5 / (os.cpu_count() or 1)
        finally:
            hog.kill()
