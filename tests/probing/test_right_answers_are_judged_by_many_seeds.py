"""A right answer is judged by as many seeds as wanted, and a verdict against it is counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import scaffold
from harness.probing.code import ChallengeCode
from harness.probing.right_answers import judge_right_answers
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


def test_a_run_goes_on_where_it_was_cut_off(code: ChallengeCode) -> None:
    """Trials kept by an earlier run are not made again; more seeds add to them."""
    first = judge_right_answers(code, 5, 1)
    made: list[int] = []
    again = judge_right_answers(code, 5, 2, progress=lambda trial: made.append(trial.number))
    assert again[: len(first)] == first
    assert made == [trial.number for trial in again][len(first) :]
