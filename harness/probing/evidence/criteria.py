"""Evidence of a criterion from its probes."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from harness.errors import HarnessError
from harness.model import (
    Criterion,
    Draws,
    Evidence,
    Figure,
    Observation,
    Obstacle,
    Outcome,
    Submission,
)
from harness.model.base import is_nan
from harness.model.seeds import seed_of as seed_of
from harness.probing.answers import Answer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.conditions import PartlyServedAnswer
from harness.probing.diagnosis import diagnose
from harness.probing.failures import ITSELF, NOTHING_LEFT, SOME_LEFT, NotMeasurable, NotRun
from harness.probing.probe import Probe, ProbeResult, run


def probe_criterion(
    code: ChallengeCode,
    criterion: Criterion,
    answer: Answer,
    seed: int,
    *,
    submission: Submission | None = None,
    explain: bool = True,
    share: float = 1.0,
    adapters: Collection[str] = (),
    until_failed: bool = False,
    brief: bool = False,
    known: Mapping[str, ProbeResult | Exception] = MappingProxyType({}),
) -> Evidence:
    """Run the probes of one criterion.

    Args:
        seed: value of `seed_of`.
        submission: its claims; without it every capability counts as claimed.
        explain: search for smaller counterexamples and for the fault's name.
        adapters: files of the harness; exceptions from their lines alone count as not run.
        brief: draw few cases (`Drawn.in_brief`) in one worker for all probes, because its start dominates.
        known: earlier results or exceptions of probes, by name, on this seed and each in its own worker.
    """
    if criterion.capability and submission is not None and not submission.offers(criterion.capability):
        return Evidence.of(criterion, Outcome.NOT_OFFERED, detail="the submission does not claim this feature")
    try:
        probes = [p for p in code.probes_of(criterion) if not (brief and criterion.capability and p.measures_cost)]
        results = _run(criterion.id, probes, answer, seed, explain, share, adapters, brief, known)
        outcomes, unassessed = _divide(results, until_failed)
        if unassessed and all(o.passed for o in outcomes):
            outcome = Outcome.NOT_RUN if any(isinstance(e, NotRun) for e in unassessed) else Outcome.UNSUPPORTED
            tried = [*(o.draws for o in outcomes), *(e.draws for e in unassessed if isinstance(e, NotRun))]
            detail = _join_reasons(unassessed)
            detail = SOME_LEFT if outcomes and detail == NOTHING_LEFT else detail
            unshown = _collect_figures(outcomes)
            return Evidence.of(criterion, outcome, seed=seed, detail=detail, draws=_sum_draws(tried), unshown=unshown)
        return _make_evidence(code, criterion, outcomes, answer, seed, explain)
    except HarnessError:
        raise
    except Exception as error:  # a broken probe is no evidence about the submission
        detail = f"the probe failed: {type(error).__name__}: {error}"
        return Evidence.of(criterion, Outcome.JUDGE_ERROR, seed=seed, detail=detail)


def _run(
    own: str,
    probes: Iterable[Probe],
    answer: Answer,
    seed: int,
    explain: bool,
    share: float,
    adapters: Collection[str],
    brief: bool,
    known: Mapping[str, ProbeResult | Exception],
) -> Iterator[ProbeResult | NotMeasurable | NotRun]:
    for number, probe in enumerate(probes):
        before = known.get(probe.name)
        if isinstance(before, Exception):
            raise before
        if before is None and (not brief or number == 0):
            answer.fresh()  # state that one probe leaves behind must not help in the next
        try:
            probe = probe.in_brief() if brief else probe
            again = partial(run, probe, seed=seed, share=share, own=own)
            result = again(answer, shrink=explain) if before is None else before
            if _is_ours(result, adapters):
                result = _run_in_adapter(probe, partial(again, shrink=explain), PartlyServedAnswer(answer, adapters))
            elif result.spared and result.spared == _count_cases(probe, result):
                raise NotRun(NOTHING_LEFT)
            yield _drop_adapter_locations(_replace_nan(result), adapters)
        except (NotMeasurable, NotRun) as reason:
            yield reason


def _divide(
    results: Iterable[ProbeResult | NotMeasurable | NotRun], until_failed: bool
) -> tuple[list[ProbeResult], list[NotMeasurable | NotRun]]:
    outcomes: list[ProbeResult] = []
    unassessed: list[NotMeasurable | NotRun] = []
    for result in results:
        if isinstance(result, ProbeResult):
            outcomes.append(result)
            if until_failed and not result.passed:
                break
        else:
            unassessed.append(result)
    return outcomes, unassessed


def _join_reasons(unassessed: Iterable[NotMeasurable | NotRun]) -> str:
    refused, seen = dict[str, dict[str, str]](), list[str]()
    for reason in unassessed:
        if isinstance(reason, NotRun) and reason.refused:
            refused[reason.verb] = {**reason.refused, **refused.get(reason.verb, {})}
        else:
            seen.append(str(reason))
    return "; ".join(dict.fromkeys([*(_describe_refusals(verb, why) for verb, why in refused.items()), *seen]))


def _describe_refusals(verb: str, refused: Mapping[str, str]) -> str:
    named = dict[str, list[str]]()
    for name, why in refused.items():
        named.setdefault(why, []).append(f"`{name}`")
    reasons = "; ".join(f"{' and '.join(names)}: {why}" for why, names in named.items())
    return f"our adapter {verb} what is asked of {reasons}"


def _replace_nan(result: ProbeResult) -> ProbeResult:
    unreal = [name for name, value in result.figures.items() if is_nan(value)]
    if unreal and result.passed:
        raise NotRun(f"the figure `{unreal[0]}` is NaN, which assesses nothing")
    return replace(result, figures=result.figures | dict.fromkeys(unreal, math.inf))


def _is_ours(result: ProbeResult, adapters: Collection[str]) -> bool:
    raised = bool(result.locations) and all(place.file in adapters for place in result.locations)
    return raised and not result.passed and not (result.counterexample and result.counterexample.where)


def _run_in_adapter(probe: Probe, again: Callable[[Answer], ProbeResult], answer: PartlyServedAnswer) -> ProbeResult:
    again(answer)  # shows which functions are never served; those that a probe asks about are left out below
    result = again(answer)
    reasons = "; ".join(f"`{name}`: {why}" for name, why in answer.refused.items())
    cases = _count_cases(probe, result)
    if result.spared == cases or _is_ours(result, answer.adapters):
        why = f"our adapter {answer.verb} what is asked of {reasons or result.detail}"
        raise NotRun(why, refused=answer.refused, verb=answer.verb)
    if not result.passed:
        return result
    if result.draws is not None and result.spared:
        share = f"{result.spared} of {cases} cases"
        raise NotRun(f"our adapter {answer.verb} {share}, and the others are right: {reasons}", result.draws)
    note = f"without what our adapter {answer.verb}: {reasons}"
    return replace(result, detail="; ".join(filter(None, (note, result.detail))), unserved=tuple(answer.refused))


def _count_cases(probe: Probe, result: ProbeResult) -> int:
    return len(probe.cases) + (result.draws.planned if result.draws else 0)


def _drop_adapter_locations(result: ProbeResult, adapters: Collection[str]) -> ProbeResult:
    return replace(result, locations=tuple(place for place in result.locations if place.file not in adapters))


def _make_evidence(
    code: ChallengeCode, criterion: Criterion, outcomes: Sequence[ProbeResult], answer: Answer, seed: int, explain: bool
) -> Evidence:
    own, owners = criterion.id, {criterion.id: "", ITSELF: criterion.id}
    outcomes = [replace(o, fault_of=owners.get(o.fault_of, o.fault_of)) for o in outcomes]
    rank = {own: 0, "": 1}
    failed = sorted(
        (o for o in outcomes if not o.passed), key=lambda o: (rank.get(o.fault_of, 2), o.obstacle is not None)
    )
    measured = _collect_figures(failed or outcomes)
    draws = _sum_draws([o.draws for o in outcomes])
    if not failed:
        fraction = min(o.fraction for o in outcomes)
        return Evidence.of(
            criterion,
            Outcome.PARTIAL if fraction < 1 else Outcome.PASSED,
            fraction=fraction if fraction < 1 else None,
            seed=seed,
            measured=measured,
            detail="; ".join(dict.fromkeys(o.detail for o in outcomes if o.detail)),
            draws=draws,
            unserved=tuple(dict.fromkeys(name for o in outcomes for name in o.unserved)),
        )
    first, *others = _put_thresholds_first(failed)
    diagnosis = first.diagnosis
    if diagnosis is None and explain and first.obstacle is not Obstacle.FAULT:
        diagnosis = diagnose(code, code.probes[first.probe], first, answer, seed)
    return Evidence.of(
        criterion,
        Outcome.FAILED,
        seed=seed,
        title=first.title,
        detail=first.detail,
        measured=measured,
        locations=first.locations,
        also=_collect_further(first, others),
        counterexample=first.counterexample,
        diagnosis=diagnosis,
        loss=first.loss,
        draws=draws,
        thresholds=first.thresholds,
        defect=first.defect,
        obstacle=first.obstacle if all(o.obstacle for o in failed) else None,
        fault_of=first.fault_of,
        unshown=_collect_figures(o for o in outcomes if o.passed),
        wrong_option=bool(criterion.capability) and any(_gave_wrong_values(code.probes[o.probe], o) for o in failed),
    )


def _collect_figures(outcomes: Iterable[ProbeResult]) -> dict[str, Figure]:
    return {name: value for o in outcomes for name, value in o.figures.items()}


def _put_thresholds_first(failed: Sequence[ProbeResult]) -> list[ProbeResult]:
    first = failed[0]
    alike = [o for o in failed if (o.title, o.obstacle, o.fault_of) == (first.title, first.obstacle, first.fault_of)]
    best = first if first.thresholds else next((o for o in alike if o.thresholds), first)
    return [best, *(o for o in failed if o is not best)]


def _gave_wrong_values(probe: Probe, failed: ProbeResult) -> bool:
    return not probe.measures_cost and not probe.apart and failed.obstacle in (None, Obstacle.OUTPUT)


def _sum_draws(draws: Iterable[Draws | None]) -> Draws | None:
    drawn = [each for each in draws if each is not None]
    return sum(drawn[1:], drawn[0]) if drawn else None


def _collect_further(first: ProbeResult, others: Sequence[ProbeResult]) -> tuple[Observation, ...]:
    # skip failures from an unknown fault elsewhere, unless one is first
    if first.obstacle is not Obstacle.FAULT:
        others = [o for o in others if o.obstacle is not Obstacle.FAULT or o.fault_of]
    distinct = dict[tuple[str, str], Observation]()
    for seen in (one for o in (first, *others) for one in (_make_observation(o), *o.also)):
        distinct.setdefault((seen.title, seen.detail), seen)
    # a title may add to another's a condition that only some searches found
    return tuple(
        o for o in tuple(distinct.values())[1:] if o.detail != first.detail or not first.title.startswith(o.title)
    )


def _make_observation(seen: ProbeResult) -> Observation:
    return Observation(
        title=seen.title or seen.detail or f"`{seen.probe}` earns nothing",
        detail=seen.detail,
        locations=seen.locations,
        counterexample=seen.counterexample,
        fault_of=seen.fault_of,
    )
