"""A toy workspace whose answers are graded, once for all tests of a process that begin with one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.grading.submission_grade import grade_one
from harness.probing.challenge_code.code import ChallengeCode
from tests.attempts import grade_attempts
from tests.toy import CHALLENGE_ID, add_submission, make_workspace


@pytest.fixture(scope="session")
def _graded_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of which every test gets a copy."""
    workspace = make_workspace(tmp_path_factory.mktemp("graded"))
    code = ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID))
    for model, source in (("right", code.source()), ("wrong", code.source(code.mutants[0]))):
        assert not grade_one(workspace, add_submission(workspace, model, source)).reused
    return workspace.root


@pytest.fixture
def graded_toy(toy: ChallengeCode, _graded_once: Path) -> ChallengeCode:
    """The tiny challenge in a workspace of its own, where a right and a wrong answer were graded."""
    shutil.copytree(_graded_once, toy.workspace.root, dirs_exist_ok=True)
    return toy


@pytest.fixture(scope="session")
def _attempted_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with three attempts of one model, two of them right; every test gets a copy."""
    workspace = make_workspace(tmp_path_factory.mktemp("attempted"))
    grade_attempts(ChallengeCode(workspace, workspace.challenge(CHALLENGE_ID)), "m", right=2, wrong=1)
    return workspace.root


@pytest.fixture
def attempts(toy: ChallengeCode, _attempted_once: Path) -> ChallengeCode:
    """The tiny challenge in a workspace of its own, with three graded attempts of the model `m`."""
    shutil.copytree(_attempted_once, toy.workspace.root, dirs_exist_ok=True)
    return toy


@pytest.fixture(scope="module")
def two() -> Iterator[object]:
    """A Ray cluster of two nodes."""
    from tests.ray_nodes import local_nodes

    with local_nodes(1, 1) as nodes:
        yield nodes
