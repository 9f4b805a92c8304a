"""One grade of one submission: snapshot, stages, score, record."""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import HarnessError, JudgeError, StoreError
from harness.model import BuildFailure, Criterion, Evidence, Outcome, Record, Status, counted
from harness.model.collection import SUBMISSION_FILE
from harness.quality.hints import hints
from harness.running.job import Job, prepared
from harness.running.options import Options, Progress, no_progress
from harness.running.stages import StageResult, run_stages
from harness.running.store import Store
from harness.running.withholding import without_quotes
from harness.sandbox import Snapshot, detect, has_line
from harness.sandbox.self_attack import assert_holds
from harness.scoring import score
from harness.workspace import Workspace, remedy

__all__ = ["Graded", "grade_one"]

Located = TypeVar("Located", Evidence, BuildFailure)

FREE_BYTES = 1 << 20
"""Bytes that must be free for temporary files before a failed build is believed."""


@dataclass(frozen=True)
class Graded:
    """A record and how it came about.

    Attributes:
        folder: the submission.
        record: its grade.
        reused: whether the record was made before.
        reason: why it was made just now, or why not.
        save_error: why the record could not be written where it belongs; empty when it was.
    """

    folder: Path
    record: Record
    reused: bool
    reason: str
    save_error: str


def grade_one(
    workspace: Workspace, folder: Path, options: Options | None = None, progress: Progress = no_progress
) -> Graded:
    """Grade one submission once, or find that nothing changed since it was graded here.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how to grade.
        progress: called with the name of each stage as it begins.

    Raises:
        JudgeError: our side failed; `harness.running.retry` tries again.
        HarnessError: the submission or challenge is malformed, or the machine lacks something.
    """
    options = options or Options()
    progress("reading")
    try:
        with prepared(workspace, folder, options, progress) as job:
            if not options.force and options.seed is None and (record := _earlier(job)):
                return Graded(
                    folder,
                    record,
                    True,
                    f"nothing changed since {record.made:%Y-%m-%d %H:%M:%S} UTC",
                    keep(job, record),
                )
            assert_holds(detect())
            record = _graded(job)
        reason = "forced" if options.force else "not graded before in this state on this machine"
        return Graded(folder, record, False, reason, keep(job, record))
    except HarnessError:
        raise
    except Exception as error:  # whatever an answer does is data: this is a mistake of the harness or the machine
        todo = f"\n  {remedy(error)}" if isinstance(error, OSError) else ""
        raise JudgeError(f"{folder}: {type(error).__name__}: {error}{todo}") from error


def keep(job: Job, record: Record) -> str:
    """Save a record wherever it belongs, and say where it could not be saved; the other places have it all the same."""
    store = Store(job.workspace)
    errors = []
    for save in (store.add, store.publish) if job.options.publish else (store.add,):
        try:
            save(record)
        except StoreError as error:
            errors.append(str(error))
    return "\n".join(errors)


def _earlier(job: Job) -> Record | None:
    """The record of the same files, made here before; a store that cannot be read costs no grade."""
    try:
        return Store(job.workspace).find(job.key)
    except StoreError as error:
        job.progress(str(error).partition("\n")[0])
        return None


def _graded(job: Job) -> Record:
    """Run every stage and score what they found.

    Raises:
        JudgeError: a stage failed through a fault of the harness.
    """
    made = now()
    found = run_stages(job)
    _assert_machine_is_sound(job.files, found)
    failure = found.build_failure and _located(job, found.build_failure)
    if failure and (fault := _adapter_fault(job, failure)):
        evidence, failure = [unmeasured(c, fault) for c in job.challenge.criteria], None
    else:
        evidence = [_located(job, found.evidence.get(c.id) or unmeasured(c)) for c in job.challenge.criteria]
    broken = next((e.detail for e in evidence if e.outcome is Outcome.JUDGE_ERROR), None)
    status = Status.JUDGE_ERROR if broken else Status.BUILD_FAILED if failure else Status.GRADED
    return recorded(
        job, evidence, build=failure, status=status, seed=job.seed, made=made, error=broken,
        seconds={stage: rounded for stage, spent in found.seconds.items() if (rounded := round(spent, 3))},
        signals=counted(found.signals), remarks=tuple(_remarks(job)),
    )  # fmt: skip


def _adapter_fault(job: Job, failure: BuildFailure) -> str:
    """What is wrong with the harness's own adapter, where every place that does not build is in it; else empty."""
    if failure.locations and {place.file for place in failure.locations} <= {*job.adapters}:
        return f"the adapter, which is no part of the answer, does not build: {failure.text}"
    return ""


def _located(job: Job, found: Located) -> Located:
    """`found` without places that the submission does not have: what names them may repeat the answer's own words."""
    places = tuple(place for place in found.locations if has_line(job.files.path, place))
    return found.model_copy(update={"locations": places})


def recorded(job: Job, evidence: Sequence[Evidence], *, build: BuildFailure | None = None, **rest: Any) -> Record:
    """The record of a job: its evidence scored, with whatever else a record says of a grade."""
    scored = score(job.challenge, evidence, built=build is None)
    about = job.submission.about
    record = Record(
        model=about.model, challenge=about.challenge, provenance=about.provenance, origin=job.origin, key=job.key,
        ranked=job.options.seed is None and job.environment.tier.trusted,
        environment=job.environment, limits=job.challenge.limits,
        overall=scored.overall, dimensions=scored.dimensions, gates=scored.gates, evidence=tuple(evidence),
        build=build, **rest,
    )  # fmt: skip
    files = sorted(job.files.hashes.keys() - {*job.adapters, SUBMISSION_FILE})
    return without_quotes(record, job.files.path, files, job.workspace.challenge_folder(job.challenge.id))


def now() -> datetime:
    """The time as records state it, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def _assert_machine_is_sound(files: Snapshot, found: StageResult) -> None:
    """Never blame an answer for files that were removed while it was graded, or for a full disk.

    Raises:
        JudgeError: that is what happened.
    """
    gone = next((name for name in files.hashes if not os.path.lexists(files.path / name)), None)
    if gone is not None:
        raise JudgeError(
            f"{files.path / gone}: was removed meanwhile\n  set TMPDIR to a folder that is not cleaned automatically"
        )
    if found.build_failure and shutil.disk_usage(files.path).free < FREE_BYTES:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise JudgeError(f"{files.path}: {full.strerror}, so that nothing can be built\n  {remedy(full)}")


def unmeasured(criterion: Criterion, error: str = "") -> Evidence:
    """Evidence of a criterion that nothing was run for: it needs a review, or our side failed with `error`."""
    if criterion.review:
        return Evidence.unreviewed(criterion)
    return Evidence.of(criterion, Outcome.JUDGE_ERROR, detail=error or "no stage of the grade assessed it")


def _remarks(job: Job) -> Iterator[str]:
    if caution := job.environment.tier.caution:
        yield caution
    for name, value in job.options.limits.items():
        yield f"the limit {name} was set to {value:g} by hand"
    if job.options.seed is not None:
        yield "the seed was chosen by hand: this record decides no ranking"
    yield from hints(job.files.path, job.submission.entries, job.adapters)
