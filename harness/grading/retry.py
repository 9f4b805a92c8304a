"""Retries of grades that failed on our side."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.errors import BusyMachineError, HarnessError, JudgeError
from harness.grading.job import prepare_job
from harness.grading.options import Options, Progress, no_progress
from harness.grading.submission_grade import Graded, grade_one, keep, make_record, make_unrun_evidence, now
from harness.model import Status
from harness.workspace import Workspace

RETRIES = 3
"""Attempts after the first."""
PAUSE = 0.25
"""Seconds per attempt so far to wait before the next, as a shortage of memory or processes may pass."""

Attempt = Callable[[Workspace, Path, Options, Progress], Graded]


def grade_with_retries(
    workspace: Workspace, folder: Path, options: Options, progress: Progress = no_progress, attempt: Attempt = grade_one
) -> Graded:
    """Grade one submission, and try again after failures of our side.

    After the last, return a record of status `judge_error`.

    Args:
        attempt: function that grades once and raises `JudgeError` if our side fails.

    Raises:
        HarnessError: another attempt cannot help, or even that record cannot be made.
    """
    failure = ""
    for number in range(1, RETRIES + 2):
        if failure:
            progress(f"attempt {number} of {RETRIES + 1}, after: {_get_line(failure)}")
            time.sleep(PAUSE * (number - 1))
        try:
            graded = attempt(workspace, folder, options, progress)
        except JudgeError as error:
            failure = str(error).encode(errors="replace").decode()  # a path may hold bytes that are not text
            if isinstance(error, BusyMachineError):  # it has used up the wall time of a grade
                return record_failure(workspace, folder, options, failure, number)
            continue
        reason = f"{graded.reason}, at attempt {number}, after: {_get_line(failure)}" if failure else graded.reason
        return replace(graded, reason=reason)
    return record_failure(workspace, folder, options, f"{failure}\n  tried {RETRIES + 1} times")


def record_failure(
    workspace: Workspace, folder: Path, options: Options, failure: str, tries: int = RETRIES + 1
) -> Graded:
    """Save a record of our failure alone.

    Raises:
        JudgeError: the record cannot be made.
    """
    try:
        with prepare_job(workspace, folder, options, copied=False) as job:
            evidence = [make_unrun_evidence(criterion, failure) for criterion in job.challenge.criteria]
            record = make_record(
                job, evidence, status=Status.JUDGE_ERROR, seed=options.seed or 0, made=now(), seconds={}, error=failure
            )
            tried = f"tried {tries} time{'s' * (tries > 1)}"
            return Graded(folder, record, False, tried, keep(workspace, job.options, record))
    except (HarnessError, OSError):
        raise JudgeError(failure) from None


def _get_line(text: str) -> str:
    return text.partition("\n")[0]
