"""Attempts of models at the toy challenge."""

import shutil
from pathlib import Path

from harness.grading.submission_grade import Graded, grade_one
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, SUBMISSION, add_submission


def add_attempt(workspace: Workspace, model: str, number: int, source: str, toml: str = SUBMISSION) -> Path:
    """Put one of several answers into a workspace; its folder."""
    made = add_submission(workspace, f"{model}-to-be-moved", source, toml.replace("{model}", model))
    folder = workspace.submissions_folder / model / CHALLENGE_ID / f"attempt-{number}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, folder)
    made.parent.rmdir()
    return folder


def grade_attempts(code: ChallengeCode, model: str, right: int, wrong: int) -> list[Graded]:
    """Add so many right answers, then so many wrong ones, and grade them."""
    workspace = code.workspace
    sources = [code.source()] * right + [code.source(code.mutants[0])] * wrong
    folders = [add_attempt(workspace, model, number, source) for number, source in enumerate(sources, 1)]
    return [grade_one(workspace, folder) for folder in folders]
