"""A contest: two answers to one task timed in turns, so that changes in the machine's speed affect both alike.

A trial is three processes: the answer, the reference, and one that does nothing but take the inputs and return outputs
of their form. What the last one takes is the price of the protocol, and is taken off the other two before they are
compared. Each round draws fresh inputs and gives them to the three in random order; every output is verified, for an
answer that does not do the work has no time. Three trials run in turns, each of fresh processes, all on one core each,
and while nothing is decided three more take their place, and three again.
"""

import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import Any, Protocol

from harness.numerics.paired import LOOKS, PROCESSES, PairedComparison, PairedVerdict, Rule, compare, log_ratios
from harness.sandbox import process_stats
from harness.timing import clock

WARM_UP = 2
"""First rounds of a trial that are verified but not timed: memory is mapped and code is loaded in them."""
RESTART_PAIRS = (252, 850)
"""Numbers of pairs at which fresh processes take over: where memory happens to lie makes one process slower than the
next by a per cent, and only more processes average that out."""
SLOW_CALL_SECONDS = 0.25
"""Seconds of a first round after which no second one is needed to warm up."""
SECONDS = 15.0
"""Processor time, the harness's included, after which an undecided contest stops; near equals need it."""
PATIENCE = 3.0
"""Times as much wall time that it may take where other work keeps the processor from them."""
IDENTITY_EVERY = 4
"""The identity takes part in every so many rounds: its median is known well enough long before the pairs decide."""
BACKGROUND = 0.05
"""Share of one processor that an idle process may use; an honest one uses none."""
NOISY = 1.1
"""Wall over processor time above which other work took the processor away."""
RESOLVED = 1.5
"""Times of the identity that the reference must take for their difference to mean anything."""
CLEAR_RATIO = 4.0
"""Ratio that every pair must exceed for a verdict without enough pairs for an interval."""


class Role(StrEnum):
    """Who takes part."""

    ANSWER = "answer"
    REFERENCE = "reference"
    IDENTITY = "identity"


@dataclass(frozen=True)
class CallCost:
    """What one call cost: wall and processor seconds, as `Reply` has them."""

    seconds: float
    processor: float


class Contender(Protocol):
    """One process that does the task, again and again."""

    @property
    def pid(self) -> int:
        """The process."""

    def run(self, given: Any) -> CallCost:
        """Do it once, and verify the output; what this raises ends the contest."""


@dataclass(frozen=True)
class Trial:
    """Fresh processes of the three, and where the inputs of a round come from."""

    contenders: Mapping[Role, Contender]
    draw: Callable[[], Any]


@dataclass(frozen=True)
class ContestResult:
    """What a contest showed.

    Attributes:
        processor: the answer's processor time over the reference's, both above the identity's.
        wall: the same of wall time.
        noise: the reference's wall time over its processor time.
        background: largest share of a processor that an answer's process used while nothing was asked of it.
        resolved: whether the reference takes long enough beside the identity for a comparison.
        page_faults: median in one call, of the answer and of the reference.
        pinned: whether each trial was held to one core.
        seconds: wall time of the whole contest.
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
        """The one that counts: of the clock that shows the answer slower, where the two contradict each other.

        Processor time is what other work on the machine hardly touches. It misses what a process waits for or has done
        elsewhere, and wall time shows that.
        """
        return self.wall if self.wall.low > self.processor.high else self.processor

    @property
    def noisy(self) -> bool:
        """Whether other work took the processor away."""
        return self.noise > NOISY

    @property
    def works_in_background(self) -> bool:
        """Whether the answer worked while nothing was asked of it: its times then mean nothing."""
        return self.background > BACKGROUND


Start = Callable[[int], AbstractContextManager[Sequence[Trial]]]
"""Opens so many trials; leaving ends their processes."""
Enough = Callable[[PairedComparison], bool]
"""Whether a comparison says all that is asked, though it is not decided which side is faster."""


def contest(
    start: Start, *, trials: int = PROCESSES, seconds: float = SECONDS, enough: Enough = lambda _: False
) -> ContestResult:
    """Time an answer against a reference until the pairs decide, they say enough, or time is up.

    Args:
        start: opens the trials that run side by side. What it or a contender raises ends the contest and is passed on.
        trials: how many at a time, at least `PROCESSES` for a verdict.
        seconds: processor time of play after which an undecided contest ends.
        enough: asked at every look, of processor and of wall time; what satisfies it by both ends the contest.

    Returns:
        The result; its verdict is `unclear` when nothing was decided.
    """
    began = clock.now()
    clock.warm_memory()
    with ExitStack() as running:

        def entered() -> list[_Track]:
            running.close()  # those whose place these take
            tracks = [_Track(trial, number) for number, trial in enumerate(running.enter_context(start(trials)))]
            for track in tracks:
                track.warm_up()
            return tracks

        tracks, processor = _play(entered, seconds, enough)
        return _result(tracks, processor, clock.now() - began)


class _Entrant:
    """One contender and what its calls cost."""

    def __init__(self, contender: Contender, core: int) -> None:
        self.contender = contender
        self.pinned = clock.pin(contender.pid, core)
        self.idle = process_stats.IdleMeter(contender.pid)
        self.walls: list[float] = []
        self.processors: list[float] = []
        self.faults: list[float] = []

    def run(self, given: Any) -> None:
        """One call, on the record. Of a process that ended meanwhile the call itself tells."""
        with suppress(ProcessLookupError):
            self.idle.wake()
        faults = self._page_faults()
        turn = self.contender.run(given)
        with suppress(ProcessLookupError):
            self.idle.rest()
        self.faults.append(self._page_faults() - faults)
        self.walls.append(turn.seconds)
        # of a process that ended right after its reply no processor time can be read
        self.processors.append(turn.processor if turn.processor > 0 else turn.seconds)

    def _page_faults(self) -> int:
        try:
            return process_stats.page_faults(self.contender.pid)
        except ProcessLookupError:
            return 0

    def forget(self) -> None:
        """Strike the costs so far; background work stays on the record."""
        self.walls, self.processors, self.faults = [], [], []


class _Track:
    """One trial, its entrants held to one core."""

    def __init__(self, trial: Trial, number: int) -> None:
        cores = sorted(os.sched_getaffinity(0))
        self.trial = trial
        self.order = random.SystemRandom()
        self.rounds = 0
        self.worked = 0.0
        self.entrants = {r: _Entrant(c, cores[number % len(cores)]) for r, c in trial.contenders.items()}

    def warm_up(self) -> None:
        """The first rounds, which do not count."""
        for _ in range(WARM_UP):
            start = clock.now()
            self.round()
            if clock.now() - start > SLOW_CALL_SECONDS:
                break
        for entrant in self.entrants.values():
            entrant.forget()
        self.rounds = 0

    def round(self) -> None:
        """The same fresh inputs for everyone, in random order."""
        given = self.trial.draw()
        roles = [role for role in self.entrants if role is not Role.IDENTITY or self.rounds % IDENTITY_EVERY == 0]
        for role in self.order.sample(roles, len(roles)):
            self.entrants[role].run(given)
            self.worked += self.entrants[role].processors[-1]
        self.rounds += 1

    def log_ratios(self, times: "Times") -> list[float]:
        """Of the answer's times over the reference's, above what the identity takes."""
        answer, reference, identity = (times(self.entrants[role]) for role in Role)
        return log_ratios(answer, reference, overhead=median(identity)) if identity else []


Times = Callable[[_Entrant], list[float]]


def _wall(entrant: _Entrant) -> list[float]:
    return entrant.walls


def _processor(entrant: _Entrant) -> list[float]:
    return entrant.processors


def _faults(entrant: _Entrant) -> list[float]:
    return entrant.faults


def _play(entered: Callable[[], list[_Track]], seconds: float, enough: Enough) -> tuple[list[_Track], PairedComparison]:
    """Rounds in turns until the processor times decide, both clocks say enough, or time is up.

    Args:
        entered: opens the trials that run side by side, in place of those before.
        seconds: processor time of play.
        enough: as for `contest`.

    Returns:
        All trials, and the comparison of processor times at the last look.
    """
    running = entered()
    tracks, pairs, rule, comparison = list(running), 0, Rule(), compare([])
    began, own = clock.now(), time.process_time()

    def time_is_up() -> bool:
        worked = time.process_time() - own + sum(track.worked for track in tracks)
        return worked > seconds or clock.now() - began > PATIENCE * seconds

    # one round a trial is played whatever the time: it is what a very slow answer is judged by
    while pairs < len(running) or (pairs < LOOKS[-1] and not time_is_up()):
        running[pairs % len(running)].round()
        pairs += 1
        if pairs in LOOKS:
            comparison = rule.look(_ratios(tracks, _processor))
            if comparison.decided or _background(tracks) > BACKGROUND:
                return tracks, comparison
            if enough(comparison) and enough(compare(_ratios(tracks, _wall))):
                return tracks, comparison
        if pairs in RESTART_PAIRS:
            running = entered()
            tracks += running
    return tracks, _clearly_slower(tracks, _processor, comparison)


def _ratios(tracks: Sequence[_Track], times: Times) -> list[list[float]]:
    return [track.log_ratios(times) for track in tracks]


def _background(tracks: Sequence[_Track]) -> float:
    return max(track.entrants[Role.ANSWER].idle.share for track in tracks)


def _clearly_slower(tracks: Sequence[_Track], times: Times, undecided: PairedComparison) -> PairedComparison:
    """Few pairs decide as well, where every one of them says the same beyond doubt."""
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
        wall=_clearly_slower(tracks, _wall, compare(_ratios(tracks, _wall))),
        noise=middle(Role.REFERENCE, _wall) / reference,
        background=_background(tracks),
        resolved=reference >= RESOLVED * middle(Role.IDENTITY, _processor),
        page_faults=(middle(Role.ANSWER, _faults), middle(Role.REFERENCE, _faults)),
        pinned=all(entrant.pinned for track in tracks for entrant in track.entrants.values()),
        seconds=seconds,
    )
