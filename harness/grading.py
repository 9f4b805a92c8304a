"""One submission from its folder to a record: snapshot, build, probe, measure, score, keep."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from harness import store
from harness.box import Snapshot, Tier, clock, detect, snapshot
from harness.errors import JudgeError, PrerequisiteError, SpecError
from harness.model import (
    Challenge,
    Criterion,
    Environment,
    Evidence,
    Finding,
    Limits,
    Outcome,
    Record,
    Severity,
    Status,
    Submission,
)
from harness.probing import ChallengeCode, Files, anchored, opened, probe_criterion, seed_of
from harness.quality.compiled import compiler_evidence
from harness.quality.evidence import claims_evidence, own_tests_evidence, source_evidence
from harness.scoring import findings, score
from harness.workspace import Workspace

if TYPE_CHECKING:
    from harness.cuda.gpu import GpuDevice

Progress = Callable[[str], None]

EXPLORED = 0.5
"""Share of the time for probes after which a failure is no longer made smaller or named: the rest is for probing."""


@dataclass(frozen=True)
class Options:
    """How to grade.

    Attributes:
        seed: fixes the inputs and marks the record unranked; drawn anew when None.
        force: grade although nothing changed.
        full: run the answer's own tests without the bound on their time.
        limits: overrides of the challenge's limits by name.
        publish: put the record under reports/records/.
        device: where CUDA code runs: `gpu`, `emulated`, or `auto` for a GPU where there is one.
    """

    seed: int | None = None
    force: bool = False
    full: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)
    publish: bool = True
    device: Literal["auto", "gpu", "emulated"] = "auto"


@dataclass(frozen=True)
class Graded:
    """A record, whether it was made just now, and why or why not."""

    folder: Path
    record: Record
    reused: bool
    reason: str


@dataclass(frozen=True)
class Job:
    """Everything fixed before the submission's code is loaded."""

    workspace: Workspace
    challenge: Challenge
    submission: Submission
    files: Snapshot
    options: Options
    environment: Environment
    progress: Progress
    gpu: "GpuDevice | None" = None

    @cached_property
    def code(self) -> ChallengeCode:
        """The challenge's own code."""
        return ChallengeCode(self.workspace, self.challenge)

    @property
    def answer(self) -> Files:
        """What is opened in the box."""
        return Files(self.files.path, self.submission.entries, self.submission.capabilities)


def grade_one(
    workspace: Workspace, folder: Path, options: Options | None = None, progress: Progress = lambda stage: None
) -> Graded:
    """Grade one submission, or find that nothing changed since it was graded here.

    Args:
        workspace: where the challenges are.
        folder: the submission; anywhere.
        options: how to grade.
        progress: told the name of each stage as it begins.

    Raises:
        HarnessError: the submission or challenge is malformed, or the record cannot be kept.
    """
    options = options or Options()
    progress("reading")
    submission = workspace.answer(folder).submission
    challenge = _limited(workspace.challenge(submission.about.challenge), options, workspace)
    if submission.about.language != challenge.language:
        raise SpecError(
            folder / "submission.toml", f"is {submission.about.language!r}; {challenge.id} is answered in "
            f"{challenge.language!r}", field="submission.language",
        )  # fmt: skip
    gpu = gpu_for(challenge, options)
    where = _where(challenge, gpu)
    with taken(folder, submission) as files:
        settings = {"full": options.full, "limits": challenge.limits.model_dump()}
        key = store.content_key(workspace, challenge.id, files.hashes, settings, where)
        if not options.force and options.seed is None and (record := store.reusable(workspace, key)):
            if options.publish:
                store.publish(workspace, record)
            return Graded(folder, record, True, f"nothing changed since {record.made}")
        job = Job(workspace, challenge, submission, files, options, where, progress, gpu)
        record = _grade(job, key)
    store.remember(workspace, record)
    if options.publish:
        store.publish(workspace, record)
    reason = "forced" if options.force else "not graded before in this state on this machine"
    return Graded(folder, record, False, reason)


def gpu_for(challenge: Challenge, options: Options) -> "GpuDevice | None":
    """The GPU that answers are to run on.

    Raises:
        PrerequisiteError: one was asked for, and there is none.
    """
    if challenge.language == "python" or options.device == "emulated":
        return None
    from harness.cuda.gpu import gpu_device
    from harness.cuda.nvcc import nvcc

    gpu = gpu_device()
    if options.device == "gpu" and gpu is None:
        raise PrerequisiteError("no GPU here\n  try: --device emulated")
    return gpu if options.device == "gpu" or nvcc() is not None else None


def _where(challenge: Challenge, gpu: "GpuDevice | None") -> Environment:
    """This machine, as answers to `challenge` meet it."""
    if challenge.language == "python":
        return store.environment(detect())
    from harness.cuda.toolchain import versions

    return store.environment(detect(), gpu.name if gpu else "emulated", versions())


@contextmanager
def taken(folder: Path, submission: Submission) -> Iterator[Snapshot]:
    """A snapshot that holds the entry."""
    with snapshot(folder) as files:
        for name in submission.entries:
            if not (files.path / name).is_file():
                problem = f"names {name!r}, which is not in what is graded of {folder}"
                raise SpecError(folder / "submission.toml", problem, field="submission.entry")
        yield files


def _limited(challenge: Challenge, options: Options, workspace: Workspace) -> Challenge:
    if not options.limits:
        return challenge
    try:
        limits = Limits.model_validate({**challenge.limits.model_dump(), **options.limits})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        known = ", ".join(Limits.model_fields)
        raise SpecError("limits", f"{first['msg']}; limits are {known}", field=name) from None
    return challenge.model_copy(update={"limits": limits})


def _grade(job: Job, key: str) -> Record:
    """Run every stage; a failure of ours makes a record of a judge error."""
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    seconds: dict[str, float] = {}
    seed = job.options.seed if job.options.seed is not None else int.from_bytes(os.urandom(6), "big")
    titles: dict[str, str] = {}
    build = Build()
    error = None
    try:
        compiled = _compile(job, build, seconds)
        with _timed(seconds, "build_and_probes"):
            probed = _probe(job, seed, titles, build, seconds)
        measured = compiled | _measure(job, {**compiled, **probed}, seconds)
    except JudgeError as failure:
        error, measured = str(failure), {}
        probed = {}
    evidence = [
        probed.get(c.id) or measured.get(c.id) or _unmeasured(c, error) for c in job.challenge.criteria
    ]  # fmt: skip
    scored = score(job.challenge, evidence, built=build.ok)
    broken = error or next((e.detail for e in evidence if e.outcome is Outcome.JUDGE_ERROR), None)
    status = Status.JUDGE_ERROR if broken else Status.GRADED if build.ok else Status.BUILD_FAILED
    told = findings(job.challenge, evidence, titles)
    about = job.submission.about
    return Record(
        model=about.model, challenge=about.challenge, provenance=about.provenance, status=status, key=key, seed=seed,
        ranked=job.options.seed is None, made=made, seconds={k: round(v, 3) for k, v in seconds.items()},
        environment=job.environment, limits=job.challenge.limits, overall=scored.overall,
        dimensions=scored.dimensions, gates=scored.gates, evidence=tuple(evidence),
        findings=told if build.ok else (build.finding(), *(f for f in told if not build.says(f))),
        remarks=tuple(_remarks(job)), error=broken,
    )  # fmt: skip


@dataclass
class Build:
    """Whether the submission loads, and what it said if it does not."""

    ok: bool = True
    text: str = ""
    output: str = ""

    def says(self, finding: Finding) -> bool:
        """Whether a finding only repeats why it does not build."""
        return bool(finding.detail) and finding.detail in self.text

    def finding(self) -> Finding:
        """The build failure in words."""
        said = f"{self.text}\n{self.output[-2000:]}".strip()
        return Finding(criterion="build", severity=Severity.CRITICAL, title="does not build", detail=said)


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
                item, title = probe_criterion(
                    job.code, criterion, answer, seed_of(seed, criterion.id), submission=job.submission,
                    explain=answer.share_used < EXPLORED,
                )  # fmt: skip
                evidence.append(item)
                if title:
                    titles[criterion.id] = title
        finally:
            seconds["box"] = answer.box_seconds if answer is not None else 0.0
    settled = anchored(evidence, job.challenge.anchor, {c.id for c in criteria})
    return {item.criterion: item for item in settled}


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


def _unmeasured(criterion: Criterion, error: str | None) -> Evidence:
    outcome = Outcome.JUDGE_ERROR if error and not criterion.review else Outcome.NOT_RUN
    detail = error if outcome is Outcome.JUDGE_ERROR else f"needs a review: {criterion.review}"
    return Evidence(
        criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity, outcome=outcome,
        detail=detail or "",
    )  # fmt: skip


def _remarks(job: Job) -> Iterator[str]:
    if not Tier(job.environment.tier).namespaces:
        yield f"graded in tier {job.environment.tier}: {detect().promise}"
    for name, value in job.options.limits.items():
        yield f"the limit {name} was set to {value:g} by hand"
    if job.options.seed is not None:
        yield "the seed was chosen by hand: this record decides no ranking"


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = clock.now()
    try:
        yield
    finally:
        seconds[stage] = clock.now() - start
