"""How honest the clock is: verdicts on planted differences, what cheats gain, and what a call costs.

    python benchmarks/clock.py [--runs N] [--only verdicts|cheats|trips]

Differences are planted as extra work: 40 rounds of one kernel against 40, 42 or 48. Every figure is measured in this
run; the loads are two loops that this program starts and ends.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.model import Limits
from harness.numerics.paired import PairedVerdict
from harness.probing import Answer, NotMeasurable, NotRun, ProbeFailure
from harness.probing.answers import SandboxedAnswer
from harness.probing.speed import credit, measure
from harness.sandbox import Array, CallStatus, WorkerSession, WorkerSpec, detect
from harness.timing import clock
from harness.timing.contest import ContestResult

Floats = NDArray[np.float64]
HOGS = 2
ROUNDS = 40
PLANTED = {
    "the same": (ROUNDS, PairedVerdict.SAME),
    "+5 %": (ROUNDS * 21 // 20, PairedVerdict.SLOWER),
    "+20 %": (ROUNDS * 6 // 5, PairedVerdict.SLOWER),
}
SHAPE = (60, 128)
WORK = """
import numpy as np

def kernel(x, scale):
    centred = x - x.mean(axis=-1, keepdims=True)
    return scale * centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)

def rounds(x):
    for _ in range({rounds}):
        y = kernel(x, 2.0)
    return y
"""
IDENTITY = "def rounds(x):\n    return x\n"
FRAME = """
import json, mmap, os, socket, sys, threading

def frame():
    found = sys._getframe()
    while "request" not in found.f_locals or "fds" not in found.f_locals:
        found = found.f_back
    return found.f_locals

def control():
    for fd in range(3, 64):
        try:
            found = socket.socket(fileno=os.dup(fd))
            if found.type == socket.SOCK_SEQPACKET:
                return found
        except OSError:
            pass
"""
CHEATS = {
    "replies before computing": """
def rounds(x):
    claim = {"array": ["<f8", list(x.shape), 0]}
    control().send(json.dumps({"id": frame()["request"]["id"], "value": claim}).encode())
    return honest(x)
""",
    "writes after the reply": """
kept = []

def rounds(x):
    kept.append(mmap.mmap(frame()["fds"][-1], x.nbytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
    threading.Timer(0.001, lambda: kept[-1].write(honest(x).tobytes())).start()
    return np.zeros_like(x)
""",
    "spins for the input": """
def spin():
    while True:
        for fd in range(3, 16):
            try:
                os.fstat(fd)
            except OSError:
                pass

threading.Thread(target=spin, daemon=True).start()

def rounds(x):
    return honest(x)
""",
}
ECHO = "def echo(x):\n    return x\n"
PAYLOADS = {"1 KB": (1 << 10, 200), "1 MB": (1 << 20, 50), "64 MB": (1 << 26, 7)}


class Normalising:
    """A fresh matrix in every call, and its rows standardised."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng()
        self.kernel: dict[str, Any] = {}
        exec(WORK.format(rounds=1), self.kernel)

    def prepare(self, answer: Answer) -> None:
        """Nothing."""

    def draw(self) -> Floats:
        """A matrix."""
        return self.rng.standard_normal(SHAPE)

    def call(self, answer: Answer, prepared: None, given: Floats) -> Floats:
        """What is timed."""
        output: Floats = answer.call("rounds", given, returns=Array(SHAPE, "float64"))
        return output

    def verify(self, given: Floats, output: Floats) -> None:
        """Equal bits: it is the same code."""
        if not np.array_equal(output, self.kernel["rounds"](given)):
            raise ProbeFailure("is not what it should be")


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Loops that never rest, for the length of the block."""
    # a loop ends with this process, however that ends
    loop_of_ours = f"import os\nwhile os.getppid() == {os.getpid()}: pass"
    loops = [subprocess.Popen([sys.executable, "-c", loop_of_ours]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def raced(source: str) -> ContestResult:
    """An answer's source against the plain number of rounds."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "reference.py").write_text(WORK.format(rounds=ROUNDS), encoding="utf-8")
        folder = Path(place, "answer")
        folder.mkdir()
        (folder / "answer.py").write_text(source, encoding="utf-8")
        target = WorkerSpec(folder, "answer.py", ("rounds",), Limits(), detect())
        with closing(SandboxedAnswer(target)) as answer:
            return measure(answer, Normalising, Path(place, "reference.py"), IDENTITY)


def verdicts(runs: int) -> dict[tuple[int, str], list[ContestResult]]:
    """Contests with a planted difference, on the machine as it is and under hogs."""
    found = {}
    for load in (0, HOGS):
        with hogs(load):
            for name, (rounds, right) in PLANTED.items():
                results = [raced(WORK.format(rounds=rounds)) for _ in range(runs)]
                found[load, name] = results
                _print_verdicts(load, name, results, right)
    return found


def _print_verdicts(load: int, name: str, results: list[ContestResult], right: PairedVerdict) -> None:
    counts = Counter(result.comparison.verdict for result in results)
    called = counts[right]
    wrong = len(results) - called - counts[PairedVerdict.UNCLEAR]

    def middle(values: Iterator[float]) -> float:
        return statistics.median(values)

    print(
        f"{load} hogs, planted {name:8}: right {called} of {len(results)}, wrong {wrong}, "
        f"unclear {counts[PairedVerdict.UNCLEAR]}; ratio {middle(r.comparison.ratio for r in results):.3f}, "
        f"{middle(r.comparison.pairs for r in results):.0f} pairs, {middle(r.seconds for r in results):.1f} s, "
        f"noise {middle(r.noise for r in results):.2f}",
        flush=True,
    )


def cheats() -> dict[str, str]:
    """What becomes of an answer that cheats the clock."""
    found = {}
    honest = WORK.format(rounds=ROUNDS).replace("def rounds", "def honest")
    for name, source in CHEATS.items():
        try:
            partly = credit(raced(FRAME + honest + source))
            found[name] = f"earned {partly.fraction:.2f}: {partly.detail}"
        except ProbeFailure as why:
            found[name] = f"rejected: {why.title} ({why.detail})"
        except (NotMeasurable, NotRun) as why:
            found[name] = f"not measured: {why}"
        print(f"{name}: {found[name]}", flush=True)
    return found


def trips() -> None:
    """One echo through sealed memory files, inside the clock."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "answer.py").write_text(ECHO, encoding="utf-8")
        target = WorkerSpec(Path(folder), "answer.py", ("echo",), Limits(memory_mib=4096, scratch_mib=128), detect())
        with WorkerSession(target) as box:
            box.open()
            for name, (nbytes, rounds) in PAYLOADS.items():
                x = np.ones(nbytes // 8)
                replies = [box.call("echo", x, returns=Array(x.shape, "float64")) for _ in range(rounds + 1)]
                if any(reply.status is not CallStatus.RETURNED for reply in replies):
                    raise SystemExit(f"an echo of {nbytes} bytes failed: {replies[-1].text}")
                wall = statistics.median(reply.seconds for reply in replies[1:])
                processor = statistics.median(reply.processor for reply in replies[1:])
                print(
                    f"round trip {name:6} {wall * 1e6:8.0f} us, of which the worker computes {processor * 1e6:.0f} us"
                )


def main() -> None:
    """Print everything asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=100, help="contests for each planted difference and load")
    parser.add_argument("--only", choices=("verdicts", "cheats", "trips"), help="one part")
    asked = parser.parse_args()
    clock.warm_memory()
    print(
        f"tier {detect()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start", flush=True
    )
    if asked.only in (None, "trips"):
        trips()
    if asked.only in (None, "cheats"):
        cheats()
    if asked.only in (None, "verdicts"):
        verdicts(asked.runs)


if __name__ == "__main__":
    main()
