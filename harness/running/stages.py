"""The stages of a grade: each takes the job and what the stages before it found, and returns what it found itself."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from harness.languages import CompilerReport
from harness.model import UNBUILT, BuildFailure, Criterion, Evidence, Outcome, Signal
from harness.probing.common_causes import settled_names
from harness.probing.criteria import anchored, charged_once, probe_criterion, seed_of
from harness.probing.determinism import nondeterminism
from harness.probing.opening import GradedAnswer, opened
from harness.quality.compiled import compiler_evidence
from harness.quality.evidence import claims_evidence, own_tests_evidence, source_evidence
from harness.quality.own_tests import ALL_MUTANTS, ALL_SECONDS, MUTANTS
from harness.running.collected import charged_to_the_answer
from harness.running.job import Job
from harness.sandbox import detect
from harness.timing import clock

EXPLAINED_CALLS = 20_000
"""Calls of an answer after which no failure is shrunk or diagnosed. Probing alone makes some hundreds, and explaining
every failure of an answer that fails everywhere some thousands."""
EXPLAIN_SHARE = 0.5
"""Share of the time for probes after which none is either: it ends what is slow, and depends on no other load."""
OUTPUT_KEPT = 2000
"""Characters kept of what was printed before a build failed, the last ones."""


@dataclass(frozen=True)
class StageResult:
    """What one stage found, or several together.

    Attributes:
        evidence: by criterion.
        signals: what the answer was seen doing in the sandbox.
        build_failure: why it does not build; None as long as nothing speaks against it.
        seconds: wall time, by stage.
    """

    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()
    build_failure: BuildFailure | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __or__(self, later: "StageResult") -> "StageResult":
        return StageResult(
            {**self.evidence, **later.evidence},
            (*self.signals, *later.signals),
            self.build_failure or later.build_failure,
            {**self.seconds, **later.seconds},
        )


@dataclass(frozen=True)
class Stage:
    """One step of a grade.

    Attributes:
        name: key of its time in the record.
        run: takes the job and what was found so far; returns None where the stage has nothing to do.
    """

    name: str
    run: Callable[[Job, StageResult], StageResult | None]


def run_stages(job: Job) -> StageResult:
    """Run all stages in their order; what they found together."""
    return reduce(lambda found, stage: found | _timed(stage, job, found), STAGES, StageResult())


def _timed(stage: Stage, job: Job, found: StageResult) -> StageResult:
    start = clock.now()
    result = stage.run(job, found)
    if result is None:
        return StageResult()
    return replace(result, seconds={stage.name: clock.now() - start, **result.seconds})


def compile_source(job: Job, found: StageResult) -> StageResult | None:
    """Compile the answer with its language's own compiler, where the language has one."""
    job.progress("compiling")
    report = job.language.compile(job.answer, job.challenge)
    evidence = compiler_evidence([c for c in job.challenge.criteria if c.compiler], report)
    if report is None:
        return StageResult(evidence) if evidence else None
    return StageResult(evidence, build_failure=None if report.ok is not False else _not_compiled(job, report))


def _not_compiled(job: Job, report: CompilerReport) -> BuildFailure:
    return BuildFailure(
        stage="compiler", text=f"{report.compiler}: {report.text}", locations=report.locations,
        criteria=tuple(c.id for c in job.challenge.criteria if c.compiler == "compiles"),
    )  # fmt: skip


def probe(job: Job, found: StageResult) -> StageResult:
    """Load the answer in the sandbox and run the probes of every criterion that has any."""
    criteria = [c for c in job.challenge.criteria if c.probes]
    if found.build_failure:
        return StageResult({c.id: _unbuilt(c) for c in criteria})
    job.progress("building")
    with opened(job.challenge, job.answer, job.device) as opening:
        if opening.unsupported:
            return StageResult({c.id: _unsupported(c, opening.unsupported) for c in criteria})
        answer = opening.answer
        if opening.fault or answer is None:
            failure = BuildFailure(
                stage="import", text=opening.fault, output=opening.output[-OUTPUT_KEPT:], locations=opening.locations
            )
            result = StageResult({c.id: _unbuilt(c) for c in criteria}, build_failure=failure)
        else:
            result = _run_probes(job, criteria, answer)
        return result if answer is None else result | _seen(answer)


def measure_source(job: Job, found: StageResult) -> StageResult:
    """Measure the source: size, complexity, documentation, likely bugs."""
    job.progress("source metrics")
    criteria = [c for c in job.challenge.criteria if c.metric]
    return StageResult(source_evidence(criteria, job.files.path, job.submission.entries, job.adapters))


def run_own_tests(job: Job, found: StageResult) -> StageResult:
    """Run the answer's own tests against mutants of its code."""
    job.progress("own tests")
    criteria = [c for c in job.challenge.criteria if c.tests]
    # drawn from the files, not from the run: equal files meet equal mutants, so their kill rate does not move
    seed = int.from_bytes(hashlib.sha256(repr(sorted(job.files.hashes.items())).encode()).digest()[:6], "big")
    count, seconds = MUTANTS, job.challenge.limits.tests_seconds
    if job.options.full:
        count, seconds = ALL_MUTANTS, ALL_SECONDS
    return StageResult(
        own_tests_evidence(
            criteria, job.submission, job.files.path, detect(), seed=seed, mutants=count, seconds=seconds,
            adapters=job.adapters, quoted=job.origin is None or job.origin.redistribute,
        )
    )  # fmt: skip


def check_claims(job: Job, found: StageResult) -> StageResult | None:
    """Hold the figures that the answer states about itself to those measured."""
    criteria = [c for c in job.challenge.criteria if c.claims]
    if not criteria:
        return None
    figures = {name: value for item in found.evidence.values() for name, value in item.measured.items()}
    return StageResult(claims_evidence(criteria, job.submission.claims, figures))


STAGES = (
    Stage("compiler", compile_source),
    Stage("build_and_probes", probe),
    Stage("source", measure_source),
    Stage("own_tests", run_own_tests),
    Stage("claims", check_claims),
)


def _run_probes(job: Job, criteria: list[Criterion], answer: GradedAnswer) -> StageResult:
    evidence = []
    for criterion in criteria:
        job.progress(criterion.id)
        evidence.append(_probed(job, criterion, answer))
    evidence = charged_to_the_answer(evidence, job.adapters)
    named = settled_names(job.code, evidence, answer) if _may_explain(answer) else evidence
    settled = anchored(charged_once(job.code, named), job.challenge.anchor, {c.id for c in criteria})
    return StageResult({e.criterion: e for e in settled}, _nondeterminism(job, answer))


def _probed(job: Job, criterion: Criterion, answer: GradedAnswer) -> Evidence:
    """One criterion's evidence; a probe that breaks has a second chance.

    On the same inputs: what breaks twice is our mistake and would break again, and other inputs might hide it.
    """
    kept = _failed_before(job, criterion, answer)
    if kept is not None:
        return kept
    for again in (False, True):
        item = _once(job, criterion, answer, seed_of(job.seed, criterion.id))
        if item.outcome is not Outcome.JUDGE_ERROR:
            break
        if again:
            return item.model_copy(update={"detail": f"{item.detail}; twice on the same inputs"})
        job.progress(f"{criterion.id}, again: {item.detail}")
    if item.draws is not None and item.draws.failed and item.seed is not None and job.options.seed is None:
        job.failing_seeds.keep(criterion.id, item.seed)
    return item


def _failed_before(job: Job, criterion: Criterion, answer: GradedAnswer) -> Evidence | None:
    """The failure on the seed that once failed these files, where there is one and it still does."""
    seed = job.failing_seeds.of(criterion.id) if job.options.seed is None else None
    if seed is None:
        return None
    item = _once(job, criterion, answer, seed)
    return item if item.outcome is Outcome.FAILED else None


def _once(job: Job, criterion: Criterion, answer: GradedAnswer, seed: int) -> Evidence:
    explain = _may_explain(answer)
    return probe_criterion(job.code, criterion, answer, seed, submission=job.submission, explain=explain)


def _may_explain(answer: GradedAnswer) -> bool:
    return answer.calls < EXPLAINED_CALLS and answer.share_used < EXPLAIN_SHARE


def _nondeterminism(job: Job, answer: GradedAnswer) -> tuple[Signal, ...]:
    """Whether it answers the anchor's questions twice alike, where there is time to ask."""
    anchor = job.challenge.criterion(job.challenge.anchor)
    if not _may_explain(answer):
        return ()
    signal = nondeterminism(answer, job.code.probes_of(anchor)[0], seed_of(job.seed, anchor.id))
    return (signal,) if signal else ()


def _seen(answer: GradedAnswer) -> StageResult:
    """What the answer was seen doing, its last worker included, and how long it ran."""
    answer.fresh()
    return StageResult(signals=tuple(answer.signals), seconds={"box": answer.sandbox_seconds})


def _unsupported(criterion: Criterion, reason: str) -> Evidence:
    return Evidence.of(criterion, Outcome.UNSUPPORTED, detail=reason)


def _unbuilt(criterion: Criterion) -> Evidence:
    return Evidence.of(criterion, Outcome.FAILED, detail="the submission does not build", rests_on=UNBUILT)
