"""Races of an answer against the reference, in fresh sandboxes and with verified outputs on unseen inputs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any, Protocol

from harness.model import Figure
from harness.numerics.paired import PROCESSES, PairedComparison, PairedVerdict
from harness.probing.answers import Answer, SandboxedAnswer
from harness.probing.failures import NotMeasurable, NotRun, ProbeFailure
from harness.probing.probe import Partial
from harness.sandbox import start_fork_server
from harness.sandbox.confinement import scratch
from harness.timing.contest import CallCost, ContestResult, Enough, Role, Trial, contest
from harness.timing.exclusive import timing_lock

MAX_RATIO = 20.0
"""Ratio to the reference's time beyond which nothing is earned. Credit is one over the ratio, and less than a twentieth
is negligible. A NumPy answer that works row by row in Python stays below it."""
FULL_CREDIT_RATIO = 1.25
"""Ratio to the reference's time up to which an answer counts as equally fast. Published answers measured at 1.09 to
1.16 on a quiet machine were level in the next run, and equal files must earn equal marks."""
NARROW = 1.2
"""Upper over lower end of the ratio's interval at which a contest for full credit may stop."""
VERIFIED_CALLS = 3
"""Number of verified calls of an answer that cannot be timed."""


class Workload(Protocol):
    """The work of one trial."""

    def prepare(self, answer: Answer) -> Any:
        """Return what the timed calls in a fresh process need."""

    def draw(self) -> Any:
        """Draw a call's inputs and expected output."""

    def call(self, answer: Answer, prepared: Any, given: Any) -> Any:
        """Make the timed call and return its output."""

    def verify(self, given: Any, output: Any) -> None:
        """Raise `ProbeFailure` unless the output is right."""


def compare_speed(answer: Answer, workload: Callable[[], Workload], reference: Path, identity: str) -> Partial:
    """Time an answer against the reference.

    Args:
        identity: source of a module with the same functions that only return outputs of the right form.

    Returns:
        Full credit, unless the ratio clearly exceeds `FULL_CREDIT_RATIO`; then one over the ratio, to one digit.

    Raises:
        ProbeFailure: an output is wrong, the ratio exceeds `MAX_RATIO`, or the answer works between calls.
        NotMeasurable: the answer is not in a sandbox.
        NotRun: the machine is too busy to tell.
    """
    if not isinstance(answer, SandboxedAnswer):
        _verify_only(answer, workload())
        raise NotMeasurable("time is measured in the box only")
    return credit(measure(answer, workload, reference, identity, _is_full_credit_sure))


def measure(
    answer: SandboxedAnswer,
    workload: Callable[[], Workload],
    reference: Path,
    identity: str,
    enough: Enough = lambda _: False,
) -> ContestResult:
    """Time an answer as `compare_speed` does, and add the time and signals of the sandboxes to its own.

    Raises:
        ProbeFailure: an output is wrong or missing.
    """
    answer.fresh()  # its worker must not share the cores with the timed ones
    sets = count()
    with scratch.folder() as folder:
        (folder / "reference.py").write_bytes(reference.read_bytes())
        (folder / "identity.py").write_text(identity, encoding="utf-8")

        @contextmanager
        def start(trials: int) -> Iterator[Sequence[Trial]]:
            if next(sets):
                answer.close()  # a new process lays out memory differently
            with ExitStack() as opened:
                yield list(islice(_start_trials(answer, folder, workload, opened), trials))

        with timing_lock():
            return contest(start, enough=enough)


def _start_trials(
    judged: SandboxedAnswer, folder: Path, workload: Callable[[], Workload], opened: ExitStack
) -> Iterator[Trial]:
    theirs, own = judged.target, replace(judged.target, folder=folder)
    servers = [judged.fork_server(), start_fork_server(own)]
    opened.callback(servers[1].close)
    while True:
        work = workload()
        contenders = {}
        for role in Role:
            target = theirs if role is Role.ANSWER else replace(own, entry=f"{role}.py")
            worker = SandboxedAnswer(target, fork_server=servers[role is not Role.ANSWER])
            contenders[role] = _TimedWorker(worker, work, role, judged)
            opened.callback(contenders[role].close)
            contenders[role].prepare()
        yield Trial(contenders, work.draw)


def _is_full_credit_sure(compared: PairedComparison) -> bool:
    return (
        compared.processes >= PROCESSES
        and compared.high <= FULL_CREDIT_RATIO
        and compared.high <= NARROW * compared.low
    )


def credit(result: ContestResult) -> Partial:
    """Return the credit for a contest; see `compare_speed`."""
    if result.works_in_background:
        seen = f"its process used {result.background:.0%} of a processor between calls, where it has nothing to do"
        raise ProbeFailure("works between calls", seen, measured={"background": round(result.background, 3)})
    if not result.resolved:
        raise NotRun("a call takes hardly longer than its inputs and outputs do")
    compared = result.comparison
    counted = f"{compared.pairs} pairs, {compared.processes} processes"
    detail = f"{compared.ratio:.3g}x the reference's time ({compared.low:.3g}..{compared.high:.3g}, {counted})"
    if not compared.decided and not compared.not_slower and compared.high > FULL_CREDIT_RATIO:
        busy = f"; other work made its calls {result.noise:.1f} times as long" if result.noisy else ""
        raise NotRun(f"too close to call on this machine: {detail}{busy}")
    figures: dict[str, Figure] = {
        "time_ratio": round(compared.ratio, 3),
        "time_ratio_low": round(compared.low, 3),
        "time_ratio_high": round(compared.high, 3),
        "pairs": compared.pairs,
        "processes": compared.processes,
        "machine_noise": round(result.noise, 3),
    }
    if compared.verdict is not PairedVerdict.SLOWER or compared.low <= FULL_CREDIT_RATIO:
        return Partial(1.0, figures, detail)
    if compared.low > MAX_RATIO:
        raise ProbeFailure(
            "is far slower than the reference", f"{detail}; at most {MAX_RATIO:g}x passes", measured=figures
        )
    return Partial(max(float(f"{1.0 / compared.ratio:.1g}"), 1.0 / MAX_RATIO), figures, detail)


class _TimedWorker:
    def __init__(self, worker: SandboxedAnswer, workload: Workload, role: Role, judged: SandboxedAnswer) -> None:
        self.answer = worker
        self.judged = judged
        self.workload = workload
        self.role = role
        self.prepared: Any = None

    @property
    def pid(self) -> int:
        return self.answer.box().pid

    def prepare(self) -> None:
        with self._blame_harness():
            self.prepared = self.workload.prepare(self.answer)

    def run(self, given: Any) -> CallCost:
        with self._blame_harness():
            output = self.workload.call(self.answer, self.prepared, given)
            cost = self.answer.cost
            if self.role is not Role.IDENTITY:
                self.workload.verify(given, output)
        return CallCost(cost.seconds, cost.processor)

    def close(self) -> None:
        self.answer.close()
        if self.role is Role.ANSWER:
            self.judged.signals += [s for s in self.answer.signals if s not in self.judged.signals]
            self.judged.sandbox_seconds += self.answer.sandbox_seconds

    @contextmanager
    def _blame_harness(self) -> Iterator[None]:
        try:
            yield
        except ProbeFailure as fault:
            if self.role is Role.ANSWER:
                raise
            raise RuntimeError(f"the {self.role} failed while it was timed: {fault.title}: {fault.detail}") from fault


def _verify_only(answer: Answer, workload: Workload) -> None:
    prepared = workload.prepare(answer)
    for _ in range(VERIFIED_CALLS):
        given = workload.draw()
        workload.verify(given, workload.call(answer, prepared, given))
