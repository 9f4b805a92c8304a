"""Stages of a grade."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import takewhile
from types import MappingProxyType

from harness.errors import BusyMachineError, HarnessError
from harness.grading.collected_submission import adapter_is_at_fault, excuse_criteria
from harness.grading.empty_submission import judge_without_files
from harness.grading.job import Job
from harness.grading.options import no_progress
from harness.grading.speculative_probing import Ahead, run_ahead
from harness.grading.stage_result import StageResult
from harness.languages import AnswerFiles, CompilerReport, RepairedAnswer
from harness.model import UNBUILT, BuildFailure, Criterion, Evidence, Outcome, RepairedGrade, Signal
from harness.probing.answers import SandboxedAnswer
from harness.probing.evidence.charging import apply_anchor, charge_once
from harness.probing.evidence.common_causes import settle_names
from harness.probing.evidence.criteria import probe_criterion, seed_of
from harness.probing.evidence.determinism import nondeterminism
from harness.probing.evidence.root_causes import judge_without_conditions, link_to_races
from harness.probing.probe import ProbeResult
from harness.probing.submissions.opening import GradedAnswer, open_answer
from harness.quality.compiled import compiler_evidence
from harness.quality.contract_calls import ContractCalls
from harness.quality.evidence import claims_evidence, own_tests_evidence, source_evidence
from harness.quality.own_tests import ALL_MUTANTS, ALL_SECONDS, MUTANTS
from harness.sandbox import detect
from harness.sandbox.accounting.wall_bound import ends_by
from harness.sandbox.confinement import scratch
from harness.sandbox.session.background_task import Beside, wait_for
from harness.sandbox.session.pool import keep_warm
from harness.timing import clock
from harness.timing.timeline import span

EXPLAINED_CALLS = 20_000
"""Calls after which failures are no longer shrunk or diagnosed. Probing alone makes hundreds, explaining a submission
that fails everywhere thousands."""
EXPLAIN_SHARE = 0.5
"""Share of the probes' time after which explaining stops, too, for slow submissions."""
NOT_AGAIN = "asked the same once more, it answered right"
OUTPUT_KEPT = 2000
"""Characters kept from the end of a failed build's output."""


@dataclass(frozen=True)
class Stage:
    """One step of a grade.

    Attributes:
        name: key of its time in the record.
        run: function that returns None if the stage does not apply.
        beside: true if the stage needs no earlier result and mostly waits, so that it may run in parallel.
    """

    name: str
    run: Callable[[Job, StageResult], StageResult | None]
    beside: bool = False


def run_stages(job: Job) -> StageResult:
    """Run all stages and combine their results.

    Stages marked `beside` run in a thread, given a core for it, until anything is timed.
    """
    if (without := judge_without_files(job)) is not None:
        return without
    with ends_by(job.deadline):
        return _run_all(job)


def _run_all(job: Job) -> StageResult:
    if not any(c.tests for c in job.criteria) or len(os.sched_getaffinity(0)) < 2:
        return _finish(job, _run_in_turn(job, STAGES, StageResult()))
    quiet = replace(job, progress=no_progress)  # two threads must not interleave their progress lines
    work = Beside(lambda: _run_in_turn(quiet, [s for s in STAGES if s.beside], StageResult()))
    with wait_for(work, job.deadline):
        first = takewhile(lambda stage: not stage.beside, STAGES)
        found = _run_in_turn(job, first, StageResult())
        job.progress("own tests")
        found |= work.result(job.deadline) or StageResult()
        last = STAGES[max(n for n, stage in enumerate(STAGES) if stage.beside) + 1 :]
        return _finish(job, _run_in_turn(job, last, found))


def _run_in_turn(job: Job, stages: Iterable[Stage], found: StageResult) -> StageResult:
    stages = list(stages)
    if COMPILER in stages and job.cores > 1 and any(c.compiler for c in job.criteria):
        found |= _build_beside_compiler(job)
        stages = [stage for stage in stages if stage not in (COMPILER, PROBES)]
    return reduce(lambda found, stage: found | _time_stage(stage, job, found), stages, found)


def _build_beside_compiler(job: Job) -> StageResult:
    quiet = replace(job, progress=no_progress)
    compiling = Beside(lambda: _time_stage(COMPILER, quiet, StageResult()))
    try:
        probed = _time_stage(replace(PROBES, run=partial(probe, compiling=compiling)), job, StageResult())
        return (compiling.result(job.deadline) or StageResult()) | probed
    finally:
        compiling.give_up()


def _finish(job: Job, found: StageResult) -> StageResult:
    return replace(found, cut_off=job.late())


def _time_stage(stage: Stage, job: Job, found: StageResult) -> StageResult:
    start, result = clock.now(), None
    with span(stage.name, job.submission.name):
        try:
            if not job.late():
                result = stage.run(job, found)
        except BusyMachineError:
            if not job.late():  # otherwise the deadline of the whole grade ended the wait
                raise
    if result is None:
        return StageResult()
    return replace(result, seconds={stage.name: clock.now() - start, **result.seconds})


def compile_source(job: Job, found: StageResult) -> StageResult | None:
    """Compile the submission with its language's own compiler, if any."""
    criteria = [c for c in job.criteria if c.compiler]
    if not criteria and job.options.partial:
        return None
    job.progress("compiling")
    only_whether = job.brief and all(c.compiler == "compiles" for c in criteria)
    report = job.language.compile(job.answer, job.challenge, brief=only_whether)
    evidence = compiler_evidence(criteria, report)
    if report is None:
        return StageResult(evidence) if evidence else None
    return StageResult(evidence, build_failure=None if report.ok is not False else _make_compile_failure(job, report))


def _make_compile_failure(job: Job, report: CompilerReport) -> BuildFailure:
    criteria = tuple(c.id for c in job.challenge.criteria if c.compiler == "compiles")
    text = f"{report.compiler}: {report.text}"
    return BuildFailure(stage="compiler", text=text, locations=report.locations, criteria=criteria)


def probe(job: Job, found: StageResult, compiling: Beside[StageResult] | None = None) -> StageResult | None:
    """Run the probes of every criterion.

    Once the submission is built, wait for `compiling`, a compiler at work in parallel.
    """
    criteria = [c for c in job.criteria if c.probes]
    if found.build_failure:
        return _fail_unbuilt(criteria, found.build_failure)
    job.progress("building")
    # a brief grade times no call, so the next worker may start while one works
    warm = keep_warm() if job.brief and not job.options.only else nullcontext()
    with warm, ExitStack() as stack:
        try:
            opening = stack.enter_context(open_answer(job.challenge, job.answer, job.device))
        except Exception:  # the build may break on code that the compiler refuses meanwhile
            compiled = compiling.result(job.deadline) if compiling else None
            if compiled is None or compiled.build_failure is None:
                raise
            return _fail_unbuilt(criteria, compiled.build_failure)
        compiled = compiling.result(job.deadline) if compiling else found
        if compiled is None:
            return None
        if compiled.build_failure:
            return _fail_unbuilt(criteria, compiled.build_failure)
        if opening.unsupported:
            detail = opening.unsupported
            return StageResult({c.id: Evidence.of(c, Outcome.UNSUPPORTED, detail=detail) for c in criteria})
        answer = opening.answer
        if opening.fault or answer is None:
            failure = BuildFailure(
                stage="contract" if opening.incomplete else "import", text=opening.fault,
                output=opening.output[-OUTPUT_KEPT:], locations=opening.locations,
            )  # fmt: skip
            result = replace(_fail_unbuilt(criteria, failure), build_failure=failure)
        else:
            result = _run_probes(job, criteria, answer)
        return result if answer is None else result | _collect_signals(answer)


def probe_repaired(job: Job, found: StageResult) -> StageResult | None:
    """Probe a minimally repaired copy of a submission that the compiler refused."""
    failure = found.build_failure
    if (
        job.options.partial
        or failure is None
        or failure.stage != "compiler"
        or adapter_is_at_fault(failure, job.adapters)
    ):
        return None
    job.progress("repairing a copy")
    with scratch.folder() as folder:
        repaired = job.language.repaired(job.answer, job.challenge, folder, job.adapters)
        if repaired is None:
            return None
        files = replace(job.answer, folder=folder)
        return StageResult(repaired=_grade_copy(job, repaired, files))


def _grade_copy(job: Job, repaired: RepairedAnswer, files: AnswerFiles) -> RepairedGrade:
    """Probe a repaired copy; an error on our side only becomes its `detail`."""
    if repaired.detail:
        return RepairedGrade(repairs=repaired.repairs, detail=f"the copy does not build either: {repaired.detail}")
    criteria = [c for c in job.challenge.criteria if c.probes]
    try:
        with open_answer(job.challenge, files, job.device) as opening:
            if opening.answer is None or opening.fault or opening.unsupported:
                reason = f"the copy could not be run: {opening.fault or opening.unsupported}"
                return RepairedGrade(repairs=repaired.repairs, detail=reason)
            evidence = _probe_each(job, criteria, opening.answer)
    except HarnessError as error:
        return RepairedGrade(repairs=repaired.repairs, detail=f"the copy could not be graded: {error}")
    return RepairedGrade(repairs=repaired.repairs, evidence=tuple(charge_once(job.code, evidence, marked=False)))


def measure_source(job: Job, found: StageResult) -> StageResult | None:
    """Measure size, complexity, documentation and likely bugs."""
    criteria, exposed = [c for c in job.criteria if c.metric], job.challenge.contract.exposed
    if not criteria:
        return None
    job.progress("source metrics")
    return _make_stage_result(job, source_evidence(criteria, job.submission, job.files.path, job.adapters, exposed))


def run_own_tests(job: Job, found: StageResult) -> StageResult | None:
    """Run the submission's own tests against mutants of its code."""
    criteria = [c for c in job.criteria if c.tests]
    if not criteria:
        return None
    job.progress("own tests")
    plain = (MUTANTS, job.challenge.limits.tests_seconds)
    count, seconds = (ALL_MUTANTS, ALL_SECONDS) if job.options.full else plain
    calls = ContractCalls(job.code, job.answer, job.files_seed, job.deadline) if job.language.traces_lines else None
    with calls or nullcontext():
        evidence = own_tests_evidence(
            criteria, job.submission, job.files.path, detect(), seed=job.files_seed, mutants=count, seconds=seconds,
            adapters=job.adapters, quoted=job.origin is None or job.origin.redistribute, contract=calls,
        )  # fmt: skip
    return _make_stage_result(job, evidence)


def check_claims(job: Job, found: StageResult) -> StageResult | None:
    """Compare the submission's claims with measured figures."""
    criteria = [c for c in job.criteria if c.claims]
    if not criteria:
        return None
    figures = {name: value for e in found.evidence.values() for name, value in (e.unshown | e.measured).items()}
    return _make_stage_result(job, claims_evidence(criteria, job.submission.claims, figures))


def _make_stage_result(job: Job, evidence: Mapping[str, Evidence]) -> StageResult:
    return StageResult({e.criterion: e for e in excuse_criteria(evidence.values(), job.origin)})


COMPILER, PROBES = Stage("compiler", compile_source), Stage("build_and_probes", probe)
STAGES = (
    COMPILER,
    PROBES,
    Stage("repaired_copy", probe_repaired),
    Stage("source", measure_source, beside=True),
    Stage("own_tests", run_own_tests, beside=True),
    Stage("claims", check_claims),
)


def _probe_each(job: Job, criteria: list[Criterion], answer: GradedAnswer) -> list[Evidence]:
    answer.deadline = job.deadline
    found: dict[str, Evidence] = {}
    ahead = run_ahead(job, criteria, answer, partial(_report_begin, job, answer))
    for criterion in _order_criteria(job, criteria):
        _report_begin(job, answer, criterion.id)
        unrun = _skip_untimed(job, criterion) or _skip_in_vain(job, criterion, found)
        found[criterion.id] = unrun or _probe_criterion(job, criterion, answer, ahead)
    answer.signals = [*answer.signals, *(signal for signal in ahead.signals if signal not in answer.signals)]
    charged = excuse_criteria([found[c.id] for c in criteria], job.origin)
    if job.brief or job.late() or not _may_explain(answer):
        return charged
    apart = judge_without_conditions(job.code, charged, answer, job.adapters)
    return link_to_races(job.code, settle_names(job.code, apart, answer), answer)


def _order_criteria(job: Job, criteria: list[Criterion]) -> list[Criterion]:
    if job.brief:
        return sorted(criteria, key=lambda c: c.id != job.challenge.anchor)
    return sorted(criteria, key=lambda c: any(probe.measures_cost for probe in job.code.probes_of(c)))


def _report_begin(job: Job, answer: GradedAnswer, criterion: str) -> None:
    job.progress(criterion)
    if isinstance(answer, SandboxedAnswer):
        answer.under_way = lambda function, seconds: job.progress(f"{criterion}: {function}, {seconds:.0f} s")


def _run_probes(job: Job, criteria: list[Criterion], answer: GradedAnswer) -> StageResult:
    named = _probe_each(job, criteria, answer)
    settled = apply_anchor(charge_once(job.code, named), job.challenge.anchor, {c.id for c in criteria})
    unanchored = any(e.criterion == job.challenge.anchor and e.outcome is Outcome.FAILED for e in named)
    # skipped after a hung call, which would hang again
    signals = () if unanchored and answer.hung else _find_nondeterminism(job, answer)
    return StageResult({e.criterion: e for e in settled}, signals)


def _skip_untimed(job: Job, criterion: Criterion) -> Evidence | None:
    unrun = Evidence.of(criterion, Outcome.NOT_RUN, detail="not timed: no machine for it could be had")
    return unrun if criterion.id in job.left_out else None


def _skip_in_vain(job: Job, criterion: Criterion, found: Mapping[str, Evidence]) -> Evidence | None:
    """In a brief grade, skip a criterion whose credit the failed anchor voids."""
    anchor = found.get(job.challenge.anchor)
    if not job.brief or anchor is None or anchor.outcome is not Outcome.FAILED:
        return None
    detail = f"not run, for it earns nothing while `{anchor.criterion}` fails"
    return Evidence.of(criterion, Outcome.FAILED, rests_on=anchor.criterion, detail=detail)


def _probe_criterion(job: Job, criterion: Criterion, answer: GradedAnswer, ahead: Ahead) -> Evidence:
    """Probe one criterion; if a probe breaks, try once more on the same inputs.

    A mistake of ours would break again, and other inputs might hide it.
    """
    kept = _retry_failing_seed(job, criterion, answer)
    if kept is not None:
        return kept
    seed = job.seed_of(criterion)
    for again in (False, True):
        item = _probe_once(job, criterion, answer, seed, ahead.take(criterion, seed))
        if item.outcome is not Outcome.JUDGE_ERROR:
            break
        if again:
            return item.model_copy(update={"detail": f"{item.detail}; twice on the same inputs"})
        job.progress(f"{criterion.id}, again: {item.detail}")
    if item.outcome in (Outcome.PASSED, Outcome.PARTIAL) and (wrong := ahead.wrong(criterion)):
        item = _probe_once(job, criterion, answer, seed, wrong)
        item = item.model_copy(update={"detail": f"{item.detail}; {NOT_AGAIN}"})
    drawn = job.options.seed is None and not job.brief  # the same seed draws other cases in a brief grade
    if drawn and item.draws is not None and item.draws.failed and item.seed is not None:
        job.failing_seeds.keep(criterion.id, item.seed)
    return item


def _retry_failing_seed(job: Job, criterion: Criterion, answer: GradedAnswer) -> Evidence | None:
    seed = job.failing_seed(criterion)
    if seed is None:
        return None
    item = _probe_once(job, criterion, answer, seed)
    return item if item.outcome is Outcome.FAILED else None


def _probe_once(
    job: Job, criterion: Criterion, answer: GradedAnswer, seed: int,
    known: Mapping[str, ProbeResult | Exception] = MappingProxyType({}),
) -> Evidence:  # fmt: skip
    explain = not job.brief and _may_explain(answer)
    return probe_criterion(
        job.code, criterion, answer, seed, submission=job.submission, adapters=job.adapters, brief=job.brief,
        explain=explain, until_failed=job.brief, known=known,
    )  # fmt: skip


def _may_explain(answer: GradedAnswer) -> bool:
    return answer.calls < EXPLAINED_CALLS and answer.share_used < EXPLAIN_SHARE


def _find_nondeterminism(job: Job, answer: GradedAnswer) -> tuple[Signal, ...]:
    anchor = job.challenge.criterion(job.challenge.anchor)
    if job.brief or job.late() or not _may_explain(answer):
        return ()
    signal = nondeterminism(answer, job.code.probes_of(anchor)[0], seed_of(job.seed, anchor.id))
    return (signal,) if signal else ()


def _collect_signals(answer: GradedAnswer) -> StageResult:
    answer.fresh()
    return StageResult(signals=tuple(answer.signals), seconds={"box": answer.sandbox_seconds})


def _fail_unbuilt(criteria: Iterable[Criterion], why: BuildFailure) -> StageResult:
    detail = f"the submission {why.title}"
    return StageResult({c.id: Evidence.of(c, Outcome.FAILED, detail=detail, rests_on=UNBUILT) for c in criteria})
