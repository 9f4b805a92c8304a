"""Strength of a submission's own tests: whether they pass twice and notice planted faults.

The suite runs in the sandbox: unchanged, then traced, then on mutants (`ast_mutants`) of lines that both the suite and
calls through the contract execute. Mutants without effect on such calls do not count. Before and after the mutants it
runs on equivalent code, which must pass. Verdicts are exit statuses; output is ignored. A suite without a check that
can fail kills no mutant, whatever crashes, and neither does one that fails on equivalent code, as it judges the text.
"""

import ast
import math
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.errors import BusyMachineError
from harness.model import Location, Tier
from harness.model.challenges.challenge import TEST_RUN_SECONDS
from harness.quality.assertions import AssertionReport, Function, count_assertions
from harness.quality.ast_mutants import plan_mutants
from harness.quality.boxed_suite import IDLE_SECONDS, Run, RunResult, Runs, Suite
from harness.quality.contract_calls import ContractCalls
from harness.quality.contract_code import find_contract_functions
from harness.quality.control_runs import with_failing_checks, with_failing_code
from harness.quality.mutant_runs import Tried, both, effective, every_line, join_halves, measure_coverage, plan_runs
from harness.quality.sources import SourceFile, read_sources
from harness.sandbox.accounting.wall_bound import wall_bound
from harness.sandbox.session.background_task import Beside
from harness.timing.exclusive import MachineBusy, alone, beside_others

MUTANTS = 30
"""Mutants to draw. A slow suite gets as many as fit half of the stage's processor time, but at least a third."""
ALL_MUTANTS = 5000
"""Most mutants if all are requested, so that their report fits."""
SECONDS = 120.0
"""Processor time of the stage, in seconds. Beyond it the kill rate stays open rather than cover only what was tried."""
ALL_SECONDS = 36_000.0
"""Processor time, in seconds, if all mutants are requested."""
TOO_BUSY = "the machine gave the tests too little time"
BUSY_FACTOR = 2.0
"""Factor on the processor time of the same work on a busy machine."""
FLAKY = "flaky: on the same code it passes in one run and fails in another"
NO_TESTS = 5
"""Exit status of pytest without a test to run."""
KINDS = "expected python -m pytest, python -m unittest or python FILE.py"


class SuiteStatus(StrEnum):
    """State of a submission's own tests."""

    NONE = "none"
    """The submission states no test command."""
    REFUSED = "refused"
    """The command is not supported."""
    COMPILED = "compiled"
    """The command compiles a test program, which is not run."""
    SLOW = "slow"
    """The tests exceed their processor time, or wait forever."""
    UNDECIDED = "undecided"
    """The machine gave too little time, or may be why they take long."""
    FAILED = "failed"
    """The tests fail on the submission itself, or there are none to run."""
    PASSED = "passed"
    """The tests pass."""


@dataclass(frozen=True)
class SuiteGrade:
    """Result of a submission's own tests.

    Attributes:
        unheeded: control on which the tests pass but should fail, or empty.
        deterministic: true if two runs had equal outcomes; None without two runs.
        exercised: executed share of the mutable lines; None if unknown.
        planted: number of possible mutants.
        without_effect: mutants run without effect on calls through the contract.
        tried: other mutants run.
        kill_rate: 0 to 1; None if open, for the reason in `detail`.
        too_slow: true if it is open because all mutants exceed the stage's processor time.
        survivors: unnoticed mutants, in words.
    """

    status: SuiteStatus
    detail: str
    assertions: AssertionReport
    unheeded: str = ""
    deterministic: bool | None = None
    collected: int | None = None
    exercised: float | None = None
    planted: int = 0
    without_effect: int = 0
    tried: int = 0
    killed: int = 0
    kill_rate: float | None = 0.0
    too_slow: bool = False
    survivors: tuple[str, ...] = ()
    survivor_locations: tuple[Location, ...] = ()
    output: str = ""

    @property
    def passed(self) -> bool:
        """True if the tests pass."""
        return self.status is SuiteStatus.PASSED


def grade_own_tests(
    folder: Path,
    command: Sequence[str] | None,
    *,
    tier: Tier,
    entries: Collection[str] = (),
    adapters: Collection[str] = (),
    contract: ContractCalls | None = None,
    seed: int = 0,
    mutants: int = MUTANTS,
    seconds: float = SECONDS,
    run_seconds: float = TEST_RUN_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
    memory_mib: int = 2048,
) -> SuiteGrade:
    """Run a submission's own tests twice, then on mutants of its code.

    Args:
        adapters: files of the harness, which get no mutants.
        contract: without it, all lines that the tests execute get mutants.
        mutants: number to draw; 0 to run on the submission alone.
        seconds: processor time for the whole stage.
        run_seconds: processor time for one run; the suite fails beyond `BUSY_FACTOR` times that.
        idle_seconds: see `IDLE_SECONDS`.

    Raises:
        BoxError: the sandbox could not start.
    """
    every = read_sources(folder, entries, (), command or (), adapters)
    files = tuple(file for file in every if file.path not in adapters)
    served = find_contract_functions(every, contract.code.challenge.contract.exposed, adapters) if contract else ()
    assertions = count_assertions(files, command or (), served)
    if not command:
        return SuiteGrade(SuiteStatus.NONE, _describe_no_command(files), assertions)
    suite = Suite(folder, command, tier, memory_mib, min(idle_seconds, seconds))
    end = time.perf_counter() + wall_bound(seconds)
    stage = _Stage(suite, files, assertions, entries, contract, seed, mutants, seconds, run_seconds, seconds, end)
    return stage.plain(SuiteGrade(SuiteStatus.PASSED, "", assertions))


@dataclass
class _Stage:
    """The stage of one submission, with `left` processor time, until `end` on `time.perf_counter`."""

    suite: Suite
    files: tuple[SourceFile, ...]
    assertions: AssertionReport
    entries: Collection[str]
    contract: ContractCalls | None
    seed: int
    count: int
    seconds: float
    run_seconds: float
    left: float
    end: float

    def plain(self, blank: SuiteGrade) -> SuiteGrade:
        longest = BUSY_FACTOR * self.run_seconds
        done = self._run_plan([Run(must_pass=True), Run(trace=True)])
        if done.refused:
            return self._refuse(blank)
        if not done.results:
            status = SuiteStatus.FAILED if done.broken else SuiteStatus.UNDECIDED
            return replace(blank, status=status, detail=done.broken or TOO_BUSY, kill_rate=_get_kill_rate(status))
        first = done.results[0]
        seen = replace(blank, collected=first.collected, output=first.output)
        if not first.passed:
            status = _get_status(first)
            return replace(
                seen, status=status, detail=_describe_failure(first, longest), kill_rate=_get_kill_rate(status)
            )
        if first.collected == 0:
            return replace(seen, status=SuiteStatus.FAILED, detail="passes, but holds no test")
        if first.processor_seconds > self.run_seconds:
            may = f"one run may take {self.run_seconds:g} s, and on a busy machine twice as long"
            why = f"passes, but takes {first.processor_seconds:.1f} s of processor time: {may}"
            return replace(seen, status=SuiteStatus.UNDECIDED, detail=why, kill_rate=None)
        second = done.results[1] if len(done.results) > 1 else None
        repeat = self._repeat(first, second)
        if repeat is not None and repeat.decided and not repeat.passed:
            detail = f"passes once, then {_describe_failure(repeat, longest)}"
            return replace(seen, status=SuiteStatus.FAILED, detail=detail, deterministic=False, output=repeat.output)
        decided = repeat if repeat is not None and repeat.decided else None
        seen = replace(seen, deterministic=None if decided is None else decided.digest == first.digest)
        if unheeded := self._find_passing_control():
            return replace(seen, unheeded=unheeded, detail=f"passes, but also {unheeded}: something else decides")
        if second is None or not second.decided:
            return replace(seen, kill_rate=None, detail=f"passes, but the lines it runs are unknown: {TOO_BUSY}")
        try:
            return self._run_mutants(seen, first, second.lines)
        except BusyMachineError:
            return replace(seen, kill_rate=None, detail="passes, but calls of the answer got too little time")

    def _find_passing_control(self) -> str:
        copies = {
            "where each of its checks fails": with_failing_checks(self.files, self.assertions.places),
            "where every function of the answer fails": with_failing_code(self.files, self.entries),
        }
        asked = {words: Run(changed, quick=True) for words, changed in copies.items() if changed}
        results = self._run_plan(list(asked.values())).results if asked else ()
        return next((words for words, result in zip(asked, results, strict=False) if result.silent), "")

    def _refuse(self, blank: SuiteGrade) -> SuiteGrade:
        words = " ".join(self.suite.command)
        named = set(re.findall(r"[\w./-]+", words))
        if program := next((file.path for file in self.files if file.path in named and not file.syntax.linted), None):
            detail = f"{program} is a program to compile: the harness runs tests in Python only"
            return replace(blank, status=SuiteStatus.COMPILED, detail=detail, kill_rate=None)
        return replace(blank, status=SuiteStatus.REFUSED, detail=f"cannot run {words!r}: {KINDS}")

    def _repeat(self, first: RunResult, second: RunResult | None) -> RunResult | None:
        """Return the second run, or an untraced one if tracing may explain a difference."""
        if second is None or (second.passed and second.digest == first.digest) or not second.decided:
            return second
        again = self._run_plan([Run(), Run()])
        return again.results[-1] if again.results else second

    def _run_plan(self, plan: Sequence[Run], run_seconds: float | None = None) -> Runs:
        """Run `plan`, again without other work if its last run is idle or cut."""
        run_seconds = run_seconds or BUSY_FACTOR * self.run_seconds
        with beside_others():
            done = self._run_once(plan, run_seconds)
        if done.results and done.results[-1].end not in ("idle", "cut"):
            return done
        if done.refused or done.broken:
            return done
        try:
            with alone(self._get_remaining_wall() / 2):
                return self._run_once(plan, run_seconds)
        except MachineBusy:  # beside other work, idle and starved runs look the same
            return replace(done, results=(*done.results[:-1], *(replace(r, end="cut") for r in done.results[-1:])))

    def _get_remaining_wall(self) -> float:
        return max(0.0, self.end - time.perf_counter())

    def _run_once(self, plan: Sequence[Run], run_seconds: float) -> Runs:
        limits = {"seconds": self.left, "wall_seconds": self._get_remaining_wall()}
        done = self.suite.runs(plan, run_seconds=min(run_seconds, self.left), **limits)
        self.left = max(1.0, self.left - _sum_processor_seconds(done.results))
        return done

    def _run_mutants(
        self, seen: SuiteGrade, first: RunResult, lines: Mapping[str, AbstractSet[int]] | None
    ) -> SuiteGrade:
        if self.count == 0:
            return replace(seen, kill_rate=None, detail="passes; no mutants were asked for")
        if seen.assertions.real == 0:
            return replace(seen, detail="passes, but holds no check that can fail: nothing counts as noticed")
        sources = [file for file in self.files if not file.test and not file.unused]
        called = self.contract.trace_lines(sources) if self.contract else None
        executed = both(lines if lines is not None else every_line(sources), called)
        mutants = plan_mutants(sources, executed, self.seed, by_name=called is None)
        seen = replace(seen, planted=len(mutants), exercised=measure_coverage(sources, lines, called))
        if not mutants:
            what = "the answer's code" if called is None else "the code that calls through the contract execute"
            return replace(seen, detail=f"passes, but executes none of {what}")
        bearable = int(self.seconds / 2 / max(first.processor_seconds, 0.01)) - 2
        drawn, plan = plan_runs(mutants, sources, min(self.count, max(bearable, self.count // 3)))
        given = self.left
        with beside_others():
            done = self._run_on_two_cores(plan, _compute_limit(first))
        if done.broken:
            return replace(seen, detail=f"passes, but on changed code {done.broken}: nothing counts as noticed")
        results = done.results
        if results and results[0].decided and not results[0].silent:
            return replace(seen, detail=self._explain_failure(plan[0], _compute_limit(first)))
        used_up = _sum_processor_seconds(results) >= given
        if used_up or len(results) < len(plan) or not all(result.decided for result in results):
            slow = f"with all mutants it takes more than {self.seconds:g} s of processor time"
            detail = f"passes, but {slow if used_up else f'on some mutants {TOO_BUSY}'}"
            return replace(seen, kill_rate=None, too_slow=used_up, detail=detail)
        if not results[-1].silent:
            return replace(seen, detail=FLAKY)
        tried = list(zip(drawn, results[1:-1], strict=True))
        counted = effective(tried, sources, self.contract) if self.contract and called is not None else tried
        return _judge(replace(seen, without_effect=len(tried) - len(counted)), counted)

    def _run_on_two_cores(self, plan: Sequence[Run], limit: float) -> Runs:
        """Run the halves of `plan` in parallel; each begins and ends with equivalent code."""
        if len(os.sched_getaffinity(0)) < 2:
            return self._run_once(plan, limit)
        middle, left = -(-len(plan) // 2), self.left
        later = [plan[0], *plan[middle:]]
        limits = {"run_seconds": min(limit, left), "seconds": left, "wall_seconds": self._get_remaining_wall()}
        beside = Beside(lambda: self.suite.runs(later, **limits))
        try:
            first, second = self._run_once([*plan[:middle], plan[-1]], limit), beside.result(math.inf)
        finally:
            beside.give_up()
        assert second is not None  # with an infinite deadline there is a result
        self.left = max(1.0, self.left - _sum_processor_seconds(second.results))
        return join_halves(first, second)

    def _explain_failure(self, equivalent: Run, limit: float) -> str:
        again = self._run_plan([equivalent], limit).results
        if again and again[0].silent:
            return FLAKY
        return "fails on the same code written differently: it judges the text, not what it does"


def _describe_no_command(files: Sequence[SourceFile]) -> str:
    defined = ((file.path, node) for file in files for node in (ast.walk(file.tree) if file.tree else ()))
    tests = [path for path, node in defined if isinstance(node, Function) and node.name.startswith("test")]
    found = sorted({file.path for file in files if file.test}.union(tests))
    if not found:
        return "no command that runs tests is stated, and no file or Python function is named as a test"
    return f"no command that runs its tests is stated: {', '.join(found[:3])}{' and others' if found[3:] else ''}"


def _sum_processor_seconds(results: Sequence[RunResult]) -> float:
    return sum(result.processor_seconds for result in results)


def _judge(seen: SuiteGrade, tried: Sequence[Tried]) -> SuiteGrade:
    if not tried:
        detail = f"passes, but none of {seen.without_effect} mutants changes what calls through the contract bring"
        return replace(seen, detail=detail)
    survivors = sorted((mutant.path, mutant.line, str(mutant)) for mutant, result in tried if result.silent)
    killed = len(tried) - len(survivors)
    detail = f"{killed} of {len(tried)} mutants noticed"
    if len(tried) + seen.without_effect < seen.planted:
        detail += f", drawn from {seen.planted}"
    if seen.without_effect:
        verb = "changes" if seen.without_effect == 1 else "change"
        detail += f"; {seen.without_effect} more {verb} nothing that calls through the contract bring"
    return replace(
        seen,
        detail=detail,
        tried=len(tried),
        killed=killed,
        kill_rate=killed / len(tried),
        survivors=tuple(text for _, _, text in survivors),
        survivor_locations=tuple(p for path, line, _ in survivors for p in Location.within(path, line)),
    )


def _compute_limit(plain: RunResult) -> float:
    return 4 * plain.processor_seconds + 2


def _get_kill_rate(status: SuiteStatus) -> float | None:
    return None if status is SuiteStatus.UNDECIDED else 0.0


def _get_status(first: RunResult) -> SuiteStatus:
    if first.end == "cut":
        return SuiteStatus.UNDECIDED
    return SuiteStatus.SLOW if first.end in ("late", "idle") else SuiteStatus.FAILED


def _describe_failure(result: RunResult, longest: float) -> str:
    if result.end == "late":
        return f"does not finish within the {longest:g} s of processor time that one run may take on a busy machine"
    if result.end == "idle":
        return "does not finish: it waits without using the processor"
    if result.end == "cut":
        return TOO_BUSY
    if result.end == "signal":
        return f"is killed by signal {result.status}"
    if result.silent:
        return "ends before its tests do"
    if result.collected == 0 and result.status == NO_TESTS:
        return "finds no test to run"
    return f"fails with exit status {result.status}"
