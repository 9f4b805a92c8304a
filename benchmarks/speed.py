"""Where the time goes: start-up, the box's round trip, the probes of each challenge.

    python benchmarks/speed.py

Every figure is measured in this run; ratios compare commands timed in turn.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from harness.model import Limits
from harness.mutation.checks.check import assess, open_in_sandbox
from harness.probing.challenge_code.code import ChallengeCode
from harness.sandbox import Array, CallStatus, Tier, WorkerSession, WorkerSpec, start_fork_server
from harness.sandbox.session.tiers import why_not
from harness.workspace import Workspace

ROUNDS = 7
ECHO = "def echo(x):\n    return x\n"
PAYLOADS = {"1 KB": (1 << 10, 200), "1 MB": (1 << 20, 50), "64 MB": (1 << 26, 5)}


def seconds(act: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def in_turn(*commands: Sequence[str]) -> list[float]:
    """Median wall seconds of each command, run in turn."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS + 1):
        for taken, command in zip(times, commands, strict=True):
            taken.append(seconds(lambda c=command: subprocess.run(c, check=True, capture_output=True)))
    return [statistics.median(taken[1:]) for taken in times]


def start_up() -> None:
    """`harness --help` against the bare import of its command-line library."""
    program = Path(sys.executable).with_name("harness")
    help_, bare = in_turn((str(program), "--help"), (sys.executable, "-c", "import typer"))
    print(f"harness --help          {help_ * 1e3:8.0f} ms   {help_ / bare:.2f} x `import typer` ({bare * 1e3:.0f} ms)")


def round_trips(tier: Tier) -> None:
    """Opening a worker, and one echo through sealed memory files, as the parent's clock sees it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "answer.py").write_text(ECHO, encoding="utf-8")
        target = WorkerSpec(Path(folder), "answer.py", ("echo",), Limits(memory_mib=4096, scratch_mib=128), tier)
        _print_opened(f"ready (tier {tier})", lambda: WorkerSession(target))
        fork_server = start_fork_server(target)
        _print_opened(f"forked (tier {tier})", lambda: WorkerSession(target, fork_server))
        fork_server.close()
        with WorkerSession(target) as box:
            box.open()
            for name, (nbytes, rounds) in PAYLOADS.items():
                print(f"round trip {name}".ljust(24) + f"{_echo(box, nbytes, rounds) * 1e6:8.0f} us")


def _print_opened(what: str, make: Callable[[], WorkerSession]) -> None:
    opened = []
    for _ in range(ROUNDS):
        with make() as box:
            opened.append(seconds(box.open))
    print(what.ljust(24) + f"{statistics.median(opened) * 1e3:8.1f} ms")


def _echo(box: WorkerSession, nbytes: int, rounds: int) -> float:
    x = np.ones(nbytes // 8)
    replies = [box.call("echo", x, returns=Array(x.shape, "float64")) for _ in range(rounds + 1)]
    if any(reply.status is not CallStatus.RETURNED for reply in replies):
        raise SystemExit(f"an echo of {nbytes} bytes failed: {replies[-1].text}")
    return statistics.median(reply.seconds for reply in replies[1:])


def suites() -> None:
    """All probes of each challenge on its reference: seconds inside the box, start-up included, and in all."""
    workspace = Workspace.find()
    for id in workspace.challenges():
        code = ChallengeCode(workspace, workspace.challenge(id))
        inside, whole = [], []
        for seed in range(3):
            start = time.perf_counter()
            with open_in_sandbox(code, code.source()) as answer:
                assess(code, answer, seed)
                inside.append(answer.sandbox_seconds)
            whole.append(time.perf_counter() - start)
        box, total = statistics.median(inside), statistics.median(whole)
        print(f"probes {id}".ljust(32) + f"{box:6.2f} s of box time, {total:.2f} s with the oracle")


def main() -> None:
    """Print everything."""
    start_up()
    for tier in (tier for tier in Tier if why_not(tier) is None):
        round_trips(tier)
    suites()


if __name__ == "__main__":
    main()
