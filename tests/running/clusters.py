"""Shared by the tests of a Ray cluster: how they are marked, and workspaces of the toy challenge with answers."""

from pathlib import Path

import pytest
from kill_and_resume import PROBES

from harness.workspace import Workspace
from tests.toy import REFERENCE, add_submission, make_workspace

ON_RAY = [
    pytest.mark.xdist_group("ray"), pytest.mark.timeout(600),
    # Ray leaves sockets and files of processes that were killed to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]  # fmt: skip


def workspace_with(root: Path, answers: dict[str, str], probes: str = PROBES) -> Workspace:
    workspace = make_workspace(root, probes=probes, mutants="MUTANTS = ()\n", variants="VARIANTS = ()\n")
    for model, source in answers.items():
        add_submission(workspace, model, source)
    return workspace


def distinct(count: int) -> dict[str, str]:
    """So many right answers, every one another file."""
    return {f"m{number}": f"{REFERENCE}\n# {number}\n" for number in range(count)}
