"""A grade that our own side failed at: tried again, and in the end recorded apart from all marks."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.errors import BusyMachineError, HarnessError, JudgeError
from harness.model import Status
from harness.running.job import prepared
from harness.running.options import Options, Progress, no_progress
from harness.running.submission_grade import Graded, grade_one, keep, now, recorded, unmeasured
from harness.workspace import Workspace

RETRIES = 3
"""Further attempts after the first."""
PAUSE = 0.25
"""Seconds before the first of them, more before each next: a shortage of memory or processes may pass."""

Attempt = Callable[[Workspace, Path, Options, Progress], Graded]


def grade_with_retries(
    workspace: Workspace, folder: Path, options: Options, progress: Progress = no_progress, attempt: Attempt = grade_one
) -> Graded:
    """Grade one submission; where our own side fails, try again, and at last record that and nothing else.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how to grade.
        progress: called with the name of each stage as it begins.
        attempt: grades once; raises `JudgeError` where our side failed.

    Returns:
        The grade, or a record of status `judge_error` in which no criterion is assessed.

    Raises:
        HarnessError: trying again cannot help, or not even that record can be made.
    """
    failure = ""
    for number in range(1, RETRIES + 2):
        if failure:
            progress(f"attempt {number} of {RETRIES + 1}, after: {_line(failure)}")
            time.sleep(PAUSE * (number - 1))
        try:
            graded = attempt(workspace, folder, options, progress)
        except JudgeError as error:
            failure = str(error).encode(errors="replace").decode()  # a path may hold bytes that are no text
            if isinstance(error, BusyMachineError):  # took all the wall time that a grade may wait
                return ungraded(workspace, folder, options, failure, number)
            continue
        reason = f"{graded.reason}, at attempt {number}, after: {_line(failure)}" if failure else graded.reason
        return replace(graded, reason=reason)
    return ungraded(workspace, folder, options, f"{failure}\n  tried {RETRIES + 1} times")


def ungraded(workspace: Workspace, folder: Path, options: Options, failure: str, tries: int = RETRIES + 1) -> Graded:
    """The record that says only how we failed, saved where it belongs.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how it was to be graded.
        failure: what went wrong.
        tries: attempts that were made.

    Raises:
        JudgeError: what failed stands in the way of the record, too.
    """
    try:
        with prepared(workspace, folder, options, copied=False) as job:
            evidence = [unmeasured(criterion, failure) for criterion in job.challenge.criteria]
            record = recorded(
                job, evidence, status=Status.JUDGE_ERROR, seed=options.seed or 0, made=now(), seconds={},
                error=failure,
            )  # fmt: skip
            tried = f"tried {tries} time{'s' * (tries > 1)}"
            return Graded(folder, record, False, tried, keep(workspace, job.options, record))
    except (HarnessError, OSError):
        raise JudgeError(failure) from None


def _line(text: str) -> str:
    return text.partition("\n")[0]
