"""How strong an answer's own tests are: do they pass, twice, and do they notice faults planted in the code they run?

The suite runs in the box. First as it is, twice, the second time noting which lines it executes; then on mutants of the
executed lines (`ast_mutants`), each of which should fail, and among them on the same code without a fault (`controls`),
which must pass. Mutants and controls are written differently in the same way, and nobody can foretell which comes when.
Verdicts are exit statuses; nothing the suite prints is read. A suite without a check that can fail kills nothing,
whatever crashes under it; neither does one that fails on a control: it judges something else than what the code does.
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.quality.assertions import AssertionReport, count_assertions
from harness.quality.ast_mutants import Mutant, mutable_lines, plan_mutants
from harness.quality.boxed_suite import Outcome, Run, Suite
from harness.quality.controls import rewritten
from harness.quality.sources import SourceFile, read_sources
from harness.sandbox import clock
from harness.sandbox.tiers import Tier

BUDGET = 20.0
"""Seconds for the whole stage unless it is asked to be complete."""
SHARE = 10.0
"""Seconds within which the suite must finish once."""
UNBOUNDED = 3600.0
"""What stands for no bound on the stage."""
PATIENCE = 120.0
"""Seconds within which the suite must finish once when the stage has no bound."""
BLOCK = 12
"""One control is hidden among so many mutants, or fewer."""
HIDDEN = 3
"""So many controls are hidden at least, where there are as many mutants."""
WRITING = 0.25
"""Share of the time left that may go into writing the changed code."""
WRITTEN = 64 << 20
"""Characters of changed code at most."""
SAMPLE = 60
"""Mutants drawn unless the stage is asked to be complete: the rate is then known to about 5 %, on any machine alike."""
MAX_MUTANTS = 5000
"""Mutants tried at most: their report must fit."""
NO_TESTS = 5
"""Exit status of pytest that has nothing to run."""
KINDS = "expected python -m pytest, python -m unittest or python FILE.py"


class Standing(StrEnum):
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
class OwnTests:
    """What an answer's own tests are worth.

    Attributes:
        standing: whether they ran and passed.
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

    standing: Standing
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
        return self.standing is Standing.PASSED


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
) -> OwnTests:
    """Run an answer's own tests, then again on controls and mutants, within `budget` seconds.

    Args:
        folder: the snapshot of a submission.
        command: its test command, None or empty when it states none.
        tier: isolation.
        entries: files of its `entry`.
        seed: of the order in which mutants are tried. What controls look like and when they come is never foretold.
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
        return OwnTests(Standing.NONE, "no test command is stated", assertions)
    stage = _Stage(Suite(folder, command, tier, memory_mib), files, seed, start + (UNBOUNDED if full else budget), full)
    result = stage.plain(OwnTests(Standing.PASSED, "", assertions))
    return replace(result, seconds=clock.now() - start)


@dataclass(frozen=True)
class _Stage:
    """The stage of one answer: plain runs, then controls and mutants, until the deadline."""

    suite: Suite
    files: tuple[SourceFile, ...]
    seed: int
    deadline: float
    full: bool

    def plain(self, blank: OwnTests) -> OwnTests:
        """Run the suite as it is, twice, and go on to the mutants when it passes."""
        limit = min(PATIENCE if self.full else SHARE, self._left())
        done = self.suite.runs([Run(must_pass=True), Run(trace=True)], limit=limit, budget=self._left())
        if done.refused:
            return replace(
                blank, standing=Standing.REFUSED, detail=f"cannot run {' '.join(self.suite.command)!r}: {KINDS}"
            )
        if not done.outcomes:
            return replace(blank, standing=Standing.FAILED, detail=done.broken or "nothing was run")
        first = done.outcomes[0]
        seen = replace(blank, collected=first.collected, output=first.output)
        if not first.passed:
            return replace(seen, standing=_standing(first), detail=_what_failed(first))
        if first.collected == 0:
            return replace(seen, standing=Standing.FAILED, detail="passes, but holds no test")
        second = done.outcomes[1] if len(done.outcomes) > 1 else None
        repeat = self._repeat(first, second)
        if repeat is not None and repeat.decided and not repeat.passed:
            detail = f"passes once, then {_what_failed(repeat)}"
            return replace(seen, standing=Standing.FAILED, detail=detail, deterministic=False, output=repeat.output)
        decided = repeat if repeat is not None and repeat.decided else None
        seen = replace(seen, deterministic=None if decided is None else decided.digest == first.digest)
        return self._mutants(seen, first, None if second is None else second.lines)

    def _repeat(self, first: Outcome, second: Outcome | None) -> Outcome | None:
        """The second run; where tracing may be what made it differ, the second of two untraced ones."""
        if second is None or (second.passed and second.digest == first.digest) or not second.decided:
            return second
        again = self.suite.runs([Run(), Run()], limit=_limit(first), budget=self._left())
        return again.outcomes[-1] if again.outcomes else second

    def _mutants(self, seen: OwnTests, first: Outcome, lines: Mapping[str, AbstractSet[int]] | None) -> OwnTests:
        if seen.assertions.real == 0:
            return replace(seen, detail="passes, but holds no check that can fail: nothing counts as noticed")
        sources = [file for file in self.files if not file.test]
        mutants = plan_mutants(sources, lines if lines is not None else _every_line(sources), self.seed)
        written = _Writer(mutants, sources)
        mutants = [mutant for mutant in mutants if mutant.path in written.files]
        seen = replace(seen, planted=len(mutants), exercised=_exercised(sources, lines))
        if not mutants:
            return replace(seen, detail="passes, but executes none of the answer's code")
        begin = clock.now()
        plan = self._plan(mutants[: MAX_MUTANTS if self.full else SAMPLE], written)
        done = self.suite.runs([run for _, run in plan], limit=_limit(first), budget=max(0.5, self._left()))
        seconds = clock.now() - begin
        if done.broken:
            return replace(seen, detail=f"passes, but on changed code {done.broken}: nothing counts as noticed")
        tried = [(mutant, run, came) for (mutant, run), came in zip(plan, done.outcomes, strict=False) if came.decided]
        for mutant, run, came in tried:
            if mutant is None and not came.silent:
                return replace(seen, detail=self._why_it_fails(run, first))
        return _judged(seen, [(mutant, came) for mutant, _, came in tried], seconds)

    def _why_it_fails(self, control: Run, first: Outcome) -> str:
        """Why the suite failed on a control: it passes on the same text at another time, or it does not."""
        again = self.suite.runs([control], limit=_limit(first), budget=max(_limit(first), self._left())).outcomes
        if again and again[0].silent:
            return "unsteady: on the same code it passes at one time and fails at another"
        return "fails on the same code written differently: it judges the text, not what it does"

    def _plan(self, mutants: Sequence[Mutant], written: "_Writer") -> list[tuple[Mutant | None, Run]]:
        """Runs in order: a control first and last, and the mutants with one more control anywhere in each block."""
        until = clock.now() + WRITING * self._left()
        plan: list[tuple[Mutant | None, Run]] = [(None, replace(written.control(), must_pass=True))]
        for mutant in _hidden_among(mutants):
            if clock.now() >= until or written.length >= WRITTEN:
                break
            run = written.control() if mutant is None else written.mutant(mutant)
            if run is not None:
                plan.append((mutant, run))
        return [*plan, (None, written.control())]

    def _left(self) -> float:
        return max(0.1, self.deadline - clock.now())


def _hidden_among(mutants: Sequence[Mutant]) -> Iterator[Mutant | None]:
    """The mutants in order, with None for a control at a place of its own in each block."""
    draw = random.SystemRandom()
    size = max(1, min(BLOCK, len(mutants) // HIDDEN))
    for index in range(0, len(mutants), size):
        block: list[Mutant | None] = [*mutants[index : index + size]]
        block.insert(draw.randrange(len(block) + 1), None)
        yield from block


class _Writer:
    """Writes changed copies of some files, a control and a mutant in the same way: one file anew for every run.

    Attributes:
        files: those that can be written differently, by path.
        length: characters written so far.
    """

    def __init__(self, mutants: Sequence[Mutant], files: Sequence[SourceFile]) -> None:
        self.draw = random.SystemRandom()
        self.length = 0
        wanted = {mutant.path for mutant in mutants}
        found = {file.path: (file, rewritten(file, self._seed())) for file in files if file.path in wanted}
        self.files = {path: file for path, (file, text) in found.items() if text != file.text}
        self.texts = {path: found[path][1] for path in self.files}
        self.paths = [mutant.path for mutant in mutants if mutant.path in self.files]

    def control(self) -> Run:
        """The same code; the file written anew is as often one as mutants are in it."""
        return self._run(self.files[self.draw.choice(self.paths)])

    def mutant(self, mutant: Mutant) -> Run | None:
        """The code with one fault; None where that is no code."""
        file = self.files[mutant.path]
        faulty = replace(file, text=file.text[: mutant.start] + mutant.text + file.text[mutant.end :])
        return None if faulty.tree is None else self._run(faulty)

    def _run(self, anew: SourceFile) -> Run:
        texts = self.texts | {anew.path: rewritten(anew, self._seed())}
        self.length += sum(map(len, texts.values()))
        return Run(tuple(texts.items()), quick=True)

    def _seed(self) -> int:
        return self.draw.getrandbits(32)


def _judged(seen: OwnTests, tried: Sequence[tuple[Mutant | None, Outcome]], seconds: float) -> OwnTests:
    controls = [index for index, (mutant, _) in enumerate(tried) if mutant is None]
    # what no passing control comes after proves nothing: by then the suite may fail on anything
    between = tried[: controls[-1]] if controls else ()
    verdicts = [(mutant, came) for mutant, came in between if mutant is not None]
    survivors = sorted((m.path, m.line, str(m)) for m, came in verdicts if came.silent)
    killed = len(verdicts) - len(survivors)
    detail = f"{killed} of {len(verdicts)} mutants noticed"
    if len(verdicts) < seen.planted:
        detail += f"; {len(verdicts)} of {seen.planted} mutants tried in {seconds:.1f} s"
    return replace(
        seen,
        detail=detail,
        tried=len(verdicts),
        killed=killed,
        kill_rate=killed / len(verdicts) if verdicts else None,
        survivors=tuple(text for _, _, text in survivors),
    )


def _limit(plain: Outcome) -> float:
    """Seconds for one changed run: a few times the plain one, and room for a busy machine."""
    return 4 * plain.seconds + 2


def _standing(first: Outcome) -> Standing:
    return Standing.SLOW if first.end in ("late", "cut") else Standing.FAILED


def _what_failed(came: Outcome) -> str:
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
