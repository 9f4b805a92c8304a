"""A probe: a function that exercises an answer through its contract, over sizes from small to large."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from harness.model import Counterexample, Diagnosis, Draws, Figure, Location, Loss, Observation, Obstacle, Threshold
from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.failures import (
    CallTimedOut,
    FaultElsewhere,
    FromUnwritten,
    NotRun,
    NotTried,
    ProbeFailure,
    Spared,
    TimeUsedUp,
    TrivialOutput,
    WorkerLost,
)
from harness.probing.shrinking import Shrunk, shrink_drawn, shrink_fixed
from harness.probing.sizes import DRAW, Case, Drawn
from harness.probing.sweeping import FURTHER, Sweep, merge
from harness.timing.exclusive import MachineBusy, beside_others, second_try


@dataclass(frozen=True)
class Partial:
    """What a probe returns when the rubric gives a share: the fraction met, the figures, and why."""

    fraction: float
    figures: Mapping[str, Figure]
    detail: str = ""


Body = Callable[..., "Mapping[str, Figure] | Partial | None"]
Fit = Callable[[Answer, Case], Case]
"""Makes a case one that an answer serves, and leaves one that it serves as it is."""
Shrinker = Callable[[Answer, Draw, Case, ProbeFailure], Shrunk]
"""Looks for the smallest failing case of a probe whose cases are more than sizes."""


def _as_it_is(answer: Answer, case: Case) -> Case:
    """Return the case."""
    return case


@dataclass(frozen=True)
class Probe:
    """A probe function and the cases it runs over.

    Attributes:
        name: the function's name, as challenge.toml names it.
        body: called as `body(answer, draw, **case)`; returns figures or `Partial`, raises `ProbeFailure`.
        cases: keyword arguments, smallest first.
        floors: smallest value a size may shrink to, where it is not 1.
        fixed: sizes that do not shrink.
        traced: whether what the calls bring can name the fault; not where time or memory is the question.
        drawn: how further cases are drawn, which run after the others.
        shrinker: finds the smallest failing case, where sizes alone do not.
        races: whether it times the answer against the reference.
        slow_fails: whether it fails an answer that takes too long; else nothing is measured.
        measures: whether a figure is the question: without one, what went wrong first may be another criterion's fault.
        times: whether the reading of a clock decides, without a race.
        apart: whether its fixed cases ask something else than the drawn ones of its criterion, and so excuse no failure
            of theirs by passing.
        fit: makes each case one that the answer serves.
    """

    name: str
    body: Body
    cases: tuple[Case, ...]
    floors: Mapping[str, int] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    traced: bool = True
    drawn: Drawn | None = None
    shrinker: Shrinker | None = None
    races: bool = False
    slow_fails: bool = True
    measures: bool = False
    times: bool = False
    apart: bool = False
    fit: Fit = _as_it_is

    @property
    def clocked(self) -> bool:
        """Whether the reading of a clock decides: it runs only where time can be measured."""
        return self.races or self.times

    @property
    def measures_cost(self) -> bool:
        """Whether time or memory is the question, and not whether what it brings is right."""
        return self.races or not self.traced

    def in_brief(self) -> "Probe":
        """The same with few drawn cases: a large one for each size."""
        return replace(self, drawn=self.drawn.in_brief()) if self.drawn else self


@dataclass(frozen=True)
class ProbeResult:
    """What one probe showed of one answer.

    Attributes:
        probe: its name.
        fraction: share met: 1 passed, 0 failed.
        figures: by name; of figures measured in several cases the largest.
        title: the fault in a phrase, empty when passed.
        detail: what was seen.
        case: the first case that failed, as drawn; None when passed.
        counterexample: the smallest case found that fails in the same way.
        broken: whether the answer's process is gone.
        exhausted: whether it is because a call used up its processor time.
        diagnosis: the likeliest cause, where the probe saw it.
        loss: which outputs are lost, where the probe mapped them.
        locations: places in the submission that the detail speaks of.
        draws: the drawn cases that were tried; None where none is drawn.
        thresholds: where along its sizes the counterexample begins to fail.
        defect: kind of the defect that the device reported, where it was one.
        obstacle: what failed, where it was nothing that the probe compares.
        fault_of: the criterion whose property is broken, where that is known.
        also: what else was seen, of other kinds.
        spared: how many cases were left out.
        unserved: functions of which calls were left out, for an adapter of ours does not serve them.
    """

    probe: str
    fraction: float
    figures: dict[str, Figure]
    title: str = ""
    detail: str = ""
    case: Case | None = None
    counterexample: Counterexample | None = None
    broken: bool = False
    exhausted: bool = False
    diagnosis: Diagnosis | None = None
    loss: Loss | None = None
    locations: tuple[Location, ...] = ()
    draws: Draws | None = None
    thresholds: tuple[Threshold, ...] = ()
    defect: str = ""
    obstacle: Obstacle | None = None
    fault_of: str = ""
    also: tuple[Observation, ...] = ()
    spared: int = 0
    unserved: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return self.fraction > 0


def probe(
    *cases: Case, floors: Mapping[str, int] | None = None, fixed: tuple[str, ...] = (), traced: bool = True,
    drawn: Drawn | None = None, shrinker: Shrinker | None = None, races: bool = False, slow_fails: bool = True,
    measures: bool = False, times: bool = False, apart: bool = False, fit: Fit | None = None, **case: Figure,
) -> Callable[[Body], Probe]:  # fmt: skip
    """Make a function a probe.

    Args:
        *cases: dicts of keyword arguments, smallest first; or give one case as keywords.
        floors: smallest value a size may shrink to, where it is not 1.
        fixed: sizes that must not shrink.
        traced: False where time or memory is the question: a failure is then not compared with the known faults.
        drawn: how further cases are drawn; without fixed ones they are the only cases.
        shrinker: finds the smallest failing case, where sizes alone do not.
        races: True where the answer is timed against the reference.
        slow_fails: False where time is not the question: the probe of an answer that takes too long is not run.
        measures: True where a figure is the question: a failure that came to none is not charged beside one of a
            criterion under `rests_on`.
        times: True where the reading of a clock decides, without a race.
        apart: True where it asks something else than the drawn cases of its criterion.
        fit: makes each case one that the answer serves, where that may be another one.
        **case: keyword arguments common to all cases.
    """

    def wrap(body: Body) -> Probe:
        every = tuple({**case, **given} for given in cases) or ((case,) if case or not drawn else ())
        kept = frozenset(fixed)
        name = body.__name__
        more = {"races": races, "slow_fails": slow_fails, "measures": measures, "times": times, "apart": apart}
        return Probe(name, body, every, floors or {}, kept, traced, drawn, shrinker, **more, fit=fit or _as_it_is)

    return wrap


def run(
    probe: Probe, answer: Answer, seed: int, *, shrink: bool = True, share: float = 1.0, own: str = ""
) -> ProbeResult:  # fmt: skip
    """Run every case, the drawn ones last, until one fails; then look for a smaller one that fails in the same way.

    A fixed case that breaks the property of another criterion ends nothing: a later one may break this one's.

    Args:
        probe: what to run.
        answer: to run it on.
        seed: of the criterion; the probe's name is mixed in.
        shrink: whether to look for the smaller case, and to count how many of the drawn ones fail.
        share: of the drawn cases that are run.
        own: the criterion that is judged.

    Raises:
        NotMeasurable: this device cannot tell.
        NotRun: this run could not tell.
    """
    figures: dict[str, Figure] = {}
    fraction, details, spared = 1.0, [], 0
    failed: tuple[Case, ProbeFailure] | None = None
    for case in probe.cases:
        try:
            result = _counted(probe, answer, seed, case)
        except Spared:
            spared += 1
            continue
        except ProbeFailure as failure:
            if failure.fault_of in ("", own):
                failed = case, failure
                break
            failed = failed or (case, failure)
            continue
        merge(figures, result.figures)
        fraction = min(fraction, result.fraction)
        if result.detail:
            details.append(result.detail)
    if failed is not None:
        small = _shrunk(probe, answer, seed, *failed) if shrink else Shrunk(*failed)
        merge(figures, failed[1].measured)
        return _failed(probe, answer, figures, *failed, small)
    passed = ProbeResult(probe.name, fraction, figures, detail="; ".join(dict.fromkeys(details)), spared=spared)
    return passed if probe.drawn is None else _swept(probe, probe.drawn, answer, seed, passed, shrink, share)


def _swept(
    probe: Probe, drawn: Drawn, answer: Answer, seed: int, passed: ProbeResult, shrink: bool, share: float
) -> ProbeResult:
    """What the drawn cases of a probe show, on top of the fixed ones, which passed."""
    found = Sweep(drawn, answer, max(1, round(drawn.count * share)))
    found.run(lambda case: _counted(probe, answer, seed, case).figures, seed, probe.name, FURTHER if shrink else 0)
    merge(passed.figures, found.figures)
    if found.failure is not None and found.case is not None:
        merge(passed.figures, found.failure.measured)
        # each smaller case of one that does not end may take all the time that a call has
        # and what another criterion judges has its smallest case there
        shrink = shrink and not isinstance(found.failure, (CallTimedOut, FaultElsewhere, FromUnwritten))
        small = _shrunk(probe, answer, seed, found.case, found.failure) if shrink else Shrunk(found.case, found.failure)
        result = _failed(probe, answer, passed.figures, found.case, found.failure, small)
        return replace(result, draws=found.draws)
    if found.unreached:
        raise NotRun(f"no drawn case failed, but the largest were not reached: {found.reason} at {found.unreached}",
                     found.draws)  # fmt: skip
    return replace(passed, draws=found.draws, spared=passed.spared + found.spared)


def _counted(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    """One case as it counts: where a call waited or was starved, what the case shows with no other grade beside it."""
    try:
        return _tried_twice(probe, answer, seed, case)
    except TimeUsedUp as late:  # by what other criteria asked for as well: it says nothing of this one
        raise NotRun(f"{late.title}: {late.detail}") from None
    except CallTimedOut as late:
        if probe.slow_fails:
            raise
        raise NotRun(f"{late.title} ({late.detail}), and time is not what is asked here") from None


def _tried_twice(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    try:
        with beside_others():
            return once(probe, answer, seed, case)
    except CallTimedOut as late:
        if late.exhausted:
            raise
        first = late
    answer.fresh()
    try:
        with second_try(first.limit, first.spent):
            return once(probe, answer, seed, case)
    except CallTimedOut as late:
        if late.starved:  # by work that is no grade, which `second_try` does not keep out
            raise NotRun(f"{late.title}, and other work had the processor: {late.detail}") from None
        raise
    except TimeUsedUp as late:
        if first.starved:
            raise NotRun(f"{first.title} ({first.detail}), and could not be tried again: {late.title}") from None
        raise first from None
    except MachineBusy as busy:
        raise NotRun(f"{first.title} ({first.detail}), and could not be tried again alone: {busy}") from None


def _failed(
    probe: Probe, answer: Answer, figures: dict[str, Figure], case: Case, failure: ProbeFailure, small: Shrunk
) -> ProbeResult:  # fmt: skip
    """The outcome of a probe that failed on `case`, and on a smaller one as `small` says."""
    why = small.failure
    pattern = failure if failure.diagnosis else why  # of the larger case: a pattern shows there
    words = pattern.diagnosis
    begins = "; ".join(map(str, small.thresholds)) + _settings(probe, small) if small.thresholds else ""
    detail = f"{begins}: {why.detail}" if begins else why.detail
    return ProbeResult(
        probe.name, 0.0, figures, failure.title, f"{detail}; {PASSES_FIRST}" if small.after_others else detail, case,
        counterexample=Counterexample(
            probe=probe.name, case=dict(probe.fit(answer, small.case)), where=why.where, expected=why.expected,
            got=why.got, measured=why.measured, program=why.program, after_others=small.after_others,
            asks_for=why.asks_for,
        ),
        broken=isinstance(failure, WorkerLost), exhausted=isinstance(failure, CallTimedOut) and failure.exhausted,
        diagnosis=Diagnosis(words=words, established="observation") if words else None,
        loss=pattern.loss, locations=why.locations, thresholds=small.thresholds, defect=why.defect,
        obstacle=failure.obstacle, fault_of=why.fault_of, also=why.also,
    )  # fmt: skip


PASSES_FIRST = "as the first calls of a new process the same calls pass"


def _settings(probe: Probe, small: Shrunk) -> str:
    """The settings that a threshold was seen under, where they are not the plainest."""
    choices = probe.drawn.choices if probe.drawn else {}
    special = [f"{name} = {small.case[name]}" for name, values in choices.items() if small.case[name] != values[0]]
    return f" (with {', '.join(special)})" if special else ""


def once(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    """Run one case.

    Raises:
        ProbeFailure: the answer went wrong.
    """
    given = {name: value for name, value in probe.fit(answer, case).items() if name != DRAW}
    try:
        with np.errstate(all="ignore"):  # an answer's numbers may be anything, and are judged by what they are
            result = probe.body(answer, _source(probe, seed, case), **given)
    finally:
        with contextlib.suppress(ProbeFailure):
            answer.forget()
    return result if isinstance(result, Partial) else Partial(1.0, result or {})


def _source(probe: Probe, seed: int, case: Case) -> Draw:
    """Where the inputs of a case come from: every drawn case has a source of its own."""
    return Draw(seed, probe.name, str(case[DRAW])) if DRAW in case else Draw(seed, probe.name)


def _shrunk(probe: Probe, answer: Answer, seed: int, case: Case, failure: ProbeFailure) -> Shrunk:
    """The smallest case found that fails in the same way."""
    if probe.shrinker is not None:
        return probe.shrinker(answer, _source(probe, seed, case), case, failure)

    def alone(smaller: Case) -> ProbeFailure | None:
        answer.fresh()  # what earlier cases left behind must not pass for a matter of size
        return _failure(probe, answer, seed, smaller)

    # right outputs of a small case may be as trivial, and what another criterion judges has its smallest case there
    if isinstance(failure, (TrivialOutput, FaultElsewhere)):
        return shrink_fixed(alone, case, failure, {}, frozenset(case))
    if probe.drawn is not None and DRAW in case:
        return shrink_drawn(alone, case, failure, probe.drawn, lambda smaller: probe.fit(answer, smaller))
    return shrink_fixed(alone, case, failure, probe.floors, probe.fixed)


def _failure(probe: Probe, answer: Answer, seed: int, case: Case) -> ProbeFailure | None:
    try:
        once(probe, answer, seed, case)
    except ProbeFailure as failure:
        return failure
    except Exception as why:  # the probe cannot draw these sizes, or a call of them is spared
        return NotTried("a case was not tried", str(why))
    return None
