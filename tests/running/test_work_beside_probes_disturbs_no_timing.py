"""An answer's own tests run beside its probes; nothing is timed before they are over, and they end with the grade."""

import threading
import time
from pathlib import Path

import pytest

from harness.grading.options import Options
from harness.grading.stages import STAGES
from harness.grading.submission_grade import grade_one
from harness.sandbox import detect, run
from harness.sandbox.session.background_task import Beside, GivenUp, alone_in_grade, wait_for
from harness.timing.exclusive import timing_lock
from tests.toy import REFERENCE, SUBMISSION, TOML, add_submission, make_workspace

FOREVER = 3600.0
KILL_RATE = """
[[criteria]]
id = "kill_rate"
dimension = "correctness"
severity = "minor"
title = "Its own tests notice faults"
tests = "kill_rate"
"""
TESTED = SUBMISSION + '[tests]\ncommand = ["python", "-m", "pytest", "-q"]\n'
SUITE = """
import numpy as np
from answer import scaled

def test_sums():
    assert scaled(np.ones((2, 3)), 2.0).tolist() == [6.0, 6.0]
"""
SPINNING = "def test_spins():\n    while True:\n        pass\n"


def far() -> float:
    return time.perf_counter() + FOREVER


def test_a_timing_waits_for_what_runs_beside_it() -> None:
    over = threading.Event()
    seen = []

    def act() -> str:
        over.wait()
        seen.append("work")
        return "done"

    work = Beside(act)
    threading.Timer(0.3, over.set).start()
    with wait_for(work, far()):
        with timing_lock():
            seen.append("timing")
        assert seen == ["work", "timing"]
        assert work.result(far()) == "done"


def test_outside_of_a_grade_a_timing_waits_for_nothing() -> None:
    over = threading.Event()
    work = Beside(over.wait)
    with wait_for(work, time.perf_counter()):
        alone_in_grade()  # no longer than its deadline
        over.set()
    alone_in_grade()


def test_a_failure_of_the_work_is_raised_where_its_result_is_asked_for() -> None:
    def act() -> None:
        raise OSError("ours")

    with pytest.raises(OSError, match="ours"):
        Beside(act).result(far())


def test_work_that_is_given_up_ends_its_processes(tmp_path: Path) -> None:
    raised: list[BaseException] = []

    def act() -> None:
        try:
            run(["sleep", "600"], tmp_path, tier=detect(), seconds=FOREVER)
        except BaseException as error:
            raised.append(error)
            raise

    work = Beside(act)
    assert work.result(time.perf_counter() + 0.5) is None
    assert [type(error) for error in raised] == [GivenUp]


def test_the_evidence_is_the_same_beside_and_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_workspace(tmp_path, toml=TOML + KILL_RATE)
    folder = add_submission(workspace, "m", REFERENCE, TESTED)
    (folder / "test_answer.py").write_text(SUITE)
    records = []
    for cores in ({0, 1}, {0}):
        monkeypatch.setattr("os.sched_getaffinity", lambda pid, cores=cores: cores)
        stages: list[str] = []
        records.append(grade_one(workspace, folder, Options(seed=1), stages.append).record)
        assert {"values", "linear", "own tests"} <= set(stages)
        seconds = records[-1].seconds
        assert [s for s in seconds if s != "box"] == [s.name for s in STAGES if s.name in seconds]
    assert records[0].evidence == records[1].evidence
    assert records[0].evidence[-1].satisfied > 0


def test_an_interrupted_grade_does_not_wait_for_the_tests(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, toml=TOML + KILL_RATE)
    folder = add_submission(workspace, "m", REFERENCE, TESTED)
    (folder / "test_answer.py").write_text(SPINNING)

    def interrupt(stage: str) -> None:
        if stage == "linear":
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        grade_one(workspace, folder, Options(), interrupt)
    assert threading.active_count() == before


def test_a_grade_that_is_cut_off_leaves_its_tests(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, toml=TOML + KILL_RATE)
    folder = add_submission(workspace, "m", REFERENCE, TESTED)
    (folder / "test_answer.py").write_text(SPINNING.replace("pass", "import time; time.sleep(0.001)"))
    record = grade_one(workspace, folder, Options(seconds=3.0)).record
    assert record.cut_off
    assert record.evidence[-1].outcome.value == "not_run"
