"""A right answer is judged by as many seeds as wanted, and a verdict against it is counted."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.mutation.trials.right_answers import judge_right_answers
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace


@pytest.fixture
def code(tmp_path: Path) -> ChallengeCode:
    (tmp_path / "challenges").mkdir()
    workspace = Workspace(tmp_path)
    scaffold.challenge(workspace, "rows")
    return ChallengeCode(workspace, workspace.challenge("rows"))


def test_every_answer_meets_every_seed(code: ChallengeCode) -> None:
    """The reference and each variant are right by three seeds."""
    trials = judge_right_answers(code, 5, 3, jobs=2)
    names = ["reference", *(variant.name for variant in code.variants)]
    assert [(trial.seed, trial.name) for trial in trials] == [(seed, name) for seed in (5, 6, 7) for name in names]
    assert all(trial.right for trial in trials), trials


def test_a_verdict_against_one_is_kept_with_its_seed(code: ChallengeCode) -> None:
    """A wrong answer among the variants is judged wrong by each seed, with the reason."""
    mutant = code.mutants[0]
    wrong = replace(code.variants[0], name="not right", edits=mutant.edits, file=None)
    code.__dict__["variants"] = (wrong,)
    reference, variant = judge_right_answers(code, 5, 1)
    assert reference.right
    assert not variant.right and mutant.criterion in variant.detail


def test_a_run_that_is_ended_leaves_no_process(code: ChallengeCode) -> None:
    """SIGTERM to the command ends the processes that judge, and the boxes they judge in."""
    root = code.workspace.root
    words = (sys.executable, "-m", "harness", "check", "rows", "--seeds", "40", "--seed", "5", "-j", "2")
    run = subprocess.Popen(words, env={**os.environ, "HARNESS_WORKSPACE": str(root)}, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None and run.stderr.readline()  # a first verdict: the boxes are at work
    started = descendants(run.pid)
    assert len(started) >= 2
    run.terminate()
    run.communicate(timeout=30)
    end = time.monotonic() + 30
    while alive(started) and time.monotonic() < end:
        time.sleep(0.1)
    assert alive(started) == set()


def descendants(pid: int) -> set[int]:
    """Processes that a process started, and those that they did."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child} | descendants(child)
    return found


def alive(pids: set[int]) -> set[int]:
    """Those that run; one that waits to be reaped does not."""

    def runs(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return {pid for pid in pids if runs(pid)}


def test_a_run_goes_on_where_it_was_cut_off(code: ChallengeCode) -> None:
    """Trials kept by an earlier run are not made again; more seeds add to them."""
    first = judge_right_answers(code, 5, 1)
    made: list[int] = []
    again = judge_right_answers(code, 5, 2, progress=lambda trial: made.append(trial.number))
    assert again[: len(first)] == first
    assert made == [trial.number for trial in again][len(first) :]
