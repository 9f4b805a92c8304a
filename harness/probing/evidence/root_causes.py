"""Root causes: conditions under which everything fails, and races that change results."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from harness.cuda.emulator.device_trace import parse
from harness.model import Evidence, Obstacle, Outcome
from harness.probing.answers import Answer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.conditions import Condition, SparingAnswer
from harness.probing.evidence.charging import UNSHOWN
from harness.probing.evidence.criteria import probe_criterion
from harness.probing.failures import BEYOND_LIMITS, NOTHING_LEFT, SOME_LEFT, NotMeasurable, NotRun, ProbeFailure
from harness.probing.probe import Probe, once
from harness.probing.sizes import Case
from harness.probing.submissions.wrapper import AnswerWrapper
from harness.sandbox import Plan

RACES = frozenset({"shared_race", "global_race"})
"""Defects that make the result of a call a matter of chance."""
DEVICE_CALL = "launch"
"""Function that calls a CUDA submission."""
SCHEDULES = (1, 2, 3)
"""Orders of threads in which a failing case runs again."""


def judge_without_conditions(
    code: ChallengeCode, evidence: Sequence[Evidence], answer: Answer, adapters: Collection[str] = ()
) -> list[Evidence]:
    """Charge failures that occur under one condition alone to the criterion of that condition.

    If that criterion fails under the condition alone, every other failed one is judged again without it. One that then
    passes is marked as not run; one that fails keeps the new failure. The first condition of each criterion counts,
    judged without the earlier ones. If no call works in a mode, criteria that pass outside it pass.
    """
    items, found = {e.criterion: e for e in evidence}, list[Condition]()
    for condition in code.conditions:
        id = condition.criterion
        elsewhere = id in items and items[id].obstacle is Obstacle.FAULT  # charged to another criterion
        if id not in items or not items[id].faulty or elsewhere or id in {earlier.criterion for earlier in found}:
            continue
        charged = items[id] = _judge_again(code, found, items[id], answer, adapters)
        lacking = condition.mode and charged.obstacle is Obstacle.CALL
        possible = charged.faulty and (lacking or not condition.lacking)
        if possible and _passes(code, [*found, condition], charged, answer, adapters):
            found.append(replace(condition, mode=lacking))
    apart = {condition.criterion for condition in found}
    return [e if id in apart else _judge_again(code, found, e, answer, adapters) for id, e in items.items()]


def _judge_again(
    code: ChallengeCode, conditions: Sequence[Condition], evidence: Evidence, answer: Answer, adapters: Collection[str]
) -> Evidence:
    """Judge a failed criterion without the conditions; no call works in those that are modes."""
    probes = code.probes_of(code.challenge.criterion(evidence.criterion)) if evidence.faulty else []
    possible = [condition for condition in conditions if evidence.criterion not in condition.never]
    if not possible or not probes or any(probe.measures_cost for probe in probes):
        return evidence
    again = _run_without(code, possible, evidence, answer, adapters, explain=True)
    if not _is_right(again):
        return again if again.faulty else evidence
    cause, again, joined = _find_explaining(code, possible, again, evidence, answer, adapters)
    where = joined.join(condition.name for condition in cause)
    criteria = dict.fromkeys(f"`{condition.criterion}`" for condition in cause)
    charged = f"{' and '.join(criteria)} {'is' if len(criteria) == 1 else 'are'} charged with"
    if again.outcome is Outcome.PASSED and all(condition.mode for condition in cause):
        detail = f"judged without the cases where {where}, in which no call works"
        return again.model_copy(update={"detail": "; ".join(filter(None, (again.detail, detail)))})
    if again.detail == NOTHING_LEFT:
        detail = f"was tried only where {where}, which {charged}: {evidence.title}"
    else:
        detail = f"fails where {where}, which {charged}, and {_format_in_no_other(again)}: {evidence.title}"
    changes = {**UNSHOWN, "outcome": Outcome.NOT_RUN, "rests_on": cause[0].criterion, "detail": detail}
    return Evidence.model_validate({**evidence.model_dump(), **changes})


def _find_explaining(
    code: ChallengeCode,
    possible: Sequence[Condition],
    together: Evidence,
    evidence: Evidence,
    answer: Answer,
    adapters: Collection[str],
) -> tuple[Sequence[Condition], Evidence, str]:
    """Return the conditions that explain a failure, the evidence without them, and a word to join their names.

    These are the first condition without which some cases remain and pass, else all that every case meets, else
    `possible` without each dispensable one, last first.
    """
    met_by_all = dict[Condition, Evidence]()
    for condition in possible if len(possible) > 1 else ():
        alone = _run_without(code, [condition], evidence, answer, adapters, explain=False)
        if alone.detail == NOTHING_LEFT:
            met_by_all[condition] = alone
        elif _is_right(alone) and alone.detail != SOME_LEFT:
            return [condition], alone, ""
    if met_by_all:
        return list(met_by_all), next(iter(met_by_all.values())), " and "
    needed = list(possible)
    for condition in reversed(possible) if len(possible) > 1 else ():
        fewer = [other for other in needed if other is not condition]
        if fewer and _is_right(alone := _run_without(code, fewer, evidence, answer, adapters, explain=False)):
            needed, together = fewer, alone
    return needed, together, " or "


def _format_in_no_other(again: Evidence) -> str:
    drawn = f" ({again.draws.tried} drawn)" if again.draws else ""
    return f"in no other case that was tried{drawn}"


def _passes(
    code: ChallengeCode, conditions: Sequence[Condition], evidence: Evidence, answer: Answer, adapters: Collection[str]
) -> bool:
    return _is_right(_run_without(code, conditions, evidence, answer, adapters, explain=False))


def _is_right(evidence: Evidence) -> bool:
    draws = evidence.draws
    left = evidence.outcome is Outcome.NOT_RUN and draws is not None and draws.tried > draws.failed == 0
    return evidence.outcome is Outcome.PASSED or left or evidence.detail in (NOTHING_LEFT, SOME_LEFT)


def _run_without(
    code: ChallengeCode,
    conditions: Sequence[Condition],
    evidence: Evidence,
    answer: Answer,
    adapters: Collection[str],
    explain: bool,
) -> Evidence:
    assert evidence.seed is not None
    criterion, sparing = code.challenge.criterion(evidence.criterion), SparingAnswer(answer, conditions)
    return probe_criterion(code, criterion, sparing, evidence.seed, explain=explain, adapters=adapters)


class OtherwiseCalledAnswer(AnswerWrapper):
    """A CUDA answer whose plain calls run in another order of threads, or watched."""

    def __init__(self, answer: Answer, **options: Any) -> None:
        super().__init__(answer)
        self.options = options
        self.races: set[str] = set()

    def call(self, function: str, *args: Any, returns: Plan, **options: Any) -> Any:
        """See `Answer.call`."""
        if function != DEVICE_CALL or options.get("mode") != "plain":
            return super().call(function, *args, returns=returns, **options)
        value = super().call(function, *args, returns=returns, **{**options, **self.options})
        if report := parse(value[-1].tobytes()):
            self.races |= {defect.kind for defect in report.found()} & RACES
        return value


def link_to_races(code: ChallengeCode, evidence: Sequence[Evidence], answer: Answer) -> list[Evidence]:
    """Link each failure to a race that its smallest input shows, if its result differs between orders of threads."""
    found = {e.defect: e.criterion for e in reversed(evidence) if e.faulty and e.defect in RACES}
    return [_link(code, e, answer, found) for e in evidence] if found else list(evidence)


def _link(code: ChallengeCode, evidence: Evidence, answer: Answer, found: dict[str, str]) -> Evidence:
    example, seed = evidence.counterexample, evidence.seed
    if not evidence.faulty or evidence.defect or example is None or seed is None or example.probe not in code.probes:
        return evidence

    def end(**options: Any) -> tuple[str | None, set[str]]:
        other = OtherwiseCalledAnswer(answer, **options)
        return _describe_end(code.probes[example.probe], other, seed, dict(example.case)), other.races

    _, races = end(mode="check")
    linked = next((criterion for kind, criterion in found.items() if kind in races), None)
    ends = {end(seed=schedule)[0] for schedule in SCHEDULES} if linked else set()
    if len(ends) < 2 or None in ends:
        return evidence
    return evidence.model_copy(update={"linked_to": linked})


def _describe_end(probe: Probe, answer: Answer, seed: int, case: Case) -> str | None:
    answer.fresh()
    try:
        once(probe, answer, seed, case)
    except (*BEYOND_LIMITS, NotMeasurable, NotRun):
        return None
    except ProbeFailure as failure:
        return f"{failure.title}: {failure.detail}"
    return ""
