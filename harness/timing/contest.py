"""Contests: a submission and a reference timed in turns, so that changes in the machine's speed affect both.

A trial is three processes: the submission, the reference, and an identity that takes the inputs and returns outputs of
their form. The identity's time, the protocol's overhead, is subtracted. Each round gives all three fresh inputs in
random order and verifies every output. Three trials run in turns, each pinned to one core. Up to twice, trials of fresh
processes replace them.
"""

import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from statistics import median
from typing import Any, Protocol

from harness.numerics.paired import LOOKS, PROCESSES, PairedComparison, PairedVerdict, Rule, compare, log_ratios
from harness.sandbox.accounting import process_stats
from harness.timing import clock

WARM_UP = 2
"""First rounds of a trial, which map memory and load code; verified but not timed."""
RESTART_PAIRS = (252, 850)
"""Numbers of pairs after which fresh processes take over. Memory placement makes one process a per cent slower than the
next, which only more processes average out."""
SLOW_CALL_SECONDS = 0.25
"""Seconds of a first round that make a second warm-up round unnecessary."""
SECONDS = 15.0
"""Processor seconds, the harness's included, after which an undecided contest stops; near equals need them."""
PATIENCE = 3.0
"""Wall seconds allowed per processor second, in case of other work."""
IDENTITY_EVERY = 4
"""Rounds per run of the identity, whose median converges long before the pairs decide."""
BACKGROUND = 0.05
"""Share of a processor that an idle process may use; an honest one uses none."""
NOISY = 1.1
"""Ratio of wall to processor time above which other work took the processor away."""
RESOLVED = 1.5
"""Ratio of the reference's time to the identity's from which their difference is meaningful."""
CLEAR_RATIO = 4.0
"""Ratio that every pair must exceed for a verdict without enough pairs for an interval."""


class Role(StrEnum):
    """The participants."""

    ANSWER = "answer"
    REFERENCE = "reference"
    IDENTITY = "identity"


@dataclass(frozen=True)
class CallCost:
    """Wall and processor seconds of one call."""

    seconds: float
    processor: float


class Contender(Protocol):
    """One process that repeats the task."""

    @property
    def pid(self) -> int:
        """Process id."""

    def run(self, given: Any) -> CallCost:
        """Do the task and verify the output; an exception ends the contest."""


@dataclass(frozen=True)
class Trial:
    """Fresh processes, and the source of a round's inputs."""

    contenders: Mapping[Role, Contender]
    draw: Callable[[], Any]


@dataclass(frozen=True)
class ContestResult:
    """The result of a contest.

    Attributes:
        processor: the submission's over the reference's processor time, both above the identity's.
        wall: the same for wall time.
        noise: the reference's wall time over its processor time.
        background: largest processor share of a submission's process between calls.
        resolved: whether the reference takes clearly longer than the identity.
        page_faults: medians per call, of submission and reference.
    """

    processor: PairedComparison
    wall: PairedComparison
    noise: float
    background: float
    resolved: bool
    page_faults: tuple[float, float]
    pinned: bool
    seconds: float

    @property
    def comparison(self) -> PairedComparison:
        """The comparison that counts: processor time, unless wall time shows the submission clearly slower.

        Other work on the machine hardly affects processor time, but only wall time includes waiting and work done
        elsewhere.
        """
        return self.wall if self.wall.low > self.processor.high else self.processor

    @property
    def noisy(self) -> bool:
        """True if other work took the processor away."""
        return self.noise > NOISY

    @property
    def works_in_background(self) -> bool:
        """True if the submission worked between calls, so that its times mean little."""
        return self.background > BACKGROUND


Start = Callable[[int], AbstractContextManager[Sequence[Trial]]]
"""Opens a number of trials, whose processes end with the context."""
Enough = Callable[[PairedComparison], bool]
"""Tests whether an undecided comparison is precise enough."""


def contest(
    start: Start, *, trials: int = PROCESSES, seconds: float = SECONDS, enough: Enough = lambda _: False
) -> ContestResult:
    """Time a submission against a reference until the pairs decide, `enough` holds, or time is up.

    Exceptions of `start` and the contenders propagate.

    Args:
        trials: number of parallel trials, at least `PROCESSES` for a verdict.
        enough: ends the contest if it holds for both processor and wall time.
    """
    began = clock.now()
    clock.warm_memory()
    with ExitStack() as running:

        def enter() -> list[_Track]:
            running.close()  # the previous trials
            tracks = [_Track(trial, number) for number, trial in enumerate(running.enter_context(start(trials)))]
            for track in tracks:
                track.warm_up()
            return tracks

        tracks, processor = _play(enter, seconds, enough)
        return _result(tracks, processor, clock.now() - began)


class _Entrant:
    def __init__(self, contender: Contender, core: int) -> None:
        self.contender = contender
        self.pinned = clock.pin(contender.pid, core)
        self.idle = process_stats.IdleMeter(contender.pid)
        self.walls: list[float] = []
        self.processors: list[float] = []
        self.faults: list[float] = []

    def run(self, given: Any) -> None:
        with suppress(ProcessLookupError):  # if the process has died, the call itself raises
            self.idle.wake()
        faults = self._read_page_faults()
        turn = self.contender.run(given)
        with suppress(ProcessLookupError):
            self.idle.rest()
        self.faults.append(self._read_page_faults() - faults)
        self.walls.append(turn.seconds)
        # no processor time can be read from a process that ended right after its reply
        self.processors.append(turn.processor if turn.processor > 0 else turn.seconds)

    def _read_page_faults(self) -> int:
        try:
            return process_stats.page_faults(self.contender.pid)
        except ProcessLookupError:
            return 0

    def forget(self) -> None:
        """Discard the costs, but not the background work."""
        self.walls, self.processors, self.faults = [], [], []


class _Track:
    def __init__(self, trial: Trial, number: int) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.trial = trial
        self.order = random.SystemRandom()
        self.rounds = 0
        self.worked = 0.0
        self.entrants = {r: _Entrant(c, cores[number % len(cores)]) for r, c in trial.contenders.items()}

    def warm_up(self) -> None:
        for _ in range(WARM_UP):
            start = clock.now()
            self.round()
            if clock.now() - start > SLOW_CALL_SECONDS:
                break
        for entrant in self.entrants.values():
            entrant.forget()
        self.rounds = 0

    def round(self) -> None:
        given = self.trial.draw()
        roles = [role for role in self.entrants if role is not Role.IDENTITY or self.rounds % IDENTITY_EVERY == 0]
        for role in self.order.sample(roles, len(roles)):
            self.entrants[role].run(given)
            self.worked += self.entrants[role].processors[-1]
        self.rounds += 1

    def log_ratios(self, times: "Times") -> list[float]:
        answer, reference, identity = (times(self.entrants[role]) for role in Role)
        return log_ratios(answer, reference, overhead=median(identity)) if identity else []


Times = Callable[[_Entrant], list[float]]
_wall, _processor, _faults = map(attrgetter, ("walls", "processors", "faults"))


def _play(enter: Callable[[], list[_Track]], seconds: float, enough: Enough) -> tuple[list[_Track], PairedComparison]:
    running = enter()
    tracks, pairs, rule, comparison = list(running), 0, Rule(), compare([])
    began, own = clock.now(), time.process_time()

    def time_is_up() -> bool:
        worked = time.process_time() - own + sum(track.worked for track in tracks)
        return worked > seconds or clock.now() - began > PATIENCE * seconds

    # each trial plays one round regardless of time, to judge even very slow submissions
    while pairs < len(running) or (pairs < LOOKS[-1] and not time_is_up()):
        running[pairs % len(running)].round()
        pairs += 1
        if pairs in LOOKS:
            comparison = rule.look(_ratios(tracks, _processor))
            if comparison.decided or _measure_background(tracks) > BACKGROUND:
                return tracks, comparison
            if enough(comparison) and enough(compare(_ratios(tracks, _wall))):
                return tracks, comparison
        if pairs in RESTART_PAIRS:
            running = enter()
            tracks += running
    return tracks, _decide_clearly_slower(tracks, _processor, comparison)


def _ratios(tracks: Sequence[_Track], times: Times) -> list[list[float]]:
    return [track.log_ratios(times) for track in tracks]


def _measure_background(tracks: Sequence[_Track]) -> float:
    return max(track.entrants[Role.ANSWER].idle.share for track in tracks)


def _decide_clearly_slower(tracks: Sequence[_Track], times: Times, undecided: PairedComparison) -> PairedComparison:
    ratios = _ratios(tracks, times)
    every = [value for process in ratios for value in process]
    comparison = compare(ratios)
    if comparison.processes < PROCESSES or min(every) < math.log(CLEAR_RATIO):
        return undecided if undecided.pairs else replace(comparison, verdict=PairedVerdict.UNCLEAR)
    return replace(comparison, low=math.exp(min(every)), high=math.exp(max(every)), verdict=PairedVerdict.SLOWER)


def _result(tracks: Sequence[_Track], processor: PairedComparison, seconds: float) -> ContestResult:
    def middle(role: Role, of: Callable[[_Entrant], Sequence[float]]) -> float:
        return median(value for track in tracks for value in of(track.entrants[role]))

    reference = middle(Role.REFERENCE, _processor)
    return ContestResult(
        processor=processor,
        wall=_decide_clearly_slower(tracks, _wall, compare(_ratios(tracks, _wall))),
        noise=middle(Role.REFERENCE, _wall) / reference,
        background=_measure_background(tracks),
        resolved=reference >= RESOLVED * middle(Role.IDENTITY, _processor),
        page_faults=(middle(Role.ANSWER, _faults), middle(Role.REFERENCE, _faults)),
        pinned=all(entrant.pinned for track in tracks for entrant in track.entrants.values()),
        seconds=seconds,
    )
