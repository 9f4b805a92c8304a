"""What is found of a submission without files: its reply holds no answer, or could not be read with certainty."""

from harness.model import NO_ANSWER, UNBUILT, BuildFailure, Evidence, Outcome
from harness.running.job import Job
from harness.running.stage_result import StageResult


def found_without_files(job: Job) -> StageResult | None:
    """Return what is found where there is nothing to run; None where there is.

    Of a reply that holds no answer every criterion fails that does not ask a reviewer. Of one that could not be read
    none is assessed: it is our side that does not know what the answer is.
    """
    about, criteria = job.submission.about, [c for c in job.criteria if not c.review]
    if about.unanswered:
        evidence = {c.id: Evidence.of(c, Outcome.FAILED, detail=NO_ANSWER, rests_on=UNBUILT) for c in criteria}
        return StageResult(evidence, build_failure=BuildFailure(stage="reply", text=about.unanswered))
    if about.unread:
        detail = f"the reply could not be read with certainty: it {about.unread}"
        return StageResult({c.id: Evidence.of(c, Outcome.JUDGE_ERROR, detail=detail) for c in criteria})
    return None
