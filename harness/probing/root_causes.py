"""Root causes first: what fails under one condition alone is charged once, what changes with threads to their race."""

from collections.abc import Collection, Sequence
from typing import Any

from harness.cuda.report import parse
from harness.model import Evidence, Obstacle, Outcome
from harness.probing.answers import Answer
from harness.probing.code import ChallengeCode
from harness.probing.conditions import Condition, SparingAnswer
from harness.probing.criteria import UNSHOWN, probe_criterion
from harness.probing.failures import BEYOND_LIMITS, NOTHING_LEFT, NotMeasurable, NotRun, ProbeFailure
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


def judged_without_conditions(
    code: ChallengeCode, evidence: Sequence[Evidence], answer: Answer, adapters: Collection[str] = ()
) -> list[Evidence]:
    """The evidence, in which what fails under one condition alone is charged once.

    Where the criterion that is charged with a condition fails under it alone, each other failed criterion is judged
    again without it: it passes there and is not told apart from that one, or fails there for a fault of its own. Where
    the condition is a mode in which no call works, what passes without it passes.
    """
    items, found = list(evidence), set[str]()
    for condition in code.conditions:
        charged = next((e for e in items if e.criterion == condition.criterion and e.faulty), None)
        if charged is None or condition.criterion in found:
            continue
        if _passes(_without(code, condition, charged, answer, adapters, explain=False)):
            found.add(condition.criterion)
            items = [
                e if e.criterion in found else _judged_again(code, condition, charged, e, answer, adapters)
                for e in items
            ]
            answer = SparingAnswer(answer, condition)
    return items


def _passes(evidence: Evidence) -> bool:
    """Return whether a criterion that was judged without a condition passes there, or has no case left to fail."""
    return evidence.outcome is Outcome.PASSED or NOTHING_LEFT in evidence.detail


def _judged_again(
    code: ChallengeCode, condition: Condition, charged: Evidence, evidence: Evidence, answer: Answer,
    adapters: Collection[str],
) -> Evidence:  # fmt: skip
    probes = code.probes_of(code.challenge.criterion(evidence.criterion)) if evidence.faulty else []
    if not probes or any(probe.measures_cost for probe in probes):
        return evidence
    again = _without(code, condition, evidence, answer, adapters, explain=True)
    if not _passes(again):
        return again if again.faulty else evidence
    if condition.mode and charged.obstacle is Obstacle.CALL and again.outcome is Outcome.PASSED:
        detail = f"judged without the cases where {condition.name}, in which no call works"
        return again.model_copy(update={"detail": "; ".join(filter(None, (again.detail, detail)))})
    detail = f"fails only where {condition.name}, which `{condition.criterion}` is charged with: {evidence.seen}"
    changes = {**UNSHOWN, "outcome": Outcome.NOT_RUN, "rests_on": condition.criterion, "detail": detail}
    return Evidence.model_validate({**evidence.model_dump(), **changes})


def _without(
    code: ChallengeCode, condition: Condition, evidence: Evidence, answer: Answer, adapters: Collection[str],
    explain: bool,
) -> Evidence:  # fmt: skip
    """What the probes of a criterion see where the condition is never met, with the same inputs otherwise."""
    assert evidence.seed is not None
    criterion, sparing = code.challenge.criterion(evidence.criterion), SparingAnswer(answer, condition)
    return probe_criterion(code, criterion, sparing, evidence.seed, explain=explain, adapters=adapters)


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
