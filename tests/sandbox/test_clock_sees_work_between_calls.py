"""Work that an answer does while nothing is asked of it is seen from outside, and takes the worth of its times."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from harness.model import Limits
from harness.numerics.paired import PairedVerdict
from harness.sandbox import Array, CallStatus, WorkerSession, WorkerSpec
from harness.sandbox.accounting import process_stats
from harness.timing.contest import CallCost, Role, Trial, contest

HONEST = """
import numpy as np

def f(x):
    return np.sort(x)
"""
IDENTITY = "def f(x):\n    return x\n"
SPINNING = """
import threading

def spin():
    while True:
        pass

threading.Thread(target=spin, daemon=True).start()
"""
SIZE = 1 << 14
"""Numbers sorted in one call: some half a millisecond, several times what the call itself takes."""


@dataclass
class Sorter:
    """A worker that sorts."""

    box: WorkerSession

    @property
    def pid(self) -> int:
        return self.box.pid

    def run(self, given: np.ndarray) -> CallCost:
        reply = self.box.call("f", given, returns=Array(given.shape, "float64"))
        assert reply.status is CallStatus.RETURNED, reply.text
        return CallCost(reply.seconds, reply.processor)


@pytest.fixture
def raced(tmp_path: Path):
    """Races an answer against the honest one."""

    def race(answer: str, seconds: float):
        for role, source in zip(Role, (answer, HONEST, IDENTITY), strict=True):
            (tmp_path / f"{role}.py").write_text(source)
        rng = np.random.default_rng(1)

        @contextmanager
        def start(count: int) -> Iterator[list[Trial]]:
            with ExitStack() as opened:

                def sorter(role: Role) -> Sorter:
                    box = opened.enter_context(WorkerSession(WorkerSpec(tmp_path, f"{role}.py", ("f",), Limits())))
                    assert box.open().status is CallStatus.RETURNED
                    return Sorter(box)

                yield [Trial({role: sorter(role) for role in Role}, lambda: rng.random(SIZE)) for _ in range(count)]

        return contest(start, seconds=seconds)

    return race


@pytest.mark.alone
def test_a_thread_that_spins_between_calls_is_seen(raced):
    assert raced(HONEST + SPINNING, 1.0).works_in_background


@pytest.mark.alone
def test_an_honest_worker_rests(raced):
    result = raced(HONEST, 4.0)
    assert not result.works_in_background
    assert result.background < 0.01
    assert result.comparison.verdict in (PairedVerdict.SAME, PairedVerdict.UNCLEAR)
    assert result.comparison.processes >= 3


@pytest.mark.alone
def test_a_worker_that_waits_is_slower_although_it_uses_no_processor_time(raced):
    waiting = "import time\n" + HONEST.replace("    return", "    time.sleep(0.05)\n    return")
    result = raced(waiting, 4.0)
    assert result.comparison.verdict is PairedVerdict.SLOWER
    assert result.wall.ratio > 2 * result.processor.ratio


def test_pauses_are_metered_and_calls_are_not(opened, tier):
    box = opened("import time\n\ndef f(seconds):\n    end = time.thread_time() + seconds\n"
                 "    while time.thread_time() < end:\n        pass\n    return seconds\n", "f")  # fmt: skip
    meter = process_stats.IdleMeter(box.pid)
    for _ in range(3):
        meter.wake()
        assert box.call("f", 0.05, returns=Array((1,), "float64")).status is CallStatus.MALFORMED
        meter.rest()
    assert meter.processor < 0.01


def test_pauses_too_short_to_judge_say_nothing():
    meter = process_stats.IdleMeter(1)
    meter.seconds, meter.processor = 0.9 * process_stats.IDLE_SECONDS, 0.9 * process_stats.IDLE_SECONDS
    assert meter.share == 0.0
    meter.seconds = process_stats.IDLE_SECONDS
    assert meter.share == pytest.approx(0.9)
