"""Audits: answers of somebody's board graded again here, on the inputs of their records, and compared mark by mark."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from harness.errors import HarnessError, StoreError
from harness.model import Criterion, Evidence, Outcome, Record, Status
from harness.model.submission_name import SubmissionName
from harness.probing.code import ChallengeCode
from harness.running.board import Board, BoardRecord
from harness.running.content_key import environment, probe_set
from harness.running.criterion_replay import replay
from harness.running.job import prepared
from harness.running.options import Options, Progress
from harness.running.retry import grade_with_retries
from harness.running.store import Store
from harness.sandbox.tiers import choose
from harness.scoring.doubts import is_of_rubric
from harness.workspace import Workspace

NEAR = 0.05
"""Shares of a criterion so close are the same: another processor rounds otherwise, and a partial credit follows it."""


class AuditVerdict(StrEnum):
    """What became of a record, or of one of its criteria."""

    SAME = "same"
    """It comes out again."""
    DIFFERS = "differs"
    """It does not."""
    NOT_COMPARED = "not compared"
    """It could not be compared; that speaks neither for it nor against it."""
    REFUSED = "refused"
    """Of a record alone: the file itself cannot be believed."""


@dataclass(frozen=True)
class AuditedCriterion:
    """One criterion of an audited record.

    Attributes:
        criterion: id.
        verdict: what became of it.
        recorded, now: outcome in the record and here, with the share met where that is a part.
        why: why it could not be compared, or what was seen where it differs.
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
        name: of the submission.
        signature: whether the record is signed, and by whom.
        verdict: what became of it; it differs where any criterion does.
        why: why it was refused, or could not be compared at all.
        overall, overall_now: the mark of the record and the one found here, of all criteria, compared or not.
        criteria: one for each, in the order of the record; none where the record was not compared.
        elsewhere: what the machines differ in, where the record was made on another kind.
        probe_set_stated: whether the record states what its answer was held to. Where it does not, that is taken to be
            what is here: the rubric is the same, the probes may be others.
        reused: whether the grade was made by an earlier audit, or an earlier part of this one.
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
        """The criteria that do not come out again."""
        return tuple(c for c in self.criteria if c.verdict is AuditVerdict.DIFFERS)


def audit(
    workspace: Workspace, board: Board, names: list[SubmissionName],
    progress: Callable[[SubmissionName, str], None] = lambda name, stage: None,
) -> Iterator[AuditedRecord]:  # fmt: skip
    """Grade the answers behind these records again and compare; what an earlier audit graded is taken from the store.

    Args:
        workspace: whose challenges the answers are held to.
        board: holds the records and the answers.
        names: of the records.
        progress: called with each stage of each grade as it begins.

    Raises:
        PrerequisiteError: a record is signed, and what verifies it is not installed.
    """
    for name in names:
        yield _audited(workspace, board, board.read(name), partial(progress, name))


def _audited(workspace: Workspace, board: Board, found: BoardRecord, progress: Progress) -> AuditedRecord:
    record, name = found.record, str(found.name)
    if record is None:
        return AuditedRecord(name, found.signature, AuditVerdict.REFUSED, found.refused)
    left = partial(
        AuditedRecord, name, found.signature, AuditVerdict.NOT_COMPARED, overall=record.overall.score,
        probe_set_stated=record.probe_set is not None,
    )  # fmt: skip
    if why := incomparable(workspace, record):
        return left(why=why)
    try:
        folder = board.folder_of(record)
        now, reused = _graded(workspace, record, folder, progress)
    except HarnessError as error:
        return left(why=str(error).partition("\n")[0])
    if now.status is Status.JUDGE_ERROR:
        return left(why=f"could not be graded here: {now.error}")
    criteria = tuple(_compared(workspace, record, now, folder))
    verdicts = {c.verdict for c in criteria}
    verdict = next(
        v for v in (AuditVerdict.DIFFERS, AuditVerdict.SAME, AuditVerdict.NOT_COMPARED)
        if v in verdicts or v is AuditVerdict.NOT_COMPARED
    )  # fmt: skip
    why = "no criterion could be compared" if verdict is AuditVerdict.NOT_COMPARED else ""
    return AuditedRecord(
        name, found.signature, verdict, why, record.overall.score, now.overall.score, criteria,
        _elsewhere(record, now), record.probe_set is not None, reused,
    )  # fmt: skip


def incomparable(workspace: Workspace, record: Record) -> str:
    """Why no mark of a record can be held to a grade made here; empty where some can.

    Args:
        workspace: whose challenges answers are held to.
        record: of a board.
    """
    if record.challenge not in workspace.challenges():
        return f"there is no challenge {record.challenge} here"
    ours, here, there = probe_set(workspace, record.challenge), environment(choose()), record.environment
    theirs, alike = record.probe_set, is_of_rubric(record, workspace.challenge(record.challenge))
    reasons = {
        # only of the same criteria do the marks follow from the evidence
        "states no probe set, and has other criteria than the rubric here": theirs is None and not alike,
        f"other probe set: {(theirs or ours)[:12]}, here {ours[:12]}": theirs not in (None, ours),
        f"other harness: {there.harness}, here {here.harness}": there.harness != here.harness,
        f"other tier: {there.tier.value}, here {here.tier.value}": there.tier is not here.tier,
        f"the record is a judge error: {record.error}": record.status is Status.JUDGE_ERROR,
        "the grade was cut off": record.cut_off,
    }  # fmt: skip
    return next((why for why, holds in reasons.items() if holds), "")


def _graded(workspace: Workspace, record: Record, folder: Path, progress: Progress) -> tuple[Record, bool]:
    """The answer graded here with the seed of its record, and whether an earlier audit did.

    Raises:
        HarnessError: it cannot be graded, or is not the answer that the record names.
    """
    ours = workspace.challenge(record.challenge).limits.model_dump()
    limits = {name: value for name, value in record.limits.model_dump().items() if value != ours[name]}
    options = Options(
        seed=record.seed, publish=False, limits=limits, profile=record.profile, only=record.only,
        device="emulated" if record.environment.device == "emulated" else "auto",
    )  # fmt: skip
    store = Store(workspace)
    with prepared(workspace, folder, options, copied=False) as job:
        about = job.submission.about
        if (about.model, about.challenge) != (record.model, record.challenge):
            raise HarnessError(f"{folder}: is an answer of {about.model} to {about.challenge}")
        if job.environment.device != record.environment.device:
            raise HarnessError(f"other device: {record.environment.device}, here {job.environment.device}")
        try:
            if (kept := store.find_seeded(job.key, record.seed)) is not None:
                return kept, True
        except StoreError as error:  # a store that cannot be read costs no audit
            progress(str(error).partition("\n")[0])
    return grade_with_retries(workspace, folder, options, progress).record, False


def _compared(workspace: Workspace, record: Record, now: Record, folder: Path) -> Iterator[AuditedCriterion]:
    code = ChallengeCode(workspace, workspace.challenge(record.challenge))
    rubric, found = {c.id: c for c in code.challenge.criteria}, {e.criterion: e for e in now.evidence}
    other = _other_package(record, now)
    unjudged = {id for id, criterion in rubric.items() if _unjudged(code, criterion, other)}
    for evidence in record.evidence:
        criterion, seen = rubric.get(evidence.criterion), found.get(evidence.criterion)
        if criterion is None or seen is None:
            yield AuditedCriterion(evidence.criterion, AuditVerdict.NOT_COMPARED, why="is no criterion here")
        elif why := _unjudged(code, criterion, other) or _unassessed(evidence, seen):
            shown = ("", "") if criterion.review else (_shown(evidence), _shown(seen))
            yield AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, why)
        else:
            yield _held_to(workspace, record, criterion, evidence, seen, folder, unjudged)


def _unjudged(code: ChallengeCode, criterion: Criterion, other_package: str) -> str:
    """Why a criterion is never compared; empty where it is."""
    if criterion.review:
        return "is a question to a reviewer"
    if any(probe.measures_cost for probe in code.probes_of(criterion)):
        return "measures time or memory, which differ from run to run"
    if criterion.claims:
        return "rests on figures of other criteria, times among them"
    if other_package and not criterion.probes:
        return other_package
    return ""


def _unassessed(recorded: Evidence, now: Evidence) -> str:
    """Why two outcomes cannot be compared: one of them is none; empty where both are."""
    if not now.outcome.assessed:
        return f"is not assessed here: {now.detail}"
    return "" if recorded.outcome.assessed else f"the record has no mark of it: {recorded.detail}"


def _held_to(
    workspace: Workspace, record: Record, criterion: Criterion, recorded: Evidence, now: Evidence, folder: Path,
    unjudged: Collection[str],
) -> AuditedCriterion:  # fmt: skip
    """A criterion's share in the record beside the one found here, on the same inputs."""
    shown = _shown(recorded), _shown(now)
    if _same(recorded, now):
        return AuditedCriterion(criterion.id, AuditVerdict.SAME, *shown)
    if behind := [e.rests_on for e in (recorded, now) if e.rests_on in unjudged]:
        return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, f"rests on {behind[0]}, which is not")
    if criterion.probes and recorded.seed is not None and recorded.seed != now.seed:
        # it was tried first on a seed that had failed these files before: other inputs than the run's own
        try:
            again = replay(workspace, record, criterion.id, folder)
        except HarnessError as error:
            why = f"its own seed could not be replayed: {str(error).partition(chr(10))[0]}"
            return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, shown[0], "", why)
        now, shown = again.evidence, (shown[0], _shown(again.evidence))
        if not now.outcome.assessed:
            why = f"is not assessed here: {now.detail}"
            return AuditedCriterion(criterion.id, AuditVerdict.NOT_COMPARED, *shown, why)
        if again.same:
            return AuditedCriterion(criterion.id, AuditVerdict.SAME, *shown)
    return AuditedCriterion(criterion.id, AuditVerdict.DIFFERS, *shown, now.seen or recorded.seen)


def _same(recorded: Evidence, now: Evidence) -> bool:
    """Whether both earn the same and cap the same."""
    offered = [e.outcome is not Outcome.NOT_OFFERED for e in (recorded, now)]
    alike = offered[0] == offered[1] and recorded.gates == now.gates
    return alike and abs(recorded.satisfied - now.satisfied) <= NEAR


def _shown(evidence: Evidence) -> str:
    share = "" if evidence.fraction is None else f" {evidence.fraction:.3f}"
    behind = f", resting on {evidence.rests_on}" if evidence.rests_on else ""
    return f"{evidence.outcome.value}{share}{behind}"


def _elsewhere(record: Record, now: Record) -> str:
    there, here = record.environment, now.environment
    kinds = (("processor", there.cpu, here.cpu), ("Python", there.python, here.python))
    return "; ".join(f"{kind} {one}, here {other}" for kind, one, other in kinds if one != other)


def _other_package(record: Record, now: Record) -> str:
    """The first package that measures in another version there; empty where all are equal."""
    there, here = record.environment.packages, now.environment.packages
    names = sorted(there.keys() | here.keys())
    return next(
        (f"{name} is {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
         for name in names if there.get(name) != here.get(name)), "",
    )  # fmt: skip
