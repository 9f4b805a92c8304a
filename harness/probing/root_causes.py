"""Root causes first: a failure that changes with the order of threads is linked to the race in the same calls, and one
that another criterion's fault may explain is judged where that fault cannot show."""

import operator
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from harness.cuda.report import parse
from harness.model import Criterion, Evidence, Outcome
from harness.probing.answers import Answer
from harness.probing.code import ChallengeCode
from harness.probing.criteria import left_unjudged, probe_criterion
from harness.probing.failures import BEYOND_LIMITS, NotMeasurable, NotRun, ProbeFailure
from harness.probing.probe import Probe, once
from harness.probing.sizes import Case
from harness.probing.wrapper import AnswerWrapper
from harness.sandbox import Plan

RACES = frozenset({"shared_race", "global_race"})
"""Defects that make what a call returns a matter of chance."""
DEVICE_CALL = "launch"
"""The function by which an answer in CUDA is called."""
SCHEDULES = (1, 2, 3)
"""Orders of threads in which a failing case is tried again."""


class OtherwiseCalledAnswer(AnswerWrapper):
    """An answer in CUDA whose plain calls run in another order of threads, or watched.

    Attributes:
        races: kinds of races that the device reported.
    """

    def __init__(self, answer: Answer, **options: Any) -> None:
        super().__init__(answer)
        self.options = options
        self.races: set[str] = set()

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """As the answer, with the options of this wrapper for a plain call of the device."""
        if function != DEVICE_CALL or options.get("mode") != "plain":
            return super().call(function, *args, returns=returns, **options)
        value = super().call(function, *args, returns=returns, **{**options, **self.options})
        if report := parse(value[-1].tobytes()):
            self.races |= {defect.kind for defect in report.found()} & RACES
        return value


def judged_apart(
    code: ChallengeCode, evidence: Sequence[Evidence], answer: Answer, adapters: Collection[str] = ()
) -> list[Evidence]:
    """Return the evidence, in which failures are judged again where the fault of a criterion they rest on cannot show.

    What passes there is not judged: it depends on the other criterion. What fails there is a fault of its own.

    Args:
        code: the challenge's code.
        evidence: of the answer.
        answer: to judge again.
        adapters: files of the harness's own, as in `probe_criterion`.
    """
    rubric = {c.id: c for c in code.challenge.criteria}
    failed = {e.criterion for e in evidence if e.outcome is Outcome.FAILED and e.faulty}

    def settled(e: Evidence) -> Evidence:
        for cause in (c for c in _supports(rubric, e.criterion) if c.absent_at and c.id in failed):
            if e.outcome is Outcome.FAILED and e.faulty:
                e = _judged_at(code, e, cause, answer, adapters)
        return e

    return [settled(e) for e in evidence]


def _supports(rubric: dict[str, Criterion], criterion: str) -> Iterator[Criterion]:
    """All criteria that one rests on, directly or through others."""
    waiting, met = list(rubric[criterion].rests_on), {criterion}
    while waiting:
        if (each := waiting.pop(0)) not in met:
            met.add(each)
            waiting += rubric[each].rests_on
            yield rubric[each]


def _judged_at(
    code: ChallengeCode, evidence: Evidence, cause: Criterion, answer: Answer, adapters: Collection[str]
) -> Evidence:
    """Judge a failure by the probes that saw it, at the settings at which the fault of `cause` cannot show."""
    failed = [code.probes[name] for name in evidence.failed_probes if name in code.probes]
    apart = [probe.at(cause.absent_at) for probe in failed]
    if not apart or evidence.seed is None or any(map(operator.eq, apart, failed)):
        return evidence  # what some probe saw has no such setting, and so no such cause
    again = probe_criterion(
        code, code.challenge.criterion(evidence.criterion), answer, evidence.seed, probes=apart, adapters=adapters
    )
    if again.outcome not in (Outcome.PASSED, Outcome.PARTIAL):
        return again if again.outcome is Outcome.FAILED else evidence
    where = ", ".join(f"{name} = {value}" for name, value in cause.absent_at.items())
    return left_unjudged(evidence, cause.id, f"passes with {where}, where the fault of `{cause.id}` cannot show")


def linked_to_races(code: ChallengeCode, evidence: Sequence[Evidence], answer: Answer) -> list[Evidence]:
    """The evidence, in which each failure that is seen to depend on a race names the criterion that found the race.

    It does where the calls of its smallest input show a race when they are watched, and what they get wrong differs
    from one order of threads to another.
    """
    found = {e.defect: e.criterion for e in reversed(evidence) if e.faulty and e.defect in RACES}
    return [_linked(code, e, answer, found) for e in evidence] if found else list(evidence)


def _linked(code: ChallengeCode, evidence: Evidence, answer: Answer, found: dict[str, str]) -> Evidence:
    example, seed = evidence.counterexample, evidence.seed
    if not evidence.faulty or evidence.defect or example is None or seed is None or example.probe not in code.probes:
        return evidence

    def end(**options: Any) -> tuple[str | None, set[str]]:
        other = OtherwiseCalledAnswer(answer, **options)
        return _end(code.probes[example.probe], other, seed, dict(example.case)), other.races

    _, races = end(mode="check")
    linked = next((criterion for kind, criterion in found.items() if kind in races), None)
    ends = {end(seed=schedule)[0] for schedule in SCHEDULES} if linked else set()
    if len(ends) < 2 or None in ends:
        return evidence
    return evidence.model_copy(update={"linked_to": linked})


def _end(probe: Probe, answer: Answer, seed: int, case: Case) -> str | None:
    """What a case shows, in words to compare; empty where nothing is wrong, None where a limit or device ended it."""
    answer.fresh()
    try:
        once(probe, answer, seed, case)
    except (*BEYOND_LIMITS, NotMeasurable, NotRun):
        return None
    except ProbeFailure as failure:
        return f"{failure.title}: {failure.detail}"
    return ""
