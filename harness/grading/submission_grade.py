"""One grade: snapshot, stages, score, record."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import HarnessError, JudgeError, StoreError
from harness.grading.collected_submission import adapter_is_at_fault
from harness.grading.job import Job, prepare_job
from harness.grading.options import Options, Progress, no_progress
from harness.grading.redaction import without_quotes
from harness.grading.stage_result import StageResult
from harness.grading.stages import run_stages
from harness.model import (
    BuildFailure,
    Criterion,
    Evidence,
    GradeProfile,
    Observation,
    Outcome,
    Record,
    RepairedGrade,
    Status,
    merge_signals,
)
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.probing.evidence.charging import without_idle_credit
from harness.quality.hints import hints
from harness.quality.unwritten import unwritten_entry
from harness.sandbox import Snapshot, detect, has_line
from harness.sandbox.self_test import assert_holds
from harness.scoring import score
from harness.scoring.reward import reward
from harness.store.record_store import Store
from harness.workspace import Workspace
from harness.workspace.stored_files import remedy

__all__ = ["Graded", "grade_one"]

Located = TypeVar("Located", Evidence, Observation, BuildFailure)

TURNS_REMARK = "asked in up to {} turns, each reply in view of what the grader found in the one before"
FREE_BYTES = 1 << 20
"""Free disk space, in bytes, below which a failed build is blamed on the machine."""


@dataclass(frozen=True)
class Graded:
    """A record and its history.

    Attributes:
        reason: why it was graded or reused.
        save_error: errors of saving it, or empty.
    """

    folder: Path
    record: Record
    reused: bool
    reason: str
    save_error: str


def grade_one(
    workspace: Workspace, folder: Path, options: Options | None = None, progress: Progress = no_progress
) -> Graded:
    """Grade one submission, or reuse the record of an earlier grade of the same content.

    Raises:
        JudgeError: our side failed; retry may help.
        HarnessError: the submission or challenge is malformed, or the machine lacks something.
    """
    options = options or Options()
    progress("reading")
    try:
        with prepare_job(workspace, folder, options, progress) as job:
            if not options.force and options.seed is None and (record := _find_earlier(job)):
                return Graded(
                    folder,
                    record,
                    True,
                    f"nothing changed since {record.made:%Y-%m-%d %H:%M:%S} UTC",
                    _keep_new(job, record),
                )
            assert_holds(detect())
            record = _grade_job(job)
        reason = "forced" if options.force else "not graded before in this state on this machine"
        return Graded(folder, record, False, reason, _keep_new(job, record))
    except HarnessError:
        raise
    except Exception as error:  # a submission's faults are data: this is a fault of the harness or the machine
        todo = f"\n  {remedy(error)}" if isinstance(error, OSError) else ""
        raise JudgeError(f"{folder}: {type(error).__name__}: {error}{todo}") from error


def keep(workspace: Workspace, options: Options, record: Record) -> str:
    """Save a record in the store and among the published ones; return the errors."""
    return keep_all(workspace, [(options, record)])[0]


def keep_all(workspace: Workspace, made: Sequence[tuple[Options, Record]]) -> list[str]:
    """Save records like `keep`, with one disk sync of the store."""
    store = Store(workspace)
    unstored = ""
    try:
        store.add_together([(record, _is_reusable(options, record)) for options, record in made if options.stored])
    except StoreError as error:
        unstored = str(error)
    errors = []
    for options, record in made:
        problems = [unstored] if options.stored else []
        try:
            if options.publish and not record.partial:
                store.publish(record)
        except StoreError as error:
            problems.append(str(error))
        errors.append("\n".join(filter(None, problems)))
    return errors


def _is_reusable(options: Options, record: Record) -> bool:
    own_draw = options.seed is None and record.environment.tier.trusted
    return own_draw and record.status is not Status.JUDGE_ERROR and not record.cut_off


def _find_earlier(job: Job) -> Record | None:
    try:
        found = Store(job.workspace).find(job.key)
        # the same files may have been graded elsewhere
        return found and found.model_copy(update={"outside": job.outside})
    except StoreError as error:
        job.progress(str(error).partition("\n")[0])
        return None


def _keep_new(job: Job, record: Record) -> str:
    """Save a record; unless forced, one published of the same files with the same outcomes stays."""
    stays = job.options.publish and not job.options.force and _is_published_alike(job, record)
    return keep(job.workspace, replace(job.options, publish=False) if stays else job.options, record)


def _is_published_alike(job: Job, record: Record) -> bool:
    """Return whether a record of the same files, made elsewhere or earlier, has the same outcomes and marks."""
    try:
        path = job.workspace.record_path(record.model, record.challenge, record.attempt)
        published = job.workspace.record_in(path)
    except (OSError, HarnessError):
        return False
    same_files = published.key in (job.key_in(published.environment), job.key_in(published.environment, job.left_out))
    return same_files and _list_outcomes(published) == _list_outcomes(record)


def _list_outcomes(record: Record) -> list[object]:
    judged = [(e.criterion, e.outcome, e.fraction, e.title, e.rests_on) for e in record.evidence]
    of = [record.provenance, record.origin, record.outside, record.turns, record.ranked, record.environment.harness]
    return [*of, record.status, record.overall, record.dimensions, record.gates, record.signals, *judged]


def _grade_job(job: Job) -> Record:
    made = now()
    found = run_stages(job)
    _assert_machine_is_sound(job.files, found)
    failure = found.build_failure and _check_locations(job, found.build_failure)
    if failure and (fault := _find_adapter_fault(job, failure)):
        evidence, failure = [make_unrun_evidence(c, fault) for c in job.challenge.criteria], None
    else:
        evidence = [
            _check_locations(job, found.evidence.get(c.id) or _make_missing_evidence(job, found, c))
            for c in job.challenge.criteria
        ]
    evidence = without_idle_credit(job.challenge, evidence, built=failure is None)
    broken = next((e.detail for e in evidence if e.outcome is Outcome.JUDGE_ERROR), None)
    status = Status.JUDGE_ERROR if broken else Status.BUILD_FAILED if failure else Status.GRADED
    return make_record(
        job,
        evidence,
        build=failure,
        status=status,
        seed=job.seed,
        made=made,
        error=broken,
        repaired=_check_copy_locations(job, found) if failure else None,
        cut_off=found.cut_off,
        seconds={stage: rounded for stage, spent in found.seconds.items() if (rounded := round(spent, 3))},
        signals=merge_signals(found.signals),
        remarks=tuple(_list_remarks(job)),
    )


def _find_adapter_fault(job: Job, failure: BuildFailure) -> str:
    if adapter_is_at_fault(failure, job.adapters):
        return f"the adapter, which is no part of the answer, does not build: {failure.text}"
    return ""


def _check_locations(job: Job, found: Located) -> Located:
    """Drop locations that the submission lacks: their text may come from the submission itself."""
    places = tuple(place for place in found.locations if has_line(job.files.path, place))
    shown: dict[str, object] = {"locations": places}
    if isinstance(found, Evidence):
        shown["also"] = tuple(_check_locations(job, further) for further in found.also)
    return found.model_copy(update=shown)


def _check_copy_locations(job: Job, found: StageResult) -> RepairedGrade | None:
    if found.repaired is None:
        return None
    evidence = tuple(_check_locations(job, item) for item in found.repaired.evidence)
    return found.repaired.model_copy(update={"evidence": evidence})


def make_record(
    job: Job,
    evidence: Sequence[Evidence],
    *,
    status: Status,
    build: BuildFailure | None = None,
    cut_off: bool = False,
    **rest: Any,
) -> Record:
    """Score the evidence and return the record; `rest` sets further fields."""
    unmarked = job.origin.unmarked if job.origin else {}
    about, options = job.submission.about, job.options
    scored = score(job.challenge, evidence, built=build is None, answered=about.unanswered is None, unmarked=unmarked)
    asked = GradeProfile.REWARD.criteria(job.challenge, options.only) - unmarked.keys()
    unknown = cut_off or status is Status.JUDGE_ERROR
    record = Record(
        model=about.model,
        challenge=about.challenge,
        attempt=about.attempt,
        provenance=about.provenance,
        origin=job.origin,
        outside=job.outside,
        turns=about.turns,
        key=job.key,
        probe_set=job.probe_set,
        ranked=options.seed is None and job.environment.tier.trusted and not (options.partial or cut_off),
        status=status,
        profile=options.profile,
        only=options.only,
        cut_off=cut_off,
        reward=None if unknown else reward(job.challenge, evidence, asked, built=build is None),
        environment=job.environment,
        limits=job.challenge.limits,
        overall=scored.overall,
        dimensions=scored.dimensions,
        gates=scored.gates,
        evidence=tuple(evidence),
        build=build,
        unread=about.unread is not None,
        **rest,
    )
    files = sorted(job.files.hashes.keys() - {*job.adapters, SUBMISSION_FILE})
    ours = job.workspace.folders_of_challenge(job.challenge.id).values()
    return without_quotes(record, job.files.path, files, [place for place in ours if place.parent.name == "challenges"])


def now() -> datetime:
    """Return the current UTC time without microseconds."""
    return datetime.now(UTC).replace(microsecond=0)


def _assert_machine_is_sound(files: Snapshot, found: StageResult) -> None:
    """Raise JudgeError instead of blaming the submission if files vanished or the disk is full."""
    gone = next((name for name in files.hashes if not os.path.lexists(files.path / name)), None)
    if gone is not None:
        raise JudgeError(
            f"{files.path / gone}: was removed meanwhile\n  set TMPDIR to a folder that is not cleaned automatically"
        )
    if found.build_failure and shutil.disk_usage(files.path).free < FREE_BYTES:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise JudgeError(f"{files.path}: {full.strerror}, so that nothing can be built\n  {remedy(full)}")


def make_unrun_evidence(criterion: Criterion, error: str = "") -> Evidence:
    """Return evidence that awaits review, or that our side failed with `error`."""
    if criterion.review:
        return Evidence.await_review(criterion)
    return Evidence.of(criterion, Outcome.JUDGE_ERROR, detail=error or "no stage of the grade assessed it")


def _make_missing_evidence(job: Job, found: StageResult, criterion: Criterion) -> Evidence:
    if criterion.review:
        return make_unrun_evidence(criterion)
    if criterion not in job.criteria:
        why = "not selected" if job.options.only else f"not in the profile {job.options.profile}"
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=why)
    if found.cut_off:
        late = f"the whole grade was waited for, and not over after {job.wall_seconds:g} s"
        return Evidence.of(criterion, Outcome.NOT_RUN, detail=late)
    return make_unrun_evidence(criterion)


def _list_remarks(job: Job) -> Iterator[str]:
    if caution := job.environment.tier.caution:
        yield caution
    if job.submission.about.turns > 1:
        yield TURNS_REMARK.format(job.submission.about.turns)
    for name, value in job.options.limits.items():
        yield f"the limit {name} was set to {value:g} by hand"
    if job.options.seed is not None:
        yield "the seed was chosen by hand: this record decides no ranking"
    if job.brief:  # a training loop discards the source unread
        return
    yield from unwritten_entry(job.files.path, job.submission.entries, job.challenge.contract.functions)
    yield from hints(job.files.path, job.submission.entries, job.adapters)
