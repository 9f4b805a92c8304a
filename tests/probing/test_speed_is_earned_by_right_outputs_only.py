"""A time earns something only where every timed output was right, and a machine that cannot tell takes nothing away."""

import math
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.model import Limits, SignalKind
from harness.mutation.checks.null_answer import NullAnswer
from harness.numerics.paired import PairedComparison, PairedVerdict
from harness.probing import Draw, NotMeasurable, NotRun, ProbeFailure, WorkerLost
from harness.probing.answers import SandboxedAnswer
from harness.probing.challenge_code.local_answer import LocalAnswer
from harness.probing.challenge_code.mutants import module_of
from harness.probing.speed import MAX_RATIO, compare_speed, credit, measure
from harness.sandbox import Array, WorkerSpec, detect
from harness.timing.contest import ContestResult
from tests.reaching_in import REACHING_IN

REFERENCE = """
import numpy as np

def ordered(x):
    return np.sort(x, kind='stable')
"""
IDENTITY = "def ordered(x):\n    return x\n"
SIZE = 1 << 14
"""Numbers sorted in one call: some half a millisecond, several times what the call itself takes."""

REPLAYING = """
kept = []

def ordered(x):
    if not kept:
        kept.append(np.sort(x, kind='stable'))
    return kept[0]
"""
EVERY_FIFTH = """
calls = []

def ordered(x):
    calls.append(1)
    return np.sort(x, kind='stable') if len(calls) % 5 else x
"""
REPLYING_FIRST = (
    REACHING_IN
    + """
def ordered(x):
    reply_first(x)
    return np.sort(x, kind='stable')
"""
)
WRITING_LATE = (
    REACHING_IN
    + """
kept = []

def ordered(x):
    kept.append(mmap.mmap(served()["fds"][-1], x.nbytes, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
    return np.sort(x, kind='stable')
"""
)
DYING = """
import os, threading

def ordered(x):
    threading.Timer(0.002, os._exit, (0,)).start()
    return np.sort(x, kind='stable')
"""
SPINNING = """
import os, threading

def spin():
    while True:
        for fd in range(3, 16):
            try:
                os.fstat(fd)
            except OSError:
                pass

threading.Thread(target=spin, daemon=True).start()

def ordered(x):
    return np.sort(x, kind='stable')
"""


class Sorting:
    """Fresh numbers to sort in every call."""

    def __init__(self, seed: int) -> None:
        self.random = Draw(seed, "sorting")

    def prepare(self, answer):
        return None

    def draw(self):
        return self.random.rng.random(SIZE)

    def call(self, answer, prepared, given):
        return answer.call("ordered", given, returns=Array(given.shape, "float64"))

    def verify(self, given, output):
        if not np.array_equal(output, np.sort(given)):
            raise ProbeFailure("is not sorted")


@pytest.fixture
def raced(tmp_path: Path):
    """Races an answer's source against the reference."""
    reference = tmp_path / "reference.py"
    reference.write_text(REFERENCE)

    def go(source: str):
        folder = tmp_path / "answer"
        folder.mkdir(exist_ok=True)
        (folder / "answer.py").write_text("import numpy as np\n" + source)
        answer = SandboxedAnswer(WorkerSpec(folder, "answer.py", ("ordered",), Limits(), detect()))
        try:
            return compare_speed(answer, lambda: Sorting(1), reference, IDENTITY)
        finally:
            answer.close()
            go.signals = {signal.kind for signal in answer.signals}

    return go


@pytest.mark.parametrize("cheat", [REPLAYING, EVERY_FIFTH], ids=["replays", "skips every fifth call"])
def test_a_wrong_output_ends_the_race(raced, cheat):
    with pytest.raises(ProbeFailure, match="is not sorted"):
        raced(cheat)


@pytest.mark.parametrize("cheat", [REPLYING_FIRST, WRITING_LATE], ids=["replies first", "writes late"])
def test_an_output_that_can_still_change_has_no_time(raced, cheat):
    with pytest.raises(ProbeFailure) as caught:
        raced(cheat)
    assert isinstance(caught.value, WorkerLost) or caught.value.title == "is not sorted"


def test_an_answer_that_dies_between_calls_is_at_fault(raced):
    with pytest.raises(WorkerLost, match="the process ends"):
        raced(DYING)


def test_what_a_racing_answer_was_seen_doing_is_told(raced):
    with pytest.raises(WorkerLost):
        raced(WRITING_LATE)
    assert SignalKind.LATE_WRITE in raced.signals


@pytest.mark.alone
def test_a_thread_that_waits_for_inputs_has_no_time(raced):
    with pytest.raises(ProbeFailure, match="works between calls"):
        raced(SPINNING)


@pytest.mark.alone
def test_an_answer_five_times_as_slow_is_called_slower(raced):
    partly = raced(
        REFERENCE.replace("return np.sort(x, kind='stable')", "return [np.sort(x, kind='stable') for _ in range(5)][0]")
    )
    assert 0 < partly.fraction < 0.4  # on a busy machine the measured ratio can be far above five
    assert partly.figures["processes"] == 3
    assert "x the reference's time" in partly.detail


@pytest.mark.alone
def test_a_planted_fifth_is_called_slower_or_left_open(tmp_path):
    """Six sorts against five: on a busy machine it may stay open, but it is neither the same nor faster."""
    work = "import numpy as np\n\ndef ordered(x):\n    return [np.sort(x, kind='stable') for _ in range({})][0]\n"
    (tmp_path / "answer.py").write_text(work.format(6))
    (tmp_path / "five.py").write_text(work.format(5))
    target = WorkerSpec(tmp_path, "answer.py", ("ordered",), Limits(), detect())
    with closing(SandboxedAnswer(target)) as answer:
        compared = measure(answer, lambda: Sorting(1), tmp_path / "five.py", IDENTITY).comparison
    assert compared.verdict in (PairedVerdict.SLOWER, PairedVerdict.UNCLEAR)
    assert compared.low <= 1.2 * 1.02 and compared.high >= 1.2 / 1.02


@pytest.mark.parametrize("kind", NullAnswer.KINDS)
def test_a_null_answer_is_refuted(kind):
    with pytest.raises(ProbeFailure, match="is not sorted"):
        compare_speed(NullAnswer(kind), lambda: Sorting(1), Path("none"), IDENTITY)


def test_an_answer_outside_the_box_has_no_time():
    with pytest.raises(NotMeasurable, match="in the box only"):
        compare_speed(LocalAnswer(module_of("sorter", REFERENCE)), lambda: Sorting(1), Path("none"), IDENTITY)


def compared(ratio: float, spread: float, verdict: PairedVerdict) -> PairedComparison:
    return PairedComparison(ratio, ratio / spread, ratio * spread, 66, 3, verdict)


def result(ratio: float, verdict: PairedVerdict, spread: float = 1.01) -> ContestResult:
    comparison = compared(ratio, spread, verdict)
    return ContestResult(
        comparison, comparison, noise=1.0, background=0.0, resolved=True, page_faults=(0, 0), pinned=True, seconds=1.0
    )


@pytest.mark.parametrize("verdict", [PairedVerdict.SAME, PairedVerdict.FASTER])
def test_what_is_not_slower_has_full_credit(verdict):
    partly = credit(result(1.0 if verdict is PairedVerdict.SAME else 0.5, verdict))
    assert partly.fraction == 1.0
    assert set(partly.figures) == {
        "time_ratio", "time_ratio_low", "time_ratio_high", "pairs", "processes", "machine_noise"
    }  # fmt: skip


def test_faster_or_the_same_is_full_credit_though_it_is_open_which():
    assert credit(result(0.95, PairedVerdict.UNCLEAR, spread=1.06)).fraction == 1.0


@pytest.mark.parametrize("verdict", [PairedVerdict.SLOWER, PairedVerdict.UNCLEAR])
def test_a_difference_that_a_busy_machine_would_hide_takes_nothing(verdict):
    """Else equal files would have one mark on a quiet machine and another on a busy one."""
    assert credit(result(1.2, verdict)).fraction == 1.0
    with pytest.raises(NotRun) if verdict is PairedVerdict.UNCLEAR else nullcontext():
        assert credit(result(1.28, verdict)).fraction == 0.8


def test_credit_is_lost_only_where_the_whole_interval_lies_beyond():
    """Published answers at 1.09 to 1.16 in one run were level in the next: an interval that reaches down says no."""
    assert credit(result(1.3, PairedVerdict.SLOWER, spread=1.1)).fraction == 1.0
    assert credit(result(1.02 * MAX_RATIO, PairedVerdict.SLOWER, spread=1.1)).fraction == 0.05


@pytest.mark.parametrize(("ratio", "fraction"), [(1.5, 0.7), (2.0, 0.5), (MAX_RATIO, 0.05)])
def test_what_is_slower_earns_one_over_the_ratio(ratio, fraction):
    partly = credit(result(ratio, PairedVerdict.SLOWER))
    assert partly.fraction == fraction
    assert (
        partly.detail
        == f"{ratio:.3g}x the reference's time ({ratio / 1.01:.3g}..{ratio * 1.01:.3g}, 66 pairs, 3 processes)"
    )


def test_what_is_far_slower_earns_nothing():
    with pytest.raises(ProbeFailure, match="far slower"):
        credit(result(1.03 * MAX_RATIO, PairedVerdict.SLOWER))


def test_what_cannot_be_told_takes_nothing_away():
    with pytest.raises(NotRun, match="too close to call"):
        credit(result(1.1, PairedVerdict.UNCLEAR, spread=1.2))
    with pytest.raises(NotRun, match="hardly longer"):
        credit(replace(result(1.0, PairedVerdict.SAME), resolved=False))


def test_background_work_is_refuted_whatever_the_ratio():
    with pytest.raises(ProbeFailure, match="works between calls"):
        credit(replace(result(0.5, PairedVerdict.FASTER), background=0.06))


def test_wall_time_counts_where_it_contradicts_processor_time():
    quick, waiting = compared(0.5, 1.01, PairedVerdict.FASTER), compared(3.0, 1.01, PairedVerdict.SLOWER)
    both = replace(result(0.5, PairedVerdict.FASTER), wall=waiting)
    assert both.comparison is waiting
    assert replace(both, wall=compared(math.e, 10.0, PairedVerdict.UNCLEAR)).comparison == quick
