"""What may use some processor time ends within one bound of wall time, both tries together."""

import time

import pytest

from harness.cuda.compilers import compile_time
from harness.cuda.compilers.compile_time import CompileTime
from harness.sandbox import CommandLimit, detect, run
from harness.sandbox.accounting.wall_bound import compute_remaining_time, compute_remaining_wall, ends_by, wall_bound
from harness.timing import exclusive
from harness.timing.exclusive import MachineBusy, second_try


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    """Locks of this test's own: no other grade of the machine is waited for."""
    monkeypatch.setenv(exclusive.FOLDER, str(tmp_path))


@pytest.mark.parametrize("limit", [0.1, 2.0, 20.0, 600.0])
def test_the_bound_is_three_times_the_processor_time_and_five_seconds(limit):
    assert wall_bound(limit) == 3 * limit + 5


@pytest.mark.parametrize("limit", [0.5, 10.0])
@pytest.mark.parametrize(
    ("share", "end"),
    [(1.0, 1.0), (0.9, 1.0), (0.4, 1.0), (0.2, 0.5), (0.0, 0.5)],
    ids=["alone", "nearly alone", "on its way", "starved", "never begun"],
)
def test_a_first_try_leaves_half_of_the_bound_unless_it_is_on_its_way(limit, share, end):
    """A call that is given a share of a processor: it is ended when it has used its limit, or at the end of its try."""
    if share == 0.2 and limit == 0.5:
        share = 0.05  # a small limit is used up within five seconds at any larger share
    spent = 0.0
    while compute_remaining_time(limit, spent, spent * share, spent * share) >= 0.01:
        spent += 0.01
    used_up = limit / share if share else float("inf")
    assert spent == pytest.approx(min(used_up, end * wall_bound(limit)), abs=0.05)
    assert spent <= wall_bound(limit)


def test_a_call_that_works_has_its_processor_time_though_the_clock_lost_some_of_it():
    assert compute_remaining_time(10.0, 10.0, 10.0, 9.2) == pytest.approx(0.8)  # such as what a hypervisor took
    assert compute_remaining_time(10.0, 10.0, 10.0, 10.0) < 0.01
    assert compute_remaining_time(10.0, 10.0, 10.0, 3.0) < 0.01  # it waits


def test_nothing_outlasts_the_moment_that_is_set(tmp_path):
    with ends_by(time.perf_counter() + 1.0):
        with ends_by(time.perf_counter() + 100.0):
            assert compute_remaining_wall(50.0, 0.0, 0.0) <= 1.0
        start = time.monotonic()
        done = run(["python", "-c", "import time; time.sleep(600)"], tmp_path, tier=detect(), seconds=100)
    assert done.exceeded is CommandLimit.WALL_CLOCK and time.monotonic() - start < 20
    assert compute_remaining_wall(50.0, 0.0, 0.0) > 50.0


def test_a_second_try_has_what_the_first_one_left():
    with second_try(2.0, spent=5.0):
        assert compute_remaining_wall(2.0, 0.0, 0.0) == pytest.approx(wall_bound(2.0) / 2, abs=0.5)
    with second_try(2.0, spent=8.5):
        assert compute_remaining_wall(2.0, 0.0, 0.0) <= wall_bound(2.0) - 8.5


def test_there_is_no_second_try_where_no_time_is_left_for_one():
    with pytest.raises(MachineBusy, match="its first try took all the time"), second_try(2.0, spent=9.5):
        raise AssertionError


@pytest.mark.parametrize(
    ("act", "tries", "end"),
    [
        ("while True: pass", 1, CommandLimit.PROCESSOR_TIME),
        ("import time; time.sleep(600)", 2, CommandLimit.WALL_CLOCK),
    ],
    ids=["loops", "sleeps"],
)
def test_a_compiler_that_never_ends_has_one_bound_for_both_tries(tmp_path, monkeypatch, act, tries, end):
    done = []
    monkeypatch.setattr(compile_time, "run", lambda *a, **k: done.append(run(*a, **k)) or done[-1])
    allowed = CompileTime(1.0)
    last = allowed.run(["python", "-c", act], tmp_path, tier=detect())
    assert (last.exceeded, len(done)) == (end, tries)
    assert sum(each.seconds for each in done) <= wall_bound(1.0) + 1.0
