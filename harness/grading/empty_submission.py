"""Results for a submission without files."""

from harness.grading.job import Job
from harness.grading.stage_result import StageResult
from harness.model import NO_ANSWER, UNBUILT, BuildFailure, Evidence, Outcome


def judge_without_files(job: Job) -> StageResult | None:
    """Return the result of a submission without files, or None if it has files.

    A reply without code fails every criterion that is run, and those that ask a reviewer, who has nothing to review. A
    reply that could not be read is a failure of our side.
    """
    about, run = job.submission.about, [c for c in job.criteria if not c.review]
    if about.unanswered:
        lost = [*run, *(c for c in job.challenge.criteria if c.review)]
        evidence = {c.id: Evidence.of(c, Outcome.FAILED, detail=NO_ANSWER, rests_on=UNBUILT) for c in lost}
        return StageResult(evidence, build_failure=BuildFailure(stage="reply", text=f"the reply {about.unanswered}"))
    if about.unread:
        detail = f"the reply could not be read with certainty: it {about.unread}"
        return StageResult({c.id: Evidence.of(c, Outcome.JUDGE_ERROR, detail=detail) for c in run})
    return None
