"""How strong an answer's own tests are: do they pass, twice, and do they notice faults planted in the code they run?

The suite runs in the sandbox. First as it is, twice, the second time noting which lines it executes; then on mutants of
the executed lines (`ast_mutants`), each of which should fail. Before and after the mutants it runs on equivalent code,
which must pass. Verdicts are exit statuses; nothing the suite prints is read. A suite without a check that can fail
kills nothing, whatever crashes under it; neither does one that fails on equivalent code: it judges the text.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.quality.assertions import AssertionReport, count_assertions
from harness.quality.ast_mutants import SourceMutant, equivalent, mutable_lines, plan_mutants
from harness.quality.boxed_suite import Run, RunResult, Suite
from harness.quality.sources import SourceFile, read_sources
from harness.sandbox.tiers import Tier
from harness.timing import clock

BUDGET = 20.0
"""Seconds for the whole stage unless it is asked to be complete."""
SHARE = 10.0
"""Seconds within which the suite must finish once."""
UNBOUNDED = 3600.0
"""What stands for no bound on the stage."""
PATIENCE = 120.0
"""Seconds within which the suite must finish once when the stage has no bound."""
UNSTEADY = "unsteady: on the same code it passes at one time and fails at another"
SAMPLE = 60
"""Mutants drawn unless the stage is asked to be complete: the rate is then known to about 5 %, on any machine alike."""
MAX_MUTANTS = 5000
"""Mutants tried at most: their report must fit."""
NO_TESTS = 5
"""Exit status of pytest that has nothing to run."""
KINDS = "expected python -m pytest, python -m unittest or python FILE.py"


class SuiteStatus(StrEnum):
    """How an answer stands by its own tests."""

    NONE = "none"
    """It states no test command."""
    REFUSED = "refused"
    """Its command is none that can be run."""
    SLOW = "slow"
    """They do not finish within their share of the time."""
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
        deterministic: whether two runs went alike; None when there were no two.
        collected: tests found, as the suite says; None when it does not say.
        assertions: checks in their text.
        exercised: share of the lines a mutant could be planted on that they execute; None when unknown.
        planted: mutants of those lines.
        tried: mutants that were run.
        killed: mutants that made them fail.
        kill_rate: 0 to 1; None when no mutant was tried for want of time.
        survivors: mutants they did not notice, in words.
        seconds: wall time of the stage.
        output: the last of what they printed.
    """

    status: SuiteStatus
    detail: str
    assertions: AssertionReport
    deterministic: bool | None = None
    collected: int | None = None
    exercised: float | None = None
    planted: int = 0
    tried: int = 0
    killed: int = 0
    kill_rate: float | None = 0.0
    survivors: tuple[str, ...] = ()
    seconds: float = 0.0
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
    seed: int = 0,
    budget: float = BUDGET,
    full: bool = False,
    memory_mib: int = 2048,
) -> SuiteGrade:
    """Run an answer's own tests, then again on mutants of its code, within `budget` seconds.

    Args:
        folder: the snapshot of a submission.
        command: its test command, None or empty when it states none.
        tier: isolation.
        entries: files of its `entry`.
        seed: of the order in which mutants are tried.
        budget: seconds for the whole stage.
        full: try every mutant however long it takes.
        memory_mib: address space of each process.

    Raises:
        BoxError: the box could not be started.
    """
    start = clock.now()
    files = read_sources(folder, entries)
    assertions = count_assertions(files, command or ())
    if not command:
        return SuiteGrade(SuiteStatus.NONE, "no test command is stated", assertions)
    stage = _Stage(Suite(folder, command, tier, memory_mib), files, seed, start + (UNBOUNDED if full else budget), full)
    result = stage.plain(SuiteGrade(SuiteStatus.PASSED, "", assertions))
    return replace(result, seconds=clock.now() - start)


@dataclass(frozen=True)
class _Stage:
    """The stage of one answer: plain runs, then mutants, until the deadline."""

    suite: Suite
    files: tuple[SourceFile, ...]
    seed: int
    deadline: float
    full: bool

    def plain(self, blank: SuiteGrade) -> SuiteGrade:
        """Run the suite as it is, twice, and go on to the mutants when it passes."""
        limit = min(PATIENCE if self.full else SHARE, self._left())
        done = self.suite.runs([Run(must_pass=True), Run(trace=True)], limit=limit, budget=self._left())
        if done.refused:
            return replace(
                blank, status=SuiteStatus.REFUSED, detail=f"cannot run {' '.join(self.suite.command)!r}: {KINDS}"
            )
        if not done.outcomes:
            return replace(blank, status=SuiteStatus.FAILED, detail=done.broken or "nothing was run")
        first = done.outcomes[0]
        seen = replace(blank, collected=first.collected, output=first.output)
        if not first.passed:
            return replace(seen, status=_status(first), detail=_what_failed(first))
        if first.collected == 0:
            return replace(seen, status=SuiteStatus.FAILED, detail="passes, but holds no test")
        second = done.outcomes[1] if len(done.outcomes) > 1 else None
        repeat = self._repeat(first, second)
        if repeat is not None and repeat.decided and not repeat.passed:
            detail = f"passes once, then {_what_failed(repeat)}"
            return replace(seen, status=SuiteStatus.FAILED, detail=detail, deterministic=False, output=repeat.output)
        decided = repeat if repeat is not None and repeat.decided else None
        seen = replace(seen, deterministic=None if decided is None else decided.digest == first.digest)
        return self._mutants(seen, first, None if second is None else second.lines)

    def _repeat(self, first: RunResult, second: RunResult | None) -> RunResult | None:
        """The second run; where tracing may be what made it differ, the second of two untraced ones."""
        if second is None or (second.passed and second.digest == first.digest) or not second.decided:
            return second
        again = self.suite.runs([Run(), Run()], limit=_limit(first), budget=self._left())
        return again.outcomes[-1] if again.outcomes else second

    def _mutants(self, seen: SuiteGrade, first: RunResult, lines: Mapping[str, AbstractSet[int]] | None) -> SuiteGrade:
        if seen.assertions.real == 0:
            return replace(seen, detail="passes, but holds no check that can fail: nothing counts as noticed")
        sources = [file for file in self.files if not file.test]
        mutants = plan_mutants(sources, lines if lines is not None else _every_line(sources), self.seed)
        seen = replace(seen, planted=len(mutants), exercised=_exercised(sources, lines))
        if not mutants:
            return replace(seen, detail="passes, but executes none of the answer's code")
        begin = clock.now()
        drawn, plan = _plan(mutants, sources, MAX_MUTANTS if self.full else SAMPLE)
        done = self.suite.runs(plan, limit=_limit(first), budget=max(0.5, self._left()))
        seconds = clock.now() - begin
        if done.broken:
            return replace(seen, detail=f"passes, but on changed code {done.broken}: nothing counts as noticed")
        results = done.outcomes
        if results and results[0].decided and not results[0].silent:
            return replace(seen, detail=self._why_it_fails(plan[0], first))
        if len(results) < len(plan) or not results[-1].decided:
            return replace(seen, kill_rate=None, detail="there was no time left for its last run")
        if not results[-1].silent:
            return replace(seen, detail=UNSTEADY)
        tried = [(mutant, result) for mutant, result in zip(drawn, results[1:-1], strict=True) if result.decided]
        return _judged(seen, tried, seconds)

    def _why_it_fails(self, equivalent: Run, first: RunResult) -> str:
        """Why the suite failed on equivalent code: it passes on the same text at another time, or it does not."""
        again = self.suite.runs([equivalent], limit=_limit(first), budget=max(_limit(first), self._left())).outcomes
        if again and again[0].silent:
            return UNSTEADY
        return "fails on the same code written differently: it judges the text, not what it does"

    def _left(self) -> float:
        return max(0.1, self.deadline - clock.now())


def _plan(
    mutants: Sequence[SourceMutant], files: Sequence[SourceFile], count: int
) -> tuple[list[SourceMutant], list[Run]]:
    """The first `count` mutants that are code, and the runs: equivalent code, each mutant, equivalent code again."""
    by_path = {file.path: file for file in files}
    changed = (
        (mutant, replace(by_path[mutant.path], text=mutant.planted(by_path[mutant.path].text))) for mutant in mutants
    )
    drawn = list(itertools.islice(((mutant, file) for mutant, file in changed if file.tree is not None), count))
    touched = sorted({mutant.path for mutant in mutants})
    same = Run(tuple((path, equivalent(by_path[path])) for path in touched), quick=True)
    runs = [Run(((file.path, file.text),), quick=True) for _, file in drawn]
    return [mutant for mutant, _ in drawn], [replace(same, must_pass=True), *runs, same]


def _judged(seen: SuiteGrade, tried: Sequence[tuple[SourceMutant, RunResult]], seconds: float) -> SuiteGrade:
    survivors = sorted((mutant.path, mutant.line, str(mutant)) for mutant, result in tried if result.silent)
    killed = len(tried) - len(survivors)
    detail = f"{killed} of {len(tried)} mutants noticed"
    if len(tried) < seen.planted:
        detail += f"; {len(tried)} of {seen.planted} mutants tried in {seconds:.1f} s"
    return replace(
        seen,
        detail=detail,
        tried=len(tried),
        killed=killed,
        kill_rate=killed / len(tried) if tried else None,
        survivors=tuple(text for _, _, text in survivors),
    )


def _limit(plain: RunResult) -> float:
    """Seconds for one changed run: a few times the plain one, and room for a busy machine."""
    return 4 * plain.seconds + 2


def _status(first: RunResult) -> SuiteStatus:
    return SuiteStatus.SLOW if first.end in ("late", "cut") else SuiteStatus.FAILED


def _what_failed(came: RunResult) -> str:
    if came.end in ("late", "cut"):
        return f"does not finish within {came.seconds:.0f} s"
    if came.end == "signal":
        return f"is killed by signal {came.status}"
    if came.silent:
        return "ends before its tests do"
    if came.collected == 0 and came.status == NO_TESTS:
        return "finds no test to run"
    return f"fails with exit status {came.status}"


def _every_line(files: Sequence[SourceFile]) -> dict[str, frozenset[int]]:
    return {file.path: frozenset(range(1, file.text.count("\n") + 2)) for file in files}


def _exercised(files: Sequence[SourceFile], lines: Mapping[str, AbstractSet[int]] | None) -> float | None:
    mutable = {file.path: mutable_lines(file) for file in files}
    total = sum(map(len, mutable.values()))
    if lines is None or total == 0:
        return None
    return sum(len(places & lines.get(path, frozenset())) for path, places in mutable.items()) / total
