"""Workspaces of the toy challenge with answers, for the tests of a Ray cluster."""

from pathlib import Path

from kill_and_resume import PROBES

from harness.workspace import Workspace
from tests.toy import REFERENCE, add_submission, make_workspace


def workspace_with(root: Path, answers: dict[str, str], probes: str = PROBES) -> Workspace:
    workspace = make_workspace(root, probes=probes, mutants="MUTANTS = ()\n", variants="VARIANTS = ()\n")
    for model, source in answers.items():
        add_submission(workspace, model, source)
    return workspace


def distinct(count: int) -> dict[str, str]:
    """So many right answers, every one another file."""
    return {f"m{number}": f"{REFERENCE}\n# {number}\n" for number in range(count)}
