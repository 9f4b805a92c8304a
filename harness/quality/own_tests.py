"""How strong an answer's own tests are: do they pass, twice, and do they notice faults planted in the code they run?

The suite runs in the sandbox. First as it is, twice, the second time noting which lines it executes; then on mutants of
those lines that calls through the contract execute as well (`ast_mutants`), each of which should fail. A mutant that
changes nothing that such calls bring does not count. Before and after the mutants it runs on equivalent code,
which must pass. Verdicts are exit statuses; nothing the suite prints is read. A suite without a check that can fail
kills nothing, whatever crashes under it; neither does one that fails on equivalent code: it judges the text.
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
from harness.model.challenge import TEST_RUN_SECONDS
from harness.quality.assertions import AssertionReport, Function, count_assertions
from harness.quality.ast_mutants import plan_mutants
from harness.quality.boxed_suite import IDLE_SECONDS, Run, RunResult, Runs, Suite
from harness.quality.contract_calls import ContractCalls
from harness.quality.contract_code import served_functions
from harness.quality.control_runs import with_failing_checks, with_failing_code
from harness.quality.mutant_runs import Tried, both, effective, every_line, exercised, joined, plan_runs
from harness.quality.sources import SourceFile, read_sources
from harness.sandbox.beside import Beside
from harness.sandbox.wall_bound import wall_bound
from harness.timing.exclusive import MachineBusy, alone, beside_others

MUTANTS = 30
"""Mutants drawn; of a slow suite as many as half of the stage's processor time bears, but at least a third."""
ALL_MUTANTS = 5000
"""Mutants drawn at most where all are asked for: their report must fit."""
SECONDS = 120.0
"""Processor time for the whole stage. Where it does not suffice the kill rate is left open, not taken over what fit."""
ALL_SECONDS = 36_000.0
"""The same where all mutants are asked for."""
TOO_BUSY = "the machine gave the tests too little time"
BUSY_FACTOR = 2.0
"""How many times the processor time of the same work may be on a busy machine: cores share caches and units."""
FLAKY = "flaky: on the same code it passes in one run and fails in another"
NO_TESTS = 5
"""Exit status of pytest that has nothing to run."""
KINDS = "expected python -m pytest, python -m unittest or python FILE.py"


class SuiteStatus(StrEnum):
    """How an answer stands by its own tests."""

    NONE = "none"
    """It states no test command."""
    REFUSED = "refused"
    """Its command is none that can be run."""
    COMPILED = "compiled"
    """Its command compiles a test program of its own, which is not run."""
    SLOW = "slow"
    """They do not finish within their processor time, or wait without end."""
    UNDECIDED = "undecided"
    """The machine gave them too little time to say, or may be why they take long."""
    FAILED = "failed"
    """They fail on the answer itself, or find nothing to run."""
    PASSED = "passed"
    """They pass."""


@dataclass(frozen=True)
class SuiteGrade:
    """What an answer's own tests are worth.

    Attributes:
        status: whether they ran and passed.
        detail: the outcome in words.
        unheeded: what else must make them fail and does not; empty where nothing was found.
        deterministic: whether two runs went alike; None when there were no two.
        collected: tests found, as the suite says; None when it does not say.
        assertions: checks in their text.
        exercised: share of the lines a mutant could be planted on that they execute; None when unknown.
        planted: mutants of those lines.
        without_effect: mutants that were run and change nothing that calls through the contract bring.
        tried: the other mutants that were run.
        killed: mutants that made them fail.
        kill_rate: 0 to 1; None where it was left open, for the reason in `detail`.
        too_slow: whether that is because all mutants take more processor time than the stage has.
        survivors: mutants they did not notice, in words.
        survivor_locations: where these mutants were planted, in the same order.
        output: the last of what they printed.
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
        """Whether they pass on the answer itself."""
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
    """Run an answer's own tests twice, then again on mutants of its code.

    Args:
        folder: the snapshot of a submission.
        command: its test command, None or empty when it states none.
        tier: isolation.
        entries: files of its `entry`.
        adapters: files that are the harness's own: no fault is planted in them.
        contract: calls the answer as probes do; without it a mutant may be planted in all that the tests execute.
        seed: of the mutants drawn.
        mutants: how many are drawn; with 0 the suite runs on the answer alone.
        seconds: processor time for the whole stage.
        run_seconds: processor time within which the suite should finish once; `BUSY_FACTOR` times it fails.
        idle_seconds: wall time within which it must do something.
        memory_mib: address space of each process.

    Raises:
        BoxError: the sandbox could not be started.
    """
    every = read_sources(folder, entries, (), command or (), adapters)
    files = tuple(file for file in every if file.path not in adapters)
    served = served_functions(every, contract.code.challenge.contract.exposed, adapters) if contract else ()
    assertions = count_assertions(files, command or (), served)
    if not command:
        return SuiteGrade(SuiteStatus.NONE, _no_command(files), assertions)
    suite = Suite(folder, command, tier, memory_mib, min(idle_seconds, seconds))
    end = time.perf_counter() + wall_bound(seconds)
    stage = _Stage(suite, files, assertions, entries, contract, seed, mutants, seconds, run_seconds, seconds, end)
    return stage.plain(SuiteGrade(SuiteStatus.PASSED, "", assertions))


@dataclass
class _Stage:
    """The stage of one answer: plain runs, then mutants.

    Attributes:
        seconds: processor time for all of it.
        run_seconds: processor time for one plain run.
        left: what is left of `seconds`.
        end: by `time.perf_counter`, when the wall bound of all of it is over.
    """

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
        """Run the suite as it is, twice, and go on to the mutants when it passes."""
        longest = BUSY_FACTOR * self.run_seconds
        done = self._runs([Run(must_pass=True), Run(trace=True)])
        if done.refused:
            return self._refused(blank)
        if not done.results:
            status = SuiteStatus.FAILED if done.broken else SuiteStatus.UNDECIDED
            return replace(blank, status=status, detail=done.broken or TOO_BUSY, kill_rate=_open(status))
        first = done.results[0]
        seen = replace(blank, collected=first.collected, output=first.output)
        if not first.passed:
            status = _status(first)
            return replace(seen, status=status, detail=_what_failed(first, longest), kill_rate=_open(status))
        if first.collected == 0:
            return replace(seen, status=SuiteStatus.FAILED, detail="passes, but holds no test")
        if first.processor_seconds > self.run_seconds:
            may = f"one run may take {self.run_seconds:g} s, and on a busy machine twice as long"
            why = f"passes, but takes {first.processor_seconds:.1f} s of processor time: {may}"
            return replace(seen, status=SuiteStatus.UNDECIDED, detail=why, kill_rate=None)
        second = done.results[1] if len(done.results) > 1 else None
        repeat = self._repeat(first, second)
        if repeat is not None and repeat.decided and not repeat.passed:
            detail = f"passes once, then {_what_failed(repeat, longest)}"
            return replace(seen, status=SuiteStatus.FAILED, detail=detail, deterministic=False, output=repeat.output)
        decided = repeat if repeat is not None and repeat.decided else None
        seen = replace(seen, deterministic=None if decided is None else decided.digest == first.digest)
        if unheeded := self._unheeded():
            return replace(seen, unheeded=unheeded, detail=f"passes, but also {unheeded}: something else decides")
        if second is None or not second.decided:
            return replace(seen, kill_rate=None, detail=f"passes, but the lines it runs are unknown: {TOO_BUSY}")
        try:
            return self._mutants(seen, first, second.lines)
        except BusyMachineError:
            return replace(seen, kill_rate=None, detail="passes, but calls of the answer got too little time")

    def _unheeded(self) -> str:
        """Say on which control copy the suite passes; empty where it fails on all that say anything."""
        copies = {
            "where each of its checks fails": with_failing_checks(self.files, self.assertions.places),
            "where every function of the answer fails": with_failing_code(self.files, self.entries),
        }
        asked = {words: Run(changed, quick=True) for words, changed in copies.items() if changed}
        results = self._runs(list(asked.values())).results if asked else ()
        return next((words for words, result in zip(asked, results, strict=False) if result.silent), "")

    def _refused(self, blank: SuiteGrade) -> SuiteGrade:
        words = " ".join(self.suite.command)
        named = set(re.findall(r"[\w./-]+", words))
        if program := next((file.path for file in self.files if file.path in named and not file.syntax.linted), None):
            detail = f"{program} is a program to compile: the harness runs tests in Python only"
            return replace(blank, status=SuiteStatus.COMPILED, detail=detail, kill_rate=None)
        return replace(blank, status=SuiteStatus.REFUSED, detail=f"cannot run {words!r}: {KINDS}")

    def _repeat(self, first: RunResult, second: RunResult | None) -> RunResult | None:
        """The second run; where tracing may be what made it differ, the second of two untraced ones."""
        if second is None or (second.passed and second.digest == first.digest) or not second.decided:
            return second
        again = self._runs([Run(), Run()])
        return again.results[-1] if again.results else second

    def _runs(self, plan: Sequence[Run], run_seconds: float | None = None) -> Runs:
        """The runs of `plan`; one that ends with a run that waits or was cut is made once more, alone."""
        run_seconds = run_seconds or BUSY_FACTOR * self.run_seconds
        with beside_others():
            done = self._once(plan, run_seconds)
        if done.results and done.results[-1].end not in ("idle", "cut"):
            return done
        if done.refused or done.broken:
            return done
        try:
            with alone(self._wall_left() / 2):
                return self._once(plan, run_seconds)
        except MachineBusy:  # beside others, what waits and what gets no turn look the same
            return replace(done, results=(*done.results[:-1], *(replace(r, end="cut") for r in done.results[-1:])))

    def _wall_left(self) -> float:
        return max(0.0, self.end - time.perf_counter())

    def _once(self, plan: Sequence[Run], run_seconds: float) -> Runs:
        limits = {"seconds": self.left, "wall_seconds": self._wall_left()}
        done = self.suite.runs(plan, run_seconds=min(run_seconds, self.left), **limits)
        self.left = max(1.0, self.left - _processor_seconds(done.results))
        return done

    def _mutants(self, seen: SuiteGrade, first: RunResult, lines: Mapping[str, AbstractSet[int]] | None) -> SuiteGrade:
        if self.count == 0:
            return replace(seen, kill_rate=None, detail="passes; no mutants were asked for")
        if seen.assertions.real == 0:
            return replace(seen, detail="passes, but holds no check that can fail: nothing counts as noticed")
        sources = [file for file in self.files if not file.test and not file.unused]
        called = self.contract.executed(sources) if self.contract else None
        executed = both(lines if lines is not None else every_line(sources), called)
        mutants = plan_mutants(sources, executed, self.seed, by_name=called is None)
        seen = replace(seen, planted=len(mutants), exercised=exercised(sources, lines, called))
        if not mutants:
            what = "the answer's code" if called is None else "the code that calls through the contract execute"
            return replace(seen, detail=f"passes, but executes none of {what}")
        bearable = int(self.seconds / 2 / max(first.processor_seconds, 0.01)) - 2
        drawn, plan = plan_runs(mutants, sources, min(self.count, max(bearable, self.count // 3)))
        given = self.left
        with beside_others():
            done = self._on_two_cores(plan, _limit(first))
        if done.broken:
            return replace(seen, detail=f"passes, but on changed code {done.broken}: nothing counts as noticed")
        results = done.results
        if results and results[0].decided and not results[0].silent:
            return replace(seen, detail=self._why_it_fails(plan[0], _limit(first)))
        used_up = _processor_seconds(results) >= given
        if used_up or len(results) < len(plan) or not all(result.decided for result in results):
            slow = f"with all mutants it takes more than {self.seconds:g} s of processor time"
            detail = f"passes, but {slow if used_up else f'on some mutants {TOO_BUSY}'}"
            return replace(seen, kill_rate=None, too_slow=used_up, detail=detail)
        if not results[-1].silent:
            return replace(seen, detail=FLAKY)
        tried = list(zip(drawn, results[1:-1], strict=True))
        counted = effective(tried, sources, self.contract) if self.contract and called is not None else tried
        return _judged(replace(seen, without_effect=len(tried) - len(counted)), counted)

    def _on_two_cores(self, plan: Sequence[Run], limit: float) -> Runs:
        """The runs of `plan`, the later half in a sandbox of its own beside the first where there is a core for it.

        Each half begins and ends on equivalent code.
        """
        if len(os.sched_getaffinity(0)) < 2:
            return self._once(plan, limit)
        middle, left = -(-len(plan) // 2), self.left
        later = [plan[0], *plan[middle:]]
        limits = {"run_seconds": min(limit, left), "seconds": left, "wall_seconds": self._wall_left()}
        beside = Beside(lambda: self.suite.runs(later, **limits))
        try:
            first, second = self._once([*plan[:middle], plan[-1]], limit), beside.result(math.inf)
        finally:
            beside.give_up()
        assert second is not None  # no deadline was set
        self.left = max(1.0, self.left - _processor_seconds(second.results))
        return joined(first, second)

    def _why_it_fails(self, equivalent: Run, limit: float) -> str:
        """Why the suite failed on equivalent code: it passes on the same text at another time, or it does not."""
        again = self._runs([equivalent], limit).results
        if again and again[0].silent:
            return FLAKY
        return "fails on the same code written differently: it judges the text, not what it does"


def _no_command(files: Sequence[SourceFile]) -> str:
    """Say what is in an answer's files where no command that runs its tests is stated."""
    defined = ((file.path, node) for file in files for node in (ast.walk(file.tree) if file.tree else ()))
    tests = [path for path, node in defined if isinstance(node, Function) and node.name.startswith("test")]
    found = sorted({file.path for file in files if file.test}.union(tests))
    if not found:
        return "no command that runs tests is stated, and no file or Python function is named as a test"
    return f"no command that runs its tests is stated: {', '.join(found[:3])}{' and others' if found[3:] else ''}"


def _processor_seconds(results: Sequence[RunResult]) -> float:
    return sum(result.processor_seconds for result in results)


def _judged(seen: SuiteGrade, tried: Sequence[Tried]) -> SuiteGrade:
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


def _limit(plain: RunResult) -> float:
    """Processor seconds for one changed run: a few times the plain one, and room for a busy machine."""
    return 4 * plain.processor_seconds + 2


def _open(status: SuiteStatus) -> float | None:
    """The kill rate of a suite that did not pass: none is known where it is not known whether it passes."""
    return None if status is SuiteStatus.UNDECIDED else 0.0


def _status(first: RunResult) -> SuiteStatus:
    if first.end == "cut":
        return SuiteStatus.UNDECIDED
    return SuiteStatus.SLOW if first.end in ("late", "idle") else SuiteStatus.FAILED


def _what_failed(result: RunResult, longest: float) -> str:
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
