"""Records of submissions that kill their grading processes."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from harness.grading.job import Job
from harness.grading.submission_grade import make_record, make_unrun_evidence, now
from harness.model import Environment, Evidence, Outcome, Record, Status

TITLE = "kills its worker"


def kills_its_worker(job: Job, where: Environment, left_out: Collection[str], deaths: Sequence[str]) -> Record:
    """Return the record of a submission that twice ended the process that grades it.

    The anchor fails for it, and other probed criteria with the anchor; the rest is not run.

    Args:
        where: environment of the last death.
        left_out: ids of the criteria omitted there.
        deaths: each death in words, with its node.
    """
    told = (
        f"the process that grades it ended while it ran: {', then '.join(deaths)}; the reference is graded well there"
    )
    options = replace(job.options, untimed=bool(left_out))
    found = list(_collect_evidence(job, left_out, told))
    return make_record(
        replace(job, where=where, options=options), found, status=Status.GRADED, seed=job.seed, made=now(), seconds={}
    )


def _collect_evidence(job: Job, left_out: Collection[str], told: str) -> Iterator[Evidence]:
    anchor = job.challenge.anchor
    for criterion in job.challenge.criteria:
        if criterion.review:
            yield make_unrun_evidence(criterion)
        elif criterion.id == anchor:
            yield Evidence.of(criterion, Outcome.FAILED, title=TITLE, detail=told)
        elif criterion in job.criteria and criterion.probes and criterion.id not in left_out:
            yield Evidence.of(criterion, Outcome.FAILED, rests_on=anchor, detail=f"{TITLE}, so that it earns nothing")
        else:
            yield Evidence.of(criterion, Outcome.NOT_RUN, detail=f"{TITLE} before it could be assessed")
