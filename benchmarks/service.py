"""The service under load: nothing lost or doubled, latency beside the grade's own time, memory over time.

    python benchmarks/service.py [--clients 20] [--seconds 20] [--distinct 0.2] [--jobs N]

Starts `harness serve` on a loopback port with a challenge of two small probes, and so many clients that send one answer
after the other and wait for each. The share `--distinct` of the answers is new; the others repeat one that was sent
before, as the samples of a training step do. The size that is promised is 200 clients for five minutes:

    python benchmarks/service.py --clients 200 --seconds 300

At the end every request must have had exactly one grade, and every answer as many works as the queue says; what the
server itself adds to a grade is its latency less the time it waited for a slot and the grade's own time.
"""

import argparse
import asyncio
import importlib.util
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from promises import Promises

import harness

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for the challenge that the tests use

PAGE = os.sysconf("SC_PAGE_SIZE")
START_SECONDS = 120
PATIENCE = 600.0
SAMPLES = 20
"""Looks at the memory of the server."""


@dataclass
class Load:
    """What the clients saw.

    Attributes:
        sent: answers by their text, and how often each was sent.
        rewards: how often which reward came back.
        latencies: seconds from the request to the record.
        resident: MiB of the server, over time.
        kept: answers that may be sent again.
    """

    sent: Counter[str] = field(default_factory=Counter)
    rewards: Counter[float | None] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    resident: list[float] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


@contextmanager
def server(root: Path, jobs: int) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server and its URL."""
    options = ("--no-auth", "--port", "0", "-j", str(jobs), "--rate", "100000")
    command = [sys.executable, "-P", "-m", "harness", "serve", *options]
    with (root / "log").open("w") as log:
        process = subprocess.Popen(
            command, stderr=log, text=True, cwd=root, env={**os.environ, "HARNESS_WORKSPACE": str(root)}
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (found := re.search(r"serving on (http://\S+)", (root / "log").read_text())):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit((root / "log").read_text())
            time.sleep(0.05)
        yield process, found[1]
    finally:
        process.terminate()
        process.wait()


async def client(number: int, url: str, until: float, distinct: float, load: Load) -> None:
    """Send one answer after the other."""
    from tests.toy import CHALLENGE_ID, REFERENCE

    draw = random.Random(number)
    async with harness.AsyncClient(url, "", patience=PATIENCE) as connection:
        while time.monotonic() < until:
            if load.kept and draw.random() > distinct:
                answer = draw.choice(load.kept)
            else:
                answer = f"```python\n{REFERENCE}# {number} {len(load.kept)} {draw.random()}\n```\n"
                load.kept.append(answer)
            load.sent[answer] += 1
            begun = time.monotonic()
            record = await connection.grade_reply(answer, CHALLENGE_ID, profile="reward")
            load.latencies.append(time.monotonic() - begun)
            load.rewards[record.reward] += 1


async def watch(pid: int, until: float, load: Load) -> None:
    """Look at the server's memory."""
    pause = max(0.1, (until - time.monotonic()) / SAMPLES)
    while time.monotonic() < until:
        pages = int(Path("/proc", str(pid), "statm").read_text().split()[1])
        load.resident.append(pages * PAGE / 2**20)
        await asyncio.sleep(pause)


async def run(pid: int, url: str, clients: int, seconds: float, distinct: float) -> Load:
    """All clients at once."""
    load, until = Load(), time.monotonic() + seconds
    await asyncio.gather(watch(pid, until, load), *(client(n, url, until, distinct, load) for n in range(clients)))
    return load


def queued(root: Path) -> tuple[int, int, int, list[tuple[float, float]]]:
    """Jobs, jobs whose work is finished, distinct contents, and for each work its wait and its time in a slot."""
    with closing(sqlite3.connect(root / ".harness" / "service.sqlite")) as connection:
        (jobs,) = connection.execute("SELECT COUNT(*) FROM jobs").fetchone()
        query = "SELECT COUNT(*) FROM jobs JOIN works ON works.number = jobs.work WHERE state = 2"
        (finished,) = connection.execute(query).fetchone()
        (contents,) = connection.execute("SELECT COUNT(DISTINCT content) FROM works").fetchone()
        times = connection.execute("SELECT begun - accepted, finished - begun FROM works").fetchall()
    return jobs, finished, contents, times


def stored(root: Path) -> int:
    """Grades that were really made: one record a content key."""
    with closing(sqlite3.connect(root / ".harness" / "records.sqlite")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM records").fetchone()[0])


def fresh_grades(root: Path) -> int:
    """Grades that the log says were made, and not reused."""
    return len(re.findall(r'"event": "graded".*"reused": false', (root / "log").read_text()))


def percentiles(what: str, values: Sequence[float]) -> None:
    """Print some."""
    ordered = sorted(values)
    shares = (0.5, 0.9, 0.99, 1.0)
    shown = ", ".join(
        f"{share:.0%} {1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.0f}" for share in shares
    )
    print(f"{what}, ms: {shown}")


def main() -> None:
    """Print every figure; exit with 1 where a promise is broken."""
    from tests.toy import make_workspace

    asked = _asked()
    if importlib.util.find_spec("fastapi") is None:
        print("no fastapi to serve with: .venv/bin/python -m pip install -e '.[serve]'")
        return
    promises = Promises()
    with tempfile.TemporaryDirectory() as place:
        root = make_workspace(Path(place)).root
        with server(root, asked.jobs) as (process, url):
            load = asyncio.run(run(process.pid, url, asked.clients, asked.seconds, asked.distinct))
        jobs, finished, contents, times = queued(root)
        sent = load.sent.total()
        print(f"{asked.clients} clients, {asked.seconds:g} s, {asked.jobs} graded at a time: {sent} requests,")
        print(f"{len(load.sent)} different answers, {len(times)} works, {sent / asked.seconds:.1f} requests a second")
        promises.at_most("requests without a record", sent - load.rewards[1.0], 0)
        promises.at_most("jobs more or less than requests", abs(jobs - sent), 0)
        promises.at_most("jobs that are not finished", jobs - finished, 0)
        promises.at_most("contents more or less than answers", abs(contents - len(load.sent)), 0)
        promises.at_most("grades made twice", fresh_grades(root) - len(load.sent), 0)
        promises.at_most("records more or less than answers", abs(stored(root) - len(load.sent)), 0)
    percentiles("latency of a request", load.latencies)
    percentiles("wait of a work for a slot", [wait for wait, _ in times])
    percentiles("time of a work in a slot", [spent for _, spent in times])
    late = load.resident[len(load.resident) // 5 :]
    print(f"memory of the server, MiB: {', '.join(f'{mib:.0f}' for mib in load.resident)}")
    promises.at_most("growth of its memory after a fifth of the time", max(late) / late[0], 1.2)
    promises.settle()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The service under load.")
    parser.add_argument("--clients", type=int, default=20, help="that send at once")
    parser.add_argument("--seconds", type=float, default=20, help="for which they send")
    parser.add_argument("--distinct", type=float, default=0.2, help="share of the answers that are new")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="graded at a time")
    return parser.parse_args()


if __name__ == "__main__":
    main()
