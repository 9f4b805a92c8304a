"""Replay of one recorded criterion."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import HarnessError, NotFoundError, SpecError, nearest
from harness.grading.collected_submission import excuse_criteria
from harness.grading.job import Job, prepare_job
from harness.grading.options import Options
from harness.languages import AnswerFiles
from harness.model import Challenge, Evidence, Record
from harness.probing.answers import Answer
from harness.probing.evidence.common_causes import settle_names
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.evidence.root_causes import judge_without_conditions
from harness.probing.submissions.opening import open_answer
from harness.sandbox.confinement import scratch
from harness.workspace import Workspace


@dataclass(frozen=True)
class Replayed:
    """Result of a replay; `repaired` if a repaired copy was run."""

    recorded: Evidence
    evidence: Evidence
    repaired: bool = False

    @property
    def same(self) -> bool | None:
        """Whether the criterion's own outcomes agree; None if the record has no such outcome."""
        recorded, now = self.recorded, self.evidence
        if (recorded.outcome, recorded.rests_on) == (now.outcome, now.rests_on):
            return True
        own = recorded.own_outcome if recorded.rests_on else recorded.outcome
        return own is now.outcome if own and own.assessed else None


def replay(workspace: Workspace, record: Record, criterion: str, folder: Path | None = None) -> Replayed:
    """Run one criterion's probes again with the recorded seed, on the submission or its repaired copy.

    Args:
        folder: the submission, if outside the workspace.

    Raises:
        NotFoundError: the criterion is unknown, or the submission is not on this machine.
        SpecError: the criterion has no probes, or was not run.
        HarnessError: the submission or its copy no longer builds.
    """
    challenge = workspace.challenge(record.challenge)
    _check_criterion(challenge, criterion)
    copied = record.repaired is not None and bool(record.repaired.evidence)
    kept = record.repaired.evidence if record.repaired and copied else record.evidence
    recorded = next((e for e in kept if e.criterion == criterion), None)
    if recorded is None or recorded.seed is None:
        why = f"was not run: {recorded.detail}" if recorded else "is not in this record; grade anew with --force"
        raise SpecError(record.name, f"{criterion!r} {why}", field="criterion")
    place = folder or workspace.find_folder_of(record)
    options = Options(device="emulated" if record.environment.device == "emulated" else "auto")
    with (
        prepare_job(workspace, place, options) as job,
        _open_files(job, copied) as files,
        open_answer(challenge, files, job.device) as opening,
    ):
        if opening.answer is None or opening.fault:
            raise HarnessError(f"{place}: does not build: {opening.fault or opening.unsupported}")
        others = [e for e in kept if e.criterion != criterion]
        evidence = _probe(job, recorded, opening.answer)
        if evidence.faulty and not _shows(evidence, recorded):
            evidence = _judge_without_conditions(job, others, evidence, opening.answer)
        *_, evidence = settle_names(job.code, [*others, evidence], opening.answer)
    return Replayed(recorded, evidence, copied)


def _check_criterion(challenge: Challenge, id: str) -> None:
    feeds = {c.id: c.probes for c in challenge.criteria}
    if id not in feeds:
        raise NotFoundError(f"no criterion {id!r}{nearest(id, feeds)}\n  try: harness prompt {challenge.id}")
    if not feeds[id]:
        problem = f"{id!r} is not fed by probes, so that there are no inputs to repeat"
        raise SpecError(challenge.id, problem, hint=f"try: harness prompt {challenge.id}")


def _probe(job: Job, recorded: Evidence, answer: Answer) -> Evidence:
    assert recorded.seed is not None
    criterion = job.challenge.criterion(recorded.criterion)
    found = probe_criterion(
        job.code, criterion, answer, recorded.seed, submission=job.submission, adapters=job.adapters
    )
    (charged,) = excuse_criteria([found], job.origin)
    return charged


def _shows(evidence: Evidence, recorded: Evidence) -> bool:
    return (evidence.outcome, evidence.seen) == (recorded.outcome, recorded.seen)


def _judge_without_conditions(job: Job, others: Sequence[Evidence], evidence: Evidence, answer: Answer) -> Evidence:
    """Judge a failure as a grade does, without the conditions that other criteria are charged with.

    Their evidence decides which conditions count, so those that lost their credit run again.
    """
    charged = {condition.criterion for condition in job.code.conditions}
    found = [
        _probe(job, e, answer) if e.rests_on and e.seed is not None else e for e in others if e.criterion in charged
    ]
    judged = judge_without_conditions(job.code, [*found, evidence], answer, job.adapters)
    return next(e for e in judged if e.criterion == evidence.criterion)


@contextmanager
def _open_files(job: Job, copied: bool) -> Iterator[AnswerFiles]:
    if not copied:
        yield job.answer
        return
    with scratch.folder() as folder:
        repaired = job.language.repaired(job.answer, job.challenge, folder, job.adapters)
        if repaired is None or repaired.detail:
            why = repaired.detail if repaired else "no repair gets its compiler past the failure"
            raise HarnessError(f"{job.submission.name}: its copy does not build any more: {why}")
        yield replace(job.answer, folder=folder)
