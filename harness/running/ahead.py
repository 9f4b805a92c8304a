"""Probes side by side, before the criteria are assessed in their order: most of a right answer's, in less time.

Lanes take probe after probe, each with a sandbox of its own. Only what passed counts, where all such probes of a
criterion did: its cost is charged when the criterion's turn comes. All else is run again then, as if nothing had been
run before, so that a record says the same whether or not there was a processor for more lanes. Two things are not
forgotten. One is a wrong value: else an answer that is wrong by chance would have two tries. The other is a call of a
fixed case that used up its processor time: it would use it up again.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

from harness.errors import HarnessError
from harness.model import Criterion, Signal
from harness.probing.answers import Spent
from harness.probing.failures import NotMeasurable, NotRun
from harness.probing.opening import GradedAnswer
from harness.probing.probe import Probe, ProbeResult, run
from harness.running.job import Job
from harness.sandbox.beside import Beside, assert_wanted
from harness.timing import clock

FAILED_SECONDS = 5.0
"""Time charged to probes that failed after which a lane ends: an answer that fails is for its criteria to explain."""
SHARE = 0.5
"""Of the time for all probes, what the lanes may use together."""


@dataclass(frozen=True)
class CriterionProbes:
    """What is run of one criterion.

    Attributes:
        criterion: its id.
        seed: of the criterion.
        probes: those that nothing beside them disturbs.
    """

    criterion: str
    seed: int
    probes: Sequence[Probe]


@dataclass(frozen=True)
class _Seen:
    """The result of a probe, and what it cost."""

    result: ProbeResult
    spent: Spent


class Ahead:
    """What one answer passed ahead of its turn.

    Args:
        answer: the first lane's, which is charged when a turn comes; None where nothing is run ahead.

    Attributes:
        signals: what the answer was seen doing meanwhile.
    """

    def __init__(self, answer: GradedAnswer | None = None) -> None:
        self.signals: list[Signal] = []
        self._answer = answer
        self._turns: dict[str, CriterionProbes] = {}
        self._passed: dict[str, dict[str, _Seen]] = defaultdict(dict)
        self._broken: dict[str, dict[str, Exception]] = {}
        self._wrong: dict[str, dict[str, ProbeResult]] = defaultdict(dict)
        self._endless: dict[str, dict[str, _Seen]] = {}
        self._waiting: deque[tuple[CriterionProbes, Probe]] = deque()

    def taken(self, criterion: Criterion, seed: int) -> Mapping[str, ProbeResult | Exception]:
        """What the probes of a criterion showed, by name, charged to the answer; empty the second time.

        Empty as well where the answer did not pass one of them, or where they would use up the time for all probes.
        Where one of them broke there is what it raised, and no more; where a call of one did not end, what that showed.
        """
        if criterion.id in self._broken:
            return self._broken.pop(criterion.id)
        turn, passed = self._turns.pop(criterion.id, None), self._passed.pop(criterion.id, {})
        answer, endless = self._answer, self._endless.pop(criterion.id, None)
        if endless is not None:
            passed = endless
        elif turn is None or turn.seed != seed or len(passed) < len(turn.probes):
            return {}
        if answer is None:
            return {}
        before = answer.spent
        answer.spent = reduce(add, (one.spent for one in passed.values()), before)
        if answer.share_used > 1:
            answer.spent = before
            return {}
        return {name: one.result for name, one in passed.items()}

    def wrong(self, criterion: Criterion) -> Mapping[str, ProbeResult]:
        """What the probes showed, by name, in which the answer returned a wrong value."""
        return self._wrong.get(criterion.id, {})

    def run(self, turns: Iterable[CriterionProbes], begun: Callable[[str], None]) -> None:
        """Run probes in the lanes of the answer, the first of them on this thread; nothing is charged yet.

        Args:
            turns: what to run, in the order of the criteria.
            begun: told the id of a criterion when this thread begins a probe of it.
        """
        answer = self._answer
        assert answer is not None
        self._turns = {turn.criterion: turn for turn in turns if turn.probes}
        self._waiting.extend((turn, probe) for turn in self._turns.values() for probe in turn.probes)
        before, seen = answer.spent, list(answer.signals)
        twins = [answer.twin() for _ in range(1, answer.lanes)]
        beside = [Beside(partial(self._other_lane, twin)) for twin in twins]
        try:
            self._lane(answer, begun)
            for lane in beside:
                lane.result(math.inf)
        finally:
            for lane in beside:
                lane.give_up()
            self.signals = [signal for each in (answer, *twins) for signal in each.signals]
            answer.spent, answer.signals = before, seen

    def _other_lane(self, twin: GradedAnswer) -> None:
        try:
            self._lane(twin, lambda criterion: None)
        finally:
            twin.close()

    def _lane(self, answer: GradedAnswer, begun: Callable[[str], None]) -> None:
        """Take what waits until nothing does, or until the answer fails or takes too much."""
        most, failed = answer.share_used + SHARE / answer.lanes, 0.0
        while failed < FAILED_SECONDS and answer.share_used < most and clock.now() < answer.deadline:
            assert_wanted()
            try:
                turn, probe = self._waiting.popleft()
            except IndexError:
                return
            if turn.criterion not in self._turns:
                continue
            begun(turn.criterion)
            before, signals = answer.spent, len(answer.signals)
            result = _shown(probe, answer, turn.seed)
            spent = answer.spent - before
            if isinstance(result, Exception):
                self._broken[turn.criterion] = {probe.name: result}
            if isinstance(result, ProbeResult) and result.passed and len(answer.signals) == signals:
                self._passed[turn.criterion][probe.name] = _Seen(result, spent)
            else:
                self._turns.pop(turn.criterion, None)  # its other probes are run again with it
                failed += spent.charged_seconds
            if isinstance(result, ProbeResult) and result.exhausted and result.draws is None:
                self._endless[turn.criterion] = {probe.name: _Seen(result, spent)}
            if isinstance(result, ProbeResult) and result.counterexample and result.counterexample.got is not None:
                self._wrong[turn.criterion][probe.name] = result


NOTHING_AHEAD = Ahead()
"""Of a grade that runs everything in turn."""


def run_ahead(job: Job, criteria: Iterable[Criterion], answer: GradedAnswer, begun: Callable[[str], None]) -> Ahead:
    """Have an answer pass what it can of all that nothing beside it disturbs, where there is a processor for it.

    Args:
        job: the grade.
        criteria: to be assessed.
        answer: to run probes on.
        begun: told the id of a criterion when this thread begins a probe of it.
    """
    if job.brief or job.cores < 2:
        return NOTHING_AHEAD
    ahead = Ahead(answer)
    turns = (_turn(job, criterion) for criterion in criteria)
    ahead.run((turn for turn in turns if turn), begun)
    return ahead


def _turn(job: Job, criterion: Criterion) -> CriterionProbes | None:
    """What may be run ahead of a criterion, all but what a clock decides; None where it will not begin with its seed.

    Memory is a process's own, and what an emulated device counts, whatever runs beside it.
    """
    offered = not criterion.capability or job.submission.offers(criterion.capability)
    if not offered or criterion.id in job.left_out or job.failing_seed(criterion) is not None:
        return None
    probes = [probe for probe in job.code.probes_of(criterion) if not probe.clocked]
    return CriterionProbes(criterion.id, job.seed_of(criterion), probes)


def _shown(probe: Probe, answer: GradedAnswer, seed: int) -> ProbeResult | Exception | None:
    """Run a probe in a worker of its own and return its result or what it raised; None leaves that to its turn."""
    try:
        answer.fresh()
        return run(probe, answer, seed, shrink=False)
    except (NotMeasurable, NotRun, HarnessError):
        return None
    except Exception as error:  # a mistake of the probe
        return error
    finally:
        answer.fresh()
