"""A probe: a function that exercises an answer through its contract, over sizes from small to large."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from harness.model import Counterexample, Diagnosis, Figure, Location, Loss
from harness.probing.answers import Answer
from harness.probing.draw import Draw
from harness.probing.failures import CallTimedOut, NotRun, ProbeFailure, WorkerLost
from harness.timing.exclusive import MachineBusy, alone, beside_others

Case = Mapping[str, Figure]
MAX_SHRINKS = 40


@dataclass(frozen=True)
class Partial:
    """What a probe returns when the rubric gives a share: the fraction met, the figures, and why."""

    fraction: float
    figures: Mapping[str, Figure]
    detail: str = ""


Body = Callable[..., "Mapping[str, Figure] | Partial | None"]


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
    """

    name: str
    body: Body
    cases: tuple[Case, ...]
    floors: Mapping[str, int] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    traced: bool = True


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
        diagnosis: the likeliest cause, where the probe saw it.
        loss: which outputs are lost, where the probe mapped them.
        locations: places in the submission that the detail speaks of.
    """

    probe: str
    fraction: float
    figures: dict[str, Figure]
    title: str = ""
    detail: str = ""
    case: Case | None = None
    counterexample: Counterexample | None = None
    broken: bool = False
    diagnosis: Diagnosis | None = None
    loss: Loss | None = None
    locations: tuple[Location, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return self.fraction > 0


def probe(
    *cases: Case, floors: Mapping[str, int] | None = None, fixed: tuple[str, ...] = (), traced: bool = True,
    **case: Figure,
) -> Callable[[Body], Probe]:  # fmt: skip
    """Make a function a probe.

    Args:
        *cases: dicts of keyword arguments, smallest first; or give one case as keywords.
        floors: smallest value a size may shrink to, where it is not 1.
        fixed: sizes that must not shrink.
        traced: False where time or memory is the question: a failure is then not compared with the known faults.
        **case: keyword arguments common to all cases.
    """

    def wrap(body: Body) -> Probe:
        every = tuple({**case, **given} for given in cases) or (case,)
        return Probe(body.__name__, body, every, floors or {}, frozenset(fixed), traced)

    return wrap


def run(probe: Probe, answer: Answer, seed: int, *, shrink: bool = True) -> ProbeResult:
    """Run every case until one fails; then look for a smaller one that fails in the same way.

    Args:
        probe: what to run.
        answer: to run it on.
        seed: of the criterion; the probe's name is mixed in.
        shrink: whether to look for the smaller case.

    Raises:
        NotMeasurable: this device cannot tell.
        NotRun: this run could not tell.
    """
    figures: dict[str, Figure] = {}
    fraction, details = 1.0, []
    for case in probe.cases:
        try:
            result = _counted(probe, answer, seed, case)
        except ProbeFailure as failure:
            small, why = _shrink(probe, answer, seed, case, failure) if shrink else (case, failure)
            _merge(figures, failure.measured)
            return _failed(probe, figures, case, failure, small, why)
        _merge(figures, result.figures)
        fraction = min(fraction, result.fraction)
        if result.detail:
            details.append(result.detail)
    return ProbeResult(probe.name, fraction, figures, detail="; ".join(dict.fromkeys(details)))


def _counted(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    """One case as it counts: where a call timed out, what the case shows in a fresh worker with nothing beside it."""
    try:
        with beside_others():
            return once(probe, answer, seed, case)
    except CallTimedOut as late:
        title = late.title
    answer.fresh()
    try:
        with alone():
            return once(probe, answer, seed, case)
    except MachineBusy as busy:
        raise NotRun(f"{title}, and could not be tried again with nothing beside it: {busy}") from None


def _failed(
    probe: Probe, figures: dict[str, Figure], case: Case, failure: ProbeFailure, small: Case, why: ProbeFailure
) -> ProbeResult:
    """The outcome of a probe that failed on `case`, and on the smaller case `small` as `why` says."""
    pattern = failure if failure.diagnosis else why  # of the larger case: a pattern shows there
    words = pattern.diagnosis
    return ProbeResult(
        probe.name, 0.0, figures, failure.title, why.detail, case,
        counterexample=Counterexample(
            probe=probe.name, case=dict(small), where=why.where, expected=why.expected, got=why.got,
            measured=why.measured,
        ),
        broken=isinstance(failure, WorkerLost),
        diagnosis=Diagnosis(words=words, established="observation") if words else None,
        loss=pattern.loss, locations=why.locations,
    )  # fmt: skip


def once(probe: Probe, answer: Answer, seed: int, case: Case) -> Partial:
    """Run one case.

    Raises:
        ProbeFailure: the answer went wrong.
    """
    try:
        with np.errstate(all="ignore"):  # an answer's numbers may be anything, and are judged by what they are
            result = probe.body(answer, Draw(seed, probe.name), **case)
    finally:
        with contextlib.suppress(ProbeFailure):
            answer.forget()
    return result if isinstance(result, Partial) else Partial(1.0, result or {})


def _merge(figures: dict[str, Figure], new: Mapping[str, Figure]) -> None:
    for name, value in new.items():
        old = figures.get(name)
        larger = isinstance(old, (int, float)) and isinstance(value, (int, float)) and old > value
        figures[name] = old if larger and old is not None else value


def _shrink(probe: Probe, answer: Answer, seed: int, case: Case, failure: ProbeFailure) -> tuple[Case, ProbeFailure]:
    """The smallest case found that fails under the same title, with its failure."""
    best, why, tries, moved = dict(case), failure, 0, True
    while moved and not isinstance(why, WorkerLost):
        moved = False
        for size, smaller in _smaller(probe, best):
            tries += 1
            if tries > MAX_SHRINKS:
                return best, why
            again = _failure(probe, answer, seed, {**best, size: smaller})
            if again is not None and again.title == why.title:
                best, why, moved = {**best, size: smaller}, again, True
                break
    return best, why


def _smaller(probe: Probe, case: Case) -> Iterator[tuple[str, int]]:
    """Single steps down: each size to its floor, to half, and by one."""
    for size, value in case.items():
        floor = probe.floors.get(size, 1)
        if isinstance(value, bool) or not isinstance(value, int) or size in probe.fixed or value <= floor:
            continue
        yield from ((size, step) for step in dict.fromkeys((floor, max(floor, value // 2), value - 1)))


def _failure(probe: Probe, answer: Answer, seed: int, case: Case) -> ProbeFailure | None:
    try:
        once(probe, answer, seed, case)
    except ProbeFailure as failure:
        return failure
    except Exception:  # sizes that the probe itself cannot draw are no counterexample
        return None
    return None
