"""Audits: submissions of a board graded again on the inputs of their records, and compared mark by mark."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from harness.audit.board import Board, BoardRecord
from harness.errors import HarnessError, StoreError
from harness.grading.job import prepare_job
from harness.grading.options import Options, Progress
from harness.grading.replay import replay
from harness.grading.retry import grade_with_retries
from harness.model import Criterion, Evidence, Outcome, Record, Status
from harness.model.submissions.name import SubmissionName
from harness.probing.challenge_code.code import ChallengeCode
from harness.sandbox.session.tiers import choose
from harness.scoring.doubts import is_of_rubric
from harness.store.content_key import environment, probe_set
from harness.store.record_store import Store
from harness.workspace import Workspace

NEAR = 0.05
"""Largest difference of shares that counts as equal, as processors round differently."""


class AuditVerdict(StrEnum):
    """Verdict on a record or one of its criteria."""

    SAME = "same"
    """Reproduced."""
    DIFFERS = "differs"
    """Not reproduced."""
    NOT_COMPARED = "not compared"
    """Not comparable, which says nothing about the record."""
    REFUSED = "refused"
    """Refused; of whole records only."""


@dataclass(frozen=True)
class AuditedCriterion:
    """One criterion of an audited record.

    Attributes:
        recorded, now: outcome in the record and here, with the share if partial.
        why: reason for not comparing, or the observation that differs.
    """

    criterion: str
    verdict: AuditVerdict
    recorded: str = ""
    now: str = ""
    why: str = ""


@dataclass(frozen=True)
class AuditedRecord:
    """One record of the sample.

    Attributes:
        signature: as in `BoardRecord`.
        verdict: `DIFFERS` if any criterion differs.
        why: reason for refusing or not comparing.
        overall, overall_now: overalls over all criteria.
        criteria: comparisons in the order of the record.
        elsewhere: differences between the machines.
        probe_set_stated: false if the record states no probe set: its rubric is equal, but its probes may differ.
        reused: true if the new grade comes from an earlier audit.
    """

    name: str
    signature: str
    verdict: AuditVerdict
    why: str = ""
    overall: float | None = None
    overall_now: float | None = None
    criteria: tuple[AuditedCriterion, ...] = ()
    elsewhere: str = ""
    probe_set_stated: bool = True
    reused: bool = False

    @property
    def differing(self) -> tuple[AuditedCriterion, ...]:
        """Criteria that differ."""
        return tuple(c for c in self.criteria if c.verdict is AuditVerdict.DIFFERS)


def audit(
    workspace: Workspace,
    board: Board,
    names: list[SubmissionName],
    progress: Callable[[SubmissionName, str], None] = lambda name, stage: None,
) -> Iterator[AuditedRecord]:
    """Grade the submissions of these records again, or reuse the grades of earlier audits, and compare.

    Args:
        workspace: workspace whose challenges count.

    Raises:
        PrerequisiteError: a record is signed and cryptography is not installed.
    """
    for name in names:
        yield _audit_record(workspace, board, board.read(name), partial(progress, name))


def _audit_record(workspace: Workspace, board: Board, found: BoardRecord, progress: Progress) -> AuditedRecord:
    record, name = found.record, str(found.name)
    if record is None:
        return AuditedRecord(name, found.signature, AuditVerdict.REFUSED, found.refused)
    stated = record.probe_set is not None
    left = AuditedRecord(
        name, found.signature, AuditVerdict.NOT_COMPARED, overall=record.overall.score, probe_set_stated=stated
    )
    if why := incomparable(workspace, record):
        return replace(left, why=why)
    try:
        folder = board.folder_of(record)
        now, reused = _grade_again(workspace, record, folder, progress)
    except HarnessError as error:
        return replace(left, why=str(error).partition("\n")[0])
    if now.status is Status.JUDGE_ERROR:
        return replace(left, why=f"could not be graded here: {now.error}")
    criteria = tuple(_compare_criteria(workspace, record, now, folder))
    verdicts = {c.verdict for c in criteria}
    verdict = next((v for v in (AuditVerdict.DIFFERS, AuditVerdict.SAME) if v in verdicts), AuditVerdict.NOT_COMPARED)
    why = "no criterion could be compared" if verdict is AuditVerdict.NOT_COMPARED else ""
    other, overall = _compare_machines(record, now), now.overall.score
    return replace(
        left, verdict=verdict, why=why, overall_now=overall, criteria=criteria, elsewhere=other, reused=reused
    )


def incomparable(workspace: Workspace, record: Record) -> str:
    """Return why a record cannot be compared with a grade made here, or an empty string."""
    if record.challenge not in workspace.challenges():
        return f"there is no challenge {record.challenge} here"
    ours, here, there = probe_set(workspace, record.challenge), environment(choose()), record.environment
    theirs, alike = record.probe_set, is_of_rubric(record, workspace.challenge(record.challenge))
    reasons = {
        # marks follow from the evidence only if the criteria are the same
        "states no probe set, and has other criteria than the rubric here": theirs is None and not alike,
        f"other probe set: {(theirs or ours)[:12]}, here {ours[:12]}": theirs not in (None, ours),
        f"other harness: {there.harness}, here {here.harness}": there.harness != here.harness,
        f"other tier: {there.tier.value}, here {here.tier.value}": there.tier is not here.tier,
        f"the record is a judge error: {record.error}": record.status is Status.JUDGE_ERROR,
        "the grade was cut off": record.cut_off,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _grade_again(workspace: Workspace, record: Record, folder: Path, progress: Progress) -> tuple[Record, bool]:
    ours = workspace.challenge(record.challenge).limits.model_dump()
    limits = {name: value for name, value in record.limits.model_dump().items() if value != ours[name]}
    options = Options(
        seed=record.seed,
        publish=False,
        limits=limits,
        profile=record.profile,
        only=record.only,
        device="emulated" if record.environment.device == "emulated" else "auto",
    )
    store = Store(workspace)
    with prepare_job(workspace, folder, options, copied=False) as job:
        about = job.submission.about
        if (about.model, about.challenge) != (record.model, record.challenge):
            raise HarnessError(f"{folder}: is an answer of {about.model} to {about.challenge}")
        if job.environment.device != record.environment.device:
            raise HarnessError(f"other device: {record.environment.device}, here {job.environment.device}")
        try:
            if (kept := store.find_seeded(job.key, record.seed)) is not None:
                return kept, True
        except StoreError as error:  # the audit goes on without the store
            progress(str(error).partition("\n")[0])
    return grade_with_retries(workspace, folder, options, progress).record, False


def _compare_criteria(workspace: Workspace, record: Record, now: Record, folder: Path) -> Iterator[AuditedCriterion]:
    code = ChallengeCode(workspace, workspace.challenge(record.challenge))
    rubric, found = {c.id: c for c in code.challenge.criteria}, {e.criterion: e for e in now.evidence}
    other = _find_other_package(record, now)
    unjudged = {id for id, criterion in rubric.items() if _explain_unjudged(code, criterion, other)}
    for evidence in record.evidence:
        criterion, seen = rubric.get(evidence.criterion), found.get(evidence.criterion)
        if criterion is None or seen is None:
            yield AuditedCriterion(evidence.criterion, AuditVerdict.NOT_COMPARED, why="is no criterion here")
        elif why := _explain_unjudged(code, criterion, other) or _explain_missing_outcome(evidence, seen):
            shown = ("", "") if criterion.review else (_format_outcome(evidence), _format_outcome(seen))
            yield AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, why)
        else:
            yield _compare_criterion(workspace, record, criterion, evidence, seen, folder, unjudged)


def _explain_unjudged(code: ChallengeCode, criterion: Criterion, other_package: str) -> str:
    if criterion.review:
        return "is a question to a reviewer"
    if any(probe.measures_cost for probe in code.probes_of(criterion)):
        return "measures time or memory, which differ from run to run"
    if criterion.claims:
        return "rests on figures of other criteria, times among them"
    if other_package and not criterion.probes:
        return other_package
    return ""


def _explain_missing_outcome(recorded: Evidence, now: Evidence) -> str:
    if not now.outcome.assessed:
        return f"is not assessed here: {now.detail}"
    return "" if recorded.outcome.assessed else f"the record has no mark of it: {recorded.detail}"


def _compare_criterion(
    workspace: Workspace,
    record: Record,
    criterion: Criterion,
    recorded: Evidence,
    now: Evidence,
    folder: Path,
    unjudged: Collection[str],
) -> AuditedCriterion:
    shown = _format_outcome(recorded), _format_outcome(now)
    if _is_same(recorded, now):
        return AuditedCriterion(criterion.id, AuditVerdict.SAME, *shown)
    if behind := [e.rests_on for e in (recorded, now) if e.rests_on in unjudged]:
        return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, f"rests on {behind[0]}, which is not")
    if criterion.probes and recorded.seed is not None and recorded.seed != now.seed:
        # a seed that had failed these files before was tried first: its inputs differ from the run's own
        try:
            again = replay(workspace, record, criterion.id, folder)
        except HarnessError as error:
            why = f"its own seed could not be replayed: {str(error).partition(chr(10))[0]}"
            return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, shown[0], "", why)
        now, shown = again.evidence, (shown[0], _format_outcome(again.evidence))
        if not now.outcome.assessed:
            why = f"is not assessed here: {now.detail}"
            return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, why)
        if again.same:
            return AuditedCriterion(criterion.id, AuditVerdict.SAME, *shown)
        if again.same is None:
            why = f"the record charges this to {recorded.rests_on}"
            return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, why)
    return AuditedCriterion(criterion.id, AuditVerdict.DIFFERS, *shown, now.seen or recorded.seen)


def _is_same(recorded: Evidence, now: Evidence) -> bool:
    offered = [e.outcome is not Outcome.NOT_OFFERED for e in (recorded, now)]
    alike = offered[0] == offered[1] and recorded.gates == now.gates
    return alike and abs(recorded.satisfied - now.satisfied) <= NEAR


def _format_outcome(evidence: Evidence) -> str:
    share = "" if evidence.fraction is None else f" {evidence.fraction:.3f}"
    behind = f", resting on {evidence.rests_on}" if evidence.rests_on else ""
    return f"{evidence.outcome.value}{share}{behind}"


def _compare_machines(record: Record, now: Record) -> str:
    there, here = record.environment, now.environment
    kinds = (("processor", there.cpu, here.cpu), ("Python", there.python, here.python))
    return "; ".join(f"{kind} {one}, here {other}" for kind, one, other in kinds if one != other)


def _find_other_package(record: Record, now: Record) -> str:
    there, here = record.environment.packages, now.environment.packages
    names = sorted(there.keys() | here.keys())
    return next(
        (
            f"{name} is {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
            for name in names
            if there.get(name) != here.get(name)
        ),
        "",
    )
