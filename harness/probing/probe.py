"""Probes: functions that exercise an answer through its contract."""

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
from harness.probing.shrinking import Shrunk, shrink_by_bisection, shrink_by_steps
from harness.probing.sizes import DRAW, Case, Drawn
from harness.probing.sweeping import FURTHER, Sweep, merge
from harness.timing.exclusive import MachineBusy, beside_others, second_try


@dataclass(frozen=True)
class Partial:
    """A probe's result with partial credit."""

    fraction: float
    figures: Mapping[str, Figure]
    detail: str = ""


Body = Callable[..., "Mapping[str, Figure] | Partial | None"]
Fit = Callable[[Answer, Case], Case]
"""Function that returns a case that the answer serves, and leaves such a case unchanged."""
Shrinker = Callable[[Answer, Draw, Case, ProbeFailure], Shrunk]
"""Function that searches the smallest failing case of a probe whose cases are more than sizes."""


def _keep_case(answer: Answer, case: Case) -> Case:
    return case


@dataclass(frozen=True)
class Probe:
    """A probe function and its cases. See `probe` for other fields.

    Attributes:
        body: function called as `body(answer, draw, **case)`; returns figures or `Partial`, raises `ProbeFailure`.
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
    fit: Fit = _keep_case

    @property
    def clocked(self) -> bool:
        """True if a clock decides."""
        return self.races or self.times

    @property
    def measures_cost(self) -> bool:
        """True if time or memory is tested."""
        return self.races or not self.traced

    def in_brief(self) -> "Probe":
        """Return the probe with few drawn cases."""
        return replace(self, drawn=self.drawn.in_brief()) if self.drawn else self


@dataclass(frozen=True)
class ProbeResult:
    """The result of one probe on one answer. See `ProbeFailure` for other fields.

    Attributes:
        fraction: credit: 1 passed, 0 failed.
        figures: figures by name, the largest over all cases.
        case: first failed case, as drawn.
        broken: true if the answer's process is gone.
        exhausted: true if a call used up its processor time.
        unserved: functions that a harness adapter does not always serve.
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
        """True if no case failed."""
        return self.fraction > 0


def probe(
    *cases: Case,
    floors: Mapping[str, int] | None = None,
    fixed: tuple[str, ...] = (),
    traced: bool = True,
    drawn: Drawn | None = None,
    shrinker: Shrinker | None = None,
    races: bool = False,
    slow_fails: bool = True,
    measures: bool = False,
    times: bool = False,
    apart: bool = False,
    fit: Fit | None = None,
    **case: Figure,
) -> Callable[[Body], Probe]:
    """Turn a function into a probe.

    Args:
        *cases: dicts of keyword arguments, smallest first; a single case may be given as keywords.
        floors: smallest values to shrink sizes to; 1 by default.
        fixed: sizes that must not shrink.
        traced: false if time or memory is tested; failures are then not compared with known faults.
        drawn: recipe for further cases, which run last.
        shrinker: replacement for the shrinking of sizes.
        races: true to time the answer against the reference.
        slow_fails: false if an answer that takes too long counts as not run.
        measures: true to test a figure; a failure without one is not charged beside a failure in `rests_on`.
        times: true if a clock decides without a race.
        apart: true if the fixed cases test something else than the drawn ones, and so never excuse their failures.
        **case: keyword arguments common to all cases.
    """

    def wrap(body: Body) -> Probe:
        every = tuple({**case, **given} for given in cases) or ((case,) if case or not drawn else ())
        kept = frozenset(fixed)
        name = body.__name__
        more = {"races": races, "slow_fails": slow_fails, "measures": measures, "times": times, "apart": apart}
        return Probe(name, body, every, floors or {}, kept, traced, drawn, shrinker, **more, fit=fit or _keep_case)

    return wrap


def run(
    probe: Probe, answer: Answer, seed: int, *, shrink: bool = True, share: float = 1.0, own: str = ""
) -> ProbeResult:
    """Run every case, drawn ones last, until one fails, then search for a smaller one.

    Args:
        shrink: search for a smaller case, and count the drawn ones that fail.
        share: fraction of the drawn cases to run.

    Raises:
        NotMeasurable: this device cannot tell.
        NotRun: this run could not tell.
    """
    figures: dict[str, Figure] = {}
    fraction, details, spared = 1.0, [], 0
    failed: tuple[Case, ProbeFailure] | None = None
    for case in probe.cases:
        try:
            result = _run_case(probe, answer, seed, case)
        except Spared:
            spared += 1
            continue
        except ProbeFailure as failure:
            if failure.fault_of in ("", own):
                failed = case, failure
                break
            failed = failed or (case, failure)  # a later case may break this criterion's own property
            continue
        merge(figures, result.figures)
        fraction = min(fraction, result.fraction)
        if result.detail:
            details.append(result.detail)
    if failed is not None:
        small = _shrink(probe, answer, seed, *failed) if shrink else Shrunk(*failed)
        merge(figures, failed[1].measured)
        return _make_failure_result(probe, answer, figures, *failed, small)
    passed = ProbeResult(probe.name, fraction, figures, detail="; ".join(dict.fromkeys(details)), spared=spared)
    return passed if probe.drawn is None else _sweep(probe, probe.drawn, answer, seed, passed, shrink, share)


def _sweep(
    probe: Probe, drawn: Drawn, answer: Answer, seed: int, passed: ProbeResult, shrink: bool, share: float
) -> ProbeResult:
    found = Sweep(drawn, answer, max(1, round(drawn.count * share)))
    found.run(lambda case: _run_case(probe, answer, seed, case).figures, seed, probe.name, FURTHER if shrink else 0)
    merge(passed.figures, found.figures)
    if found.failure is not None and found.case is not None:
        merge(passed.figures, found.failure.measured)
        # a smaller case of an endless call may take the full time limit again,
        # and a fault of another criterion is shrunk there
        shrink = shrink and not isinstance(found.failure, (CallTimedOut, FaultElsewhere, FromUnwritten))
        small = _shrink(probe, answer, seed, found.case, found.failure) if shrink else Shrunk(found.case, found.failure)
        result = _make_failure_result(probe, answer, passed.figures, found.case, found.failure, small)
        return replace(result, draws=found.draws)
    if found.unreached:
        raise NotRun(
            f"no drawn case failed, but the largest were not reached: {found.reason} at {found.unreached}", found.draws
        )
    return replace(passed, draws=found.draws, spared=passed.spared + found.spared)


def _run_case(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    try:
        return _try_twice(probe, answer, seed, case)
    except TimeUsedUp as late:  # other criteria spent it too, so this is no evidence about this one
        raise NotRun(f"{late.title}: {late.detail}") from None
    except CallTimedOut as late:
        if probe.slow_fails:
            raise
        raise NotRun(f"{late.title} ({late.detail}), and time is not what is asked here") from None


def _try_twice(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
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
        if late.starved:  # other programs than grades, which `second_try` does not keep out
            raise NotRun(f"{late.title}, and other work had the processor: {late.detail}") from None
        raise
    except TimeUsedUp as late:
        if first.starved:
            raise NotRun(f"{first.title} ({first.detail}), and could not be tried again: {late.title}") from None
        raise first from None
    except MachineBusy as busy:
        raise NotRun(f"{first.title} ({first.detail}), and could not be tried again alone: {busy}") from None


def _make_failure_result(
    probe: Probe, answer: Answer, figures: dict[str, Figure], case: Case, failure: ProbeFailure, small: Shrunk
) -> ProbeResult:
    why = small.failure
    pattern = failure if failure.diagnosis else why  # the larger case shows patterns better
    words = pattern.diagnosis
    called = dict(probe.fit(answer, small.case))
    begins = "; ".join(map(str, small.thresholds)) + _describe_settings(probe, small, called)
    detail = f"{begins}: {why.detail}" if small.thresholds else why.detail
    return ProbeResult(
        probe.name,
        0.0,
        figures,
        why.title,
        f"{detail}; {PASSES_FIRST}" if small.after_others else detail,
        case,
        counterexample=Counterexample(
            probe=probe.name,
            case=called,
            where=why.where,
            expected=why.expected,
            got=why.got,
            measured=why.measured,
            program=why.program,
            after_others=small.after_others,
            asks_for=why.asks_for,
        ),
        broken=isinstance(failure, WorkerLost),
        exhausted=isinstance(failure, CallTimedOut) and failure.exhausted,
        diagnosis=Diagnosis(words=words, established="observation") if words else None,
        loss=pattern.loss,
        locations=why.locations,
        thresholds=small.thresholds,
        defect=why.defect,
        obstacle=failure.obstacle,
        fault_of=why.fault_of,
        also=why.also,
    )


PASSES_FIRST = "as the first calls of a new process the same calls pass"


def _describe_settings(probe: Probe, small: Shrunk, called: Case) -> str:
    """Return the sizes called and settings that thresholds were found with, without the plainest settings."""
    if probe.drawn is None or not small.thresholds:
        return ""
    along = {threshold.axis for threshold in small.thresholds}
    held = [f"{name} = {called[name]:,}" for name in probe.drawn.axes if name not in along]
    choices = probe.drawn.choices.items()
    held += [f"{name} = {small.case[name]}" for name, values in choices if small.case[name] != values[0]]
    return f" (with {', '.join(held)})" if held else ""


def once(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    """Run one case."""
    given = {name: value for name, value in probe.fit(answer, case).items() if name != DRAW}
    try:
        with np.errstate(all="ignore"):  # submissions may return any numbers, which are judged as they are
            result = probe.body(answer, _make_source(probe, seed, case), **given)
    finally:
        with contextlib.suppress(ProbeFailure):
            answer.forget()
    return result if isinstance(result, Partial) else Partial(1.0, result or {})


def _make_source(probe: Probe, seed: int, case: Case) -> Draw:
    return Draw(seed, probe.name, str(case[DRAW])) if DRAW in case else Draw(seed, probe.name)


def _shrink(probe: Probe, answer: Answer, seed: int, case: Case, failure: ProbeFailure) -> Shrunk:
    if probe.shrinker is not None:
        try:
            return probe.shrinker(answer, _make_source(probe, seed, case), case, failure)
        except ProbeFailure:  # the answer may fail while the case is drawn again
            return Shrunk(case, failure)

    def alone(smaller: Case) -> ProbeFailure | None:
        answer.fresh()  # state left by earlier cases must not look like an effect of size
        return _find_failure(probe, answer, seed, smaller)

    # right outputs of a small case may be trivial too, and a fault of another criterion is shrunk there
    if isinstance(failure, (TrivialOutput, FaultElsewhere)):
        return shrink_by_steps(alone, case, failure, {}, frozenset(case))
    if probe.drawn is not None and DRAW in case:
        return shrink_by_bisection(alone, case, failure, probe.drawn, lambda smaller: probe.fit(answer, smaller))
    return shrink_by_steps(alone, case, failure, probe.floors, probe.fixed)


def _find_failure(probe: Probe, answer: Answer, seed: int, case: Case) -> ProbeFailure | None:
    try:
        once(probe, answer, seed, case)
    except ProbeFailure as failure:
        return failure
    except Exception as why:  # the probe cannot draw these sizes, or a call of them is spared
        return NotTried("a case was not tried", str(why))
    return None
