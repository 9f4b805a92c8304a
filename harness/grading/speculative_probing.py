"""Parallel probing before the criteria are assessed in order, to save time on correct submissions.

Each lane runs probe after probe in its own sandbox. The results of a criterion count, and are charged at its turn, only
if all its probes passed. Otherwise its probes run again, so that lanes leave the record unchanged. Two failures are
kept: a wrong value, as a submission that is wrong by chance would get a second try, and a call of a fixed case that
exhausted its processor time.
"""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

from harness.errors import HarnessError
from harness.grading.job import Job
from harness.model import Criterion, Signal
from harness.probing.answers import Spent
from harness.probing.failures import NotMeasurable, NotRun
from harness.probing.probe import Probe, ProbeResult, run
from harness.probing.submissions.opening import GradedAnswer
from harness.sandbox.session.background_task import Beside, assert_wanted
from harness.timing import clock

FAILED_SECONDS = 5.0
"""Seconds of failed probes after which a lane ends and leaves them to the criteria's turns."""
SHARE = 0.5
"""Share of the probes' time that all lanes may use together."""


@dataclass(frozen=True)
class CriterionProbes:
    """Probes of one criterion that parallel work does not disturb."""

    criterion: str
    seed: int
    probes: Sequence[Probe]


@dataclass(frozen=True)
class _Seen:
    result: ProbeResult
    spent: Spent


class Ahead:
    """Results of probes ahead of their criteria's turns.

    Args:
        answer: submission of the first lane; None to run nothing ahead.
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

    def take(self, criterion: Criterion, seed: int) -> Mapping[str, ProbeResult | Exception]:
        """Charge and return the results of a criterion's probes by name, once.

        Empty if a probe failed or the probes' time would run out. Holds only the exception of a broken probe, or the
        result of one that exhausted its time.
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
        """Return the results with a wrong value, by probe."""
        return self._wrong.get(criterion.id, {})

    def run(self, turns: Iterable[CriterionProbes], begun: Callable[[str], None]) -> None:
        """Run probes in all lanes, the first on this thread, without charging them.

        Args:
            begun: callback with the criterion's id when this thread begins a probe.
        """
        answer = self._answer
        assert answer is not None
        self._turns = {turn.criterion: turn for turn in turns if turn.probes}
        self._waiting.extend((turn, probe) for turn in self._turns.values() for probe in turn.probes)
        before, seen = answer.spent, list(answer.signals)
        twins = [answer.twin() for _ in range(1, answer.lanes)]
        beside = [Beside(partial(self._run_other_lane, twin)) for twin in twins]
        try:
            self._run_lane(answer, begun)
            for lane in beside:
                lane.result(math.inf)
        finally:
            for lane in beside:
                lane.give_up()
            self.signals = [signal for each in (answer, *twins) for signal in each.signals]
            answer.spent, answer.signals = before, seen

    def _run_other_lane(self, twin: GradedAnswer) -> None:
        try:
            self._run_lane(twin, lambda criterion: None)
        finally:
            twin.close()

    def _run_lane(self, answer: GradedAnswer, begun: Callable[[str], None]) -> None:
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
            result = _run_probe(probe, answer, turn.seed)
            spent = answer.spent - before
            if isinstance(result, Exception):
                self._broken[turn.criterion] = {probe.name: result}
            if isinstance(result, ProbeResult) and result.passed and len(answer.signals) == signals:
                self._passed[turn.criterion][probe.name] = _Seen(result, spent)
            else:
                self._turns.pop(turn.criterion, None)  # skips its other probes: all run again in its turn
                failed += spent.charged_seconds
            if isinstance(result, ProbeResult) and result.exhausted and result.draws is None:
                self._endless[turn.criterion] = {probe.name: _Seen(result, spent)}
            if isinstance(result, ProbeResult) and result.counterexample and result.counterexample.got is not None:
                self._wrong[turn.criterion][probe.name] = result


NOTHING_AHEAD = Ahead()
"""Empty result for a grade that runs everything in turn."""


def run_ahead(job: Job, criteria: Iterable[Criterion], answer: GradedAnswer, begun: Callable[[str], None]) -> Ahead:
    """Run the probes that parallel work does not disturb, given a second processor."""
    if job.brief or job.cores < 2:
        return NOTHING_AHEAD
    ahead = Ahead(answer)
    turns = (_select_probes(job, criterion) for criterion in criteria)
    ahead.run((turn for turn in turns if turn), begun)
    return ahead


def _select_probes(job: Job, criterion: Criterion) -> CriterionProbes | None:
    """Return a criterion's unclocked probes, or None if it is skipped or begins with another seed.

    Parallel work disturbs only clocks: memory is per process, and an emulated device counts the same.
    """
    offered = not criterion.capability or job.submission.offers(criterion.capability)
    if not offered or criterion.id in job.left_out or job.failing_seed(criterion) is not None:
        return None
    probes = [probe for probe in job.code.probes_of(criterion) if not probe.clocked]
    return CriterionProbes(criterion.id, job.seed_of(criterion), probes)


def _run_probe(probe: Probe, answer: GradedAnswer, seed: int) -> ProbeResult | Exception | None:
    """Return a probe's result, the exception of a broken probe, or None to leave it to its turn."""
    try:
        answer.fresh()
        return run(probe, answer, seed, shrink=False)
    except (NotMeasurable, NotRun, HarnessError):
        return None
    except Exception as error:  # a mistake of the probe
        return error
    finally:
        answer.fresh()
