"""One attempt at a submission, from its folder to a record: snapshot, build, probe, measure, score, keep."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, JudgeError, StoreError
from harness.model import Criterion, Evidence, Finding, Outcome, Record, Severity, Status
from harness.probing import anchored, opened, probe_criterion, seed_of
from harness.probing.determinism import nondeterminism
from harness.probing.opening import GradedAnswer
from harness.quality.compiled import compiler_evidence
from harness.quality.evidence import claims_evidence, own_tests_evidence, source_evidence
from harness.quality.hints import hints
from harness.running import store
from harness.running.job import Job, prepared
from harness.running.options import Options, Progress, no_progress
from harness.sandbox import Signal, Snapshot, Tier, clock, detect
from harness.sandbox.self_attack import assert_holds
from harness.scoring import findings, score
from harness.scoring.integrity import with_integrity
from harness.workspace import Workspace, remedy

__all__ = ["Graded", "grade_one"]

EXPLORED = 0.5
"""Share of the time for probes after which a failure is no longer made smaller or named: the rest is for probing."""
ROOM = 1 << 20
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
    save_error: str = ""


@dataclass
class Build:
    """Whether the submission loads, what it said if it does not, and what it was seen doing in the box."""

    ok: bool = True
    text: str = ""
    output: str = ""
    signals: Sequence[Signal] = ()

    def says(self, finding: Finding) -> bool:
        """Whether a finding only repeats why it does not build."""
        return bool(finding.detail) and finding.detail in self.text

    def finding(self) -> Finding:
        """The build failure in words."""
        said = f"{self.text}\n{self.output[-2000:]}".strip()
        return Finding(criterion="build", severity=Severity.CRITICAL, title="does not build", detail=said)


def grade_one(
    workspace: Workspace, folder: Path, options: Options | None = None, progress: Progress = no_progress
) -> Graded:
    """Grade one submission once, or find that nothing changed since it was graded here.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how to grade.
        progress: told the name of each stage as it begins.

    Raises:
        JudgeError: our side failed; `harness.running.retry` tries again.
        HarnessError: the submission or challenge is malformed, or the machine lacks something.
    """
    options = options or Options()
    progress("reading")
    try:
        with prepared(workspace, folder, options, progress) as job:
            if not options.force and options.seed is None and (record := store.reusable(workspace, job.key)):
                return Graded(folder, record, True, f"nothing changed since {record.made}", keep(job, record))
            assert_holds(detect())
            record = _grade(job)
        reason = "forced" if options.force else "not graded before in this state on this machine"
        return Graded(folder, record, False, reason, keep(job, record))
    except HarnessError:
        raise
    except Exception as error:  # whatever an answer does is data: this is a mistake of ours, or the machine's
        todo = f"\n  {remedy(error)}" if isinstance(error, OSError) else ""
        raise JudgeError(f"{folder}: {type(error).__name__}: {error}{todo}") from error


def keep(job: Job, record: Record) -> str:
    """Write a record wherever it belongs, and say where it could not be; the other places have it all the same."""
    save_error = []
    for write in (store.remember, store.publish) if job.options.publish else (store.remember,):
        try:
            write(job.workspace, record)
        except StoreError as error:
            save_error.append(str(error))
    return "\n".join(save_error)


def _grade(job: Job) -> Record:
    """Run every stage.

    Raises:
        JudgeError: a stage failed for a fault of ours.
    """
    made = now()
    seconds: dict[str, float] = {}
    seed = job.options.seed if job.options.seed is not None else int.from_bytes(os.urandom(6), "big")
    titles: dict[str, str] = {}
    build = Build()
    compiled = _compile(job, build, seconds)
    with _timed(seconds, "build_and_probes"):
        probed = _probe(job, seed, titles, build, seconds)
    measured = compiled | _measure(job, {**compiled, **probed}, seconds)
    _not_the_machine(job.files, build)
    evidence = [probed.get(c.id) or measured.get(c.id) or unmeasured(c) for c in job.challenge.criteria]
    broken = next((e.detail for e in evidence if e.outcome is Outcome.JUDGE_ERROR), None)
    status = Status.JUDGE_ERROR if broken else Status.GRADED if build.ok else Status.BUILD_FAILED
    told = with_integrity(findings(job.challenge, evidence, titles), build.signals)
    return recorded(
        job, evidence, built=build.ok, status=status, seed=seed, made=made, error=broken,
        seconds={k: round(v, 3) for k, v in seconds.items()},
        findings=told if build.ok else (build.finding(), *(f for f in told if not build.says(f))),
        remarks=tuple(_remarks(job)),
    )  # fmt: skip


def recorded(job: Job, evidence: Sequence[Evidence], *, built: bool, **rest: Any) -> Record:
    """The record of a job: its evidence scored, with whatever else a record says of a grade."""
    scored = score(job.challenge, evidence, built=built)
    about = job.submission.about
    return Record(
        model=about.model, challenge=about.challenge, provenance=about.provenance, key=job.key,
        ranked=job.options.seed is None and job.environment.tier != Tier.UNSAFE,
        environment=job.environment, limits=job.challenge.limits,
        overall=scored.overall, dimensions=scored.dimensions, gates=scored.gates, evidence=tuple(evidence), **rest,
    )  # fmt: skip


def now() -> str:
    """The time as records state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _not_the_machine(files: Snapshot, build: Build) -> None:
    """An answer must not be blamed for files that somebody removed meanwhile, or for a full disk.

    Raises:
        JudgeError: that is what happened.
    """
    gone = next((name for name in files.hashes if not os.path.lexists(files.path / name)), None)
    if gone is not None:
        raise JudgeError(f"{files.path / gone}: went away meanwhile\n  try: TMPDIR set to a folder that nobody cleans")
    if not build.ok and shutil.disk_usage(files.path).free < ROOM:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise JudgeError(f"{files.path}: {full.strerror}, so that nothing can be built\n  {remedy(full)}")


def _compile(job: Job, build: Build, seconds: dict[str, float]) -> dict[str, Evidence]:
    """What the real compiler says of an answer in CUDA; nothing for one in Python."""
    if job.challenge.language != "cuda":
        return {}
    from harness.cuda.gate import gate

    job.progress("compiling")
    with _timed(seconds, "compiler"):
        said = gate(job.files.path, job.submission.entries, job.challenge.contract.functions, tier=detect())
    if said.ok is False:
        build.ok, build.text = False, f"{said.compiler}: {said.text}"
    return compiler_evidence([c for c in job.challenge.criteria if c.compiler], said)


def _probe(job: Job, seed: int, titles: dict[str, str], build: Build, seconds: dict[str, float]) -> dict[str, Evidence]:
    """Evidence of every criterion that probes feed."""
    criteria = [c for c in job.challenge.criteria if c.probes]
    if not build.ok:
        return {c.id: _unbuilt(c) for c in criteria}
    job.progress("building")
    with opened(job.challenge, job.answer, job.gpu) as opening:
        if opening.unsupported:
            return {c.id: _unsupported(c, opening.unsupported) for c in criteria}
        answer = opening.answer
        try:
            if opening.fault or answer is None:
                build.ok, build.text, build.output = False, opening.fault, opening.output
                return {c.id: _unbuilt(c) for c in criteria}
            evidence = []
            for criterion in criteria:
                job.progress(criterion.id)
                item, title = _probed(job, criterion, answer, seed)
                evidence.append(item)
                if title:
                    titles[criterion.id] = title
            build.signals = _unsteady(job, answer, seed)
        finally:
            if answer is not None:
                answer.fresh()  # what its last worker did counts as well
                seconds["box"], build.signals = answer.box_seconds, [*answer.signals, *build.signals]
    settled = anchored(evidence, job.challenge.anchor, {c.id for c in criteria})
    return {item.criterion: item for item in settled}


def _probed(job: Job, criterion: Criterion, answer: GradedAnswer, seed: int) -> tuple[Evidence, str]:
    """One criterion's evidence and its fault in a phrase; a probe of ours that breaks has a second chance.

    On the same inputs: what breaks twice is our mistake and would break again, and other inputs might hide it.
    """
    for again in (False, True):
        explain = answer.share_used < EXPLORED
        inputs = seed_of(seed, criterion.id)
        item, title = probe_criterion(job.code, criterion, answer, inputs, submission=job.submission, explain=explain)
        if item.outcome is not Outcome.JUDGE_ERROR:
            break
        if again:
            return item.model_copy(update={"detail": f"{item.detail}; twice on the same inputs"}), title
        job.progress(f"{criterion.id}, again: {item.detail}")
    return item, title


def _unsteady(job: Job, answer: GradedAnswer, seed: int) -> list[Signal]:
    """Whether it answers the anchor's questions twice alike, where there is time to ask."""
    anchor = job.challenge.criterion(job.challenge.anchor)
    if answer.share_used >= EXPLORED:
        return []
    signal = nondeterminism(answer, job.code.probes_of(anchor)[0], seed_of(seed, anchor.id))
    return [signal] if signal else []


def _unsupported(criterion: Criterion, reason: str) -> Evidence:
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity,
        outcome=Outcome.UNSUPPORTED, detail=reason,
    )  # fmt: skip


def _unbuilt(criterion: Criterion) -> Evidence:
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity, outcome=Outcome.FAILED,
        detail="the submission does not build", rests_on="build",
    )  # fmt: skip


def _measure(job: Job, probed: Mapping[str, Evidence], seconds: dict[str, float]) -> dict[str, Evidence]:
    """Evidence from the source, the answer's own tests, and its claims."""
    criteria = job.challenge.criteria
    evidence: dict[str, Evidence] = {}
    job.progress("source metrics")
    with _timed(seconds, "source"):
        evidence |= source_evidence([c for c in criteria if c.metric], job.files.path, job.submission.entries)
    job.progress("own tests")
    with _timed(seconds, "own_tests"):
        limits = None if job.options.full else job.challenge.limits.tests_seconds
        fed = [c for c in criteria if c.tests]
        # drawn from the files, not from the run: equal files meet equal mutants, so their kill rate does not move
        mutants = int.from_bytes(hashlib.sha256(repr(sorted(job.files.hashes.items())).encode()).digest()[:6], "big")
        evidence |= own_tests_evidence(fed, job.submission, job.files.path, detect(), limits, mutants)
    figures = {name: value for item in (*probed.values(), *evidence.values()) for name, value in item.measured.items()}
    return evidence | claims_evidence([c for c in criteria if c.claims], job.submission.claims, figures)


def unmeasured(criterion: Criterion, error: str = "") -> Evidence:
    """Evidence of a criterion that nothing was run for: it waits for a review, or our side failed with `error`."""
    ours = error and not criterion.review
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity,
        outcome=Outcome.JUDGE_ERROR if ours else Outcome.NOT_RUN,
        detail=error if ours else f"needs a review: {criterion.review}",
    )  # fmt: skip


def _remarks(job: Job) -> Iterator[str]:
    tier = Tier(job.environment.tier)
    if tier is Tier.UNSAFE:
        yield "not to be trusted: graded without isolation, where an answer may have forged anything, this included"
    elif not tier.namespaces:
        yield f"graded in tier {tier}: {tier.promise}"
    for name, value in job.options.limits.items():
        yield f"the limit {name} was set to {value:g} by hand"
    if job.options.seed is not None:
        yield "the seed was chosen by hand: this record decides no ranking"
    yield from hints(job.files.path, job.submission.entries)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = clock.now()
    try:
        yield
    finally:
        seconds[stage] = clock.now() - start
