"""Root causes first: what fails under one condition alone is charged once, what changes with threads to their race."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from harness.cuda.report import parse
from harness.model import Evidence, Obstacle, Outcome
from harness.probing.answers import Answer
from harness.probing.charging import UNSHOWN
from harness.probing.code import ChallengeCode
from harness.probing.conditions import Condition, SparingAnswer
from harness.probing.criteria import probe_criterion
from harness.probing.failures import BEYOND_LIMITS, NOTHING_LEFT, SOME_LEFT, NotMeasurable, NotRun, ProbeFailure
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
    """Return the evidence, in which what fails under some conditions alone is charged once.

    Where the criterion that is charged with a condition fails under it alone, each other failed criterion is judged
    again without it. If it passes there, it is not told apart from that one; if it fails there, it keeps that failure.
    Of the conditions of one criterion the first counts, and where those of several do, each is judged without the
    earlier. Where a condition is a mode in which no call works, what passes outside it passes.
    """
    items, found = {e.criterion: e for e in evidence}, list[Condition]()
    for condition in code.conditions:
        id = condition.criterion
        elsewhere = id in items and items[id].obstacle is Obstacle.FAULT  # charged to another criterion
        if id not in items or not items[id].faulty or elsewhere or id in {earlier.criterion for earlier in found}:
            continue
        charged = items[id] = _judged_again(code, found, items[id], answer, adapters)
        lacking = condition.mode and charged.obstacle is Obstacle.CALL
        possible = charged.faulty and (lacking or not condition.lacking)
        if possible and _passes(code, [*found, condition], charged, answer, adapters):
            found.append(replace(condition, mode=lacking))
    apart = {condition.criterion for condition in found}
    return [e if id in apart else _judged_again(code, found, e, answer, adapters) for id, e in items.items()]


def _judged_again(
    code: ChallengeCode, conditions: Sequence[Condition], evidence: Evidence, answer: Answer, adapters: Collection[str]
) -> Evidence:
    """Judge a failed criterion again without the conditions; the first that explains it alone is named.

    Args:
        code: the challenge's code.
        conditions: that were found; a mode among them is one in which no call works.
        evidence: of the criterion.
        answer: that is judged.
        adapters: files of the harness's own.
    """
    probes = code.probes_of(code.challenge.criterion(evidence.criterion)) if evidence.faulty else []
    possible = [condition for condition in conditions if evidence.criterion not in condition.never]
    if not possible or not probes or any(probe.measures_cost for probe in probes):
        return evidence
    again = _without(code, possible, evidence, answer, adapters, explain=True)
    if not _right(again):
        return again if again.faulty else evidence
    cause, again, joined = _explaining(code, possible, again, evidence, answer, adapters)
    where = joined.join(condition.name for condition in cause)
    criteria = dict.fromkeys(f"`{condition.criterion}`" for condition in cause)
    charged = f"{' and '.join(criteria)} {'is' if len(criteria) == 1 else 'are'} charged with"
    if again.outcome is Outcome.PASSED and all(condition.mode for condition in cause):
        detail = f"judged without the cases where {where}, in which no call works"
        return again.model_copy(update={"detail": "; ".join(filter(None, (again.detail, detail)))})
    if again.detail == NOTHING_LEFT:
        detail = f"was tried only where {where}, which {charged}: {evidence.title}"
    else:
        detail = f"fails where {where}, which {charged}, and {_in_no_other(again)}: {evidence.title}"
    changes = {**UNSHOWN, "outcome": Outcome.NOT_RUN, "rests_on": cause[0].criterion, "detail": detail}
    return Evidence.model_validate({**evidence.model_dump(), **changes})


def _explaining(
    code: ChallengeCode, possible: Sequence[Condition], together: Evidence, evidence: Evidence, answer: Answer,
    adapters: Collection[str],
) -> tuple[Sequence[Condition], Evidence, str]:  # fmt: skip
    """Return the conditions that explain a failure, what is seen without them, and the word that joins their names.

    That is the first without which something is left and right, else all those that every case meets, else those
    that are left when each that the others do without is dropped, the last first.

    Args:
        code: the challenge's code.
        possible: conditions that explain the failure together.
        together: what is seen without all of them.
        evidence: of the failed criterion.
        answer: that is judged.
        adapters: files of the harness's own.
    """
    met_by_all = dict[Condition, Evidence]()
    for condition in possible if len(possible) > 1 else ():
        alone = _without(code, [condition], evidence, answer, adapters, explain=False)
        if alone.detail == NOTHING_LEFT:
            met_by_all[condition] = alone
        elif _right(alone) and alone.detail != SOME_LEFT:
            return [condition], alone, ""
    if met_by_all:
        return list(met_by_all), next(iter(met_by_all.values())), " and "
    needed = list(possible)
    for condition in reversed(possible) if len(possible) > 1 else ():
        fewer = [other for other in needed if other is not condition]
        if fewer and _right(alone := _without(code, fewer, evidence, answer, adapters, explain=False)):
            needed, together = fewer, alone
    return needed, together, " or "


def _in_no_other(again: Evidence) -> str:
    """Say that no case failed without the conditions, and how many were drawn there."""
    drawn = f" ({again.draws.tried} drawn)" if again.draws else ""
    return f"in no other case that was tried{drawn}"


def _passes(
    code: ChallengeCode, conditions: Sequence[Condition], evidence: Evidence, answer: Answer, adapters: Collection[str]
) -> bool:
    """Return whether a failed criterion passes where the conditions are never met."""
    return _right(_without(code, conditions, evidence, answer, adapters, explain=False))


def _right(evidence: Evidence) -> bool:
    """Return whether a criterion passed, or of the cases that are left to judge, if any are, none failed."""
    draws = evidence.draws
    left = evidence.outcome is Outcome.NOT_RUN and draws is not None and draws.tried > draws.failed == 0
    return evidence.outcome is Outcome.PASSED or left or evidence.detail in (NOTHING_LEFT, SOME_LEFT)


def _without(
    code: ChallengeCode, conditions: Sequence[Condition], evidence: Evidence, answer: Answer,
    adapters: Collection[str], explain: bool,
) -> Evidence:  # fmt: skip
    """Return what the probes of a criterion see where the conditions are never met, with the same inputs otherwise."""
    assert evidence.seed is not None
    criterion, sparing = code.challenge.criterion(evidence.criterion), SparingAnswer(answer, conditions)
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
    """Return the evidence; each failure that depends on a race names the criterion that found the race.

    A failure depends on it where the calls of its smallest input show a race when they are watched, and what they get
    wrong differs from one order of threads to another.
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
    """Describe what a case shows; empty where nothing is wrong, None where a limit or device ended it."""
    answer.fresh()
    try:
        once(probe, answer, seed, case)
    except (*BEYOND_LIMITS, NotMeasurable, NotRun):
        return None
    except ProbeFailure as failure:
        return f"{failure.title}: {failure.detail}"
    return ""
