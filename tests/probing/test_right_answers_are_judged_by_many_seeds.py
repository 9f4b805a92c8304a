"""By any seed right answers pass, and rewards miss no known fault."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.mutation.trials.reward_misses import MOST_SEEDS, RewardGrader, grade_mutants, list_reward_mutants
from harness.mutation.trials.right_answers import judge_right_answers
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace
from tests.commands import called


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


RESULT = "    return weights / total\n"


def test_faults_that_every_input_shows_are_never_missed(code: ChallengeCode) -> None:
    """The template's critical mutants earn less by each seed."""
    trials = grade_mutants(code, 5, 2)
    assert [trial.criterion for trial in trials] == ["values", "large_logits", "large_logits"]
    assert all(trial.right and trial.missed == () and trial.seeds == 2 for trial in trials)


def test_a_fault_that_no_input_shows_is_missed_by_every_seed(code: ChallengeCode) -> None:
    code.__dict__["mutants"] = (replace(code.mutants[0], edits=((RESULT, RESULT + "\n"),)),)
    (trial,) = grade_mutants(code, 5, 3)
    assert trial.missed == (5, 6, 7)
    assert not trial.right


def test_a_fault_missed_once_is_tried_by_fifty_seeds(code: ChallengeCode, monkeypatch: pytest.MonkeyPatch) -> None:
    """One miss in a few seeds shows no rate: the fault is graded on until a second miss, or by 50 seeds."""
    from harness.mutation.trials import reward_misses

    calls = iter([True, *[False] * (MOST_SEEDS - 1)])
    monkeypatch.setattr(reward_misses.RewardGrader, "_misses", lambda *_: next(calls))
    grader = reward_misses.RewardGrader(code, 5, 2)
    trial = grader.trial(0)
    assert (trial.seeds, trial.missed, trial.right) == (MOST_SEEDS, (5,), True)


def test_only_mutants_of_criteria_that_a_reward_counts_are_graded(code: ChallengeCode) -> None:
    gating = {criterion.id for criterion in code.challenge.criteria if criterion.gating}
    assert {mutant.criterion for mutant in list_reward_mutants(code)} == gating


def test_trials_of_as_many_seeds_are_not_made_again(code: ChallengeCode) -> None:
    first = grade_mutants(code, 5, 2)
    made: list[str] = []
    assert grade_mutants(code, 5, 1, progress=lambda trial: made.append(trial.name)) == first
    assert made == []


@pytest.mark.parametrize("missed", [False, True])
def test_the_command_fails_where_a_fault_is_missed(code: ChallengeCode, missed: bool) -> None:
    """Every trial is in the JSON, and the exit code is 1 where a fault is missed more than once in 50 seeds."""
    if missed:
        place = code.workspace.challenge_folder("rows") / "mutants.py"
        text = place.read_text(encoding="utf-8")
        place.write_text(text.replace("logits.dtype.type(1.000001)", "logits.dtype.type(1)"), encoding="utf-8")
    done = called(code.workspace.root, "check", "rows", "--rewards", "2", "--seed", "5", "--json")
    assert done.returncode == (1 if missed else 0)
    assert [len(trial["missed"]) for trial in json.loads(done.stdout)] == ([2, 0, 0] if missed else [0, 0, 0])


def test_what_an_option_costs_is_no_fault_that_a_reward_misses() -> None:
    """A cache whose pages leak gives right values: only the probes of memory see it, which no reward has."""
    code = ChallengeCode(Workspace.find(), Workspace.find().challenge("kv_cache"))
    number = next(n for n, mutant in enumerate(list_reward_mutants(code)) if mutant.name == "pages leak")
    trial = RewardGrader(code, 5, 1).trial(number)
    assert (trial.missed, trial.costs_alone, trial.right) == ((5, 6), True, True)
