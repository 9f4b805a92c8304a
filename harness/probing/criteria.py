"""From probes to evidence: runs what feeds a criterion, names the fault, and applies the anchor rule."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from harness.errors import HarnessError
from harness.model import (
    UNBUILT,
    Challenge,
    Criterion,
    Draws,
    Evidence,
    Observation,
    Obstacle,
    Outcome,
    Submission,
    Threshold,
)
from harness.model.base import is_nan
from harness.model.seeds import seed_of as seed_of
from harness.probing.answers import Answer
from harness.probing.code import ChallengeCode
from harness.probing.conditions import PartlyServedAnswer
from harness.probing.diagnosis import diagnose
from harness.probing.failures import NOTHING_LEFT, NotMeasurable, NotRun
from harness.probing.probe import Probe, ProbeResult, run


def probe_criterion(
    code: ChallengeCode, criterion: Criterion, answer: Answer, seed: int, *, submission: Submission | None = None,
    explain: bool = True, share: float = 1.0, adapters: Collection[str] = (), until_failed: bool = False,
    brief: bool = False, known: Mapping[str, ProbeResult | Exception] = MappingProxyType({}),
) -> Evidence:  # fmt: skip
    """Run the probes of one criterion.

    Args:
        code: the challenge's code.
        criterion: what to assess.
        answer: to assess.
        seed: of the criterion, as `seed_of` gives it.
        submission: what the answer claims of itself; without it every capability counts as claimed.
        explain: whether to look for smaller counterexamples and for the fault's name.
        share: of the drawn cases that are run.
        adapters: files of the harness's own: what only their lines raise is not run.
        until_failed: whether the first probe that fails is the last one: it settles that the criterion does.
        brief: whether few cases are drawn, see `Drawn.in_brief`, and all probes meet one worker: most of what a
            short probe costs is a worker of its own.
        known: what probes showed or raised, by name, that were run before, on this seed, each in a worker of its own.
    """
    if criterion.capability and submission is not None and not submission.offers(criterion.capability):
        return Evidence.of(criterion, Outcome.NOT_OFFERED, detail="the submission does not claim this feature")
    try:
        probes = [p for p in code.probes_of(criterion) if not (brief and criterion.capability and p.measures_cost)]
        results = _run(criterion.id, probes, answer, seed, explain, share, adapters, brief, known)
        outcomes, unassessed = _divided(results, until_failed)
        if unassessed and all(o.passed for o in outcomes):
            outcome = Outcome.NOT_RUN if any(isinstance(e, NotRun) for e in unassessed) else Outcome.UNSUPPORTED
            tried = [*(o.draws for o in outcomes), *(e.draws for e in unassessed if isinstance(e, NotRun))]
            return Evidence.of(criterion, outcome, seed=seed, detail=_reasons(unassessed), draws=_sum(tried))
        return _evidence(code, criterion, outcomes, answer, seed, explain)
    except HarnessError:
        raise
    except Exception as error:  # a probe that breaks says nothing about the answer
        detail = f"the probe failed: {type(error).__name__}: {error}"
        return Evidence.of(criterion, Outcome.JUDGE_ERROR, seed=seed, detail=detail)


def _run(
    own: str, probes: Iterable[Probe], answer: Answer, seed: int, explain: bool, share: float,
    adapters: Collection[str], brief: bool, known: Mapping[str, ProbeResult | Exception],
) -> Iterator[ProbeResult | NotMeasurable | NotRun]:  # fmt: skip
    """What each probe showed, or why it could not show anything."""
    for number, probe in enumerate(probes):
        before = known.get(probe.name)
        if isinstance(before, Exception):
            raise before
        if before is None and (not brief or number == 0):
            answer.fresh()  # what one probe made an answer keep is no help in the next
        try:
            probe = probe.in_brief() if brief else probe
            again = partial(run, probe, seed=seed, share=share, own=own)
            result = again(answer, shrink=explain) if before is None else before
            if _is_ours(result, adapters):
                result = _served(probe, partial(again, shrink=explain), PartlyServedAnswer(answer, adapters))
            elif result.spared and result.spared == _cases(probe, result):
                raise NotRun(NOTHING_LEFT)
            yield _charged(_real(result), adapters)
        except (NotMeasurable, NotRun) as reason:
            yield reason


def _divided(
    results: Iterable[ProbeResult | NotMeasurable | NotRun], until_failed: bool
) -> tuple[list[ProbeResult], list[NotMeasurable | NotRun]]:
    """What the probes showed, and why some could not show anything."""
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


def _reasons(unassessed: Iterable[NotMeasurable | NotRun]) -> str:
    """Say why probes could not show anything, each reason once, whatever functions of an adapter share it."""
    refused, seen = dict[str, dict[str, str]](), list[str]()
    for reason in unassessed:
        if isinstance(reason, NotRun) and reason.refused:
            refused[reason.verb] = {**reason.refused, **refused.get(reason.verb, {})}
        else:
            seen.append(str(reason))
    return "; ".join(dict.fromkeys([*(_not_served(verb, why) for verb, why in refused.items()), *seen]))


def _not_served(verb: str, refused: Mapping[str, str]) -> str:
    """Say of which functions an adapter refuses what is asked, by reason."""
    named = dict[str, list[str]]()
    for name, why in refused.items():
        named.setdefault(why, []).append(f"`{name}`")
    reasons = "; ".join(f"{' and '.join(names)}: {why}" for why, names in named.items())
    return f"our adapter {verb} what is asked of {reasons}"


def _real(result: ProbeResult) -> ProbeResult:
    """The result without NaN among its figures: nothing passes on one, and one of a wrong output is infinitely far off.

    Raises:
        NotRun: the probe passed, and a figure of it is NaN.
    """
    unreal = [name for name, value in result.figures.items() if is_nan(value)]
    if unreal and result.passed:
        raise NotRun(f"the figure `{unreal[0]}` is NaN, which assesses nothing")
    return replace(result, figures=result.figures | dict.fromkeys(unreal, math.inf))


def _is_ours(result: ProbeResult, adapters: Collection[str]) -> bool:
    """Say whether a result failed and saw nothing but an exception that only lines of `adapters` raised."""
    raised = bool(result.locations) and all(place.file in adapters for place in result.locations)
    return raised and not result.passed and not (result.counterexample and result.counterexample.where)


def _served(probe: Probe, again: Callable[[Answer], ProbeResult], answer: PartlyServedAnswer) -> ProbeResult:
    """Run a probe again without what an adapter does not serve.

    Args:
        probe: which asked for something that is not served.
        again: runs it.
        answer: leaves out what is not served.

    Raises:
        NotRun: nothing is left to judge, or not all drawn sizes are, and the others are right.
    """
    again(answer)  # shows which functions are never served; those that a probe asks about are left out below
    result = again(answer)
    reasons = "; ".join(f"`{name}`: {why}" for name, why in answer.refused.items())
    cases = _cases(probe, result)
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


def _cases(probe: Probe, result: ProbeResult) -> int:
    """Return how many cases a probe has, the drawn ones included."""
    return len(probe.cases) + (result.draws.planned if result.draws else 0)


def _charged(result: ProbeResult, adapters: Collection[str]) -> ProbeResult:
    """Return the result without places in `adapters`."""
    return replace(result, locations=tuple(place for place in result.locations if place.file not in adapters))


def _evidence(
    code: ChallengeCode, criterion: Criterion, outcomes: Sequence[ProbeResult], answer: Answer, seed: int, explain: bool
) -> Evidence:
    measured = {name: value for outcome in outcomes for name, value in outcome.figures.items()}
    outcomes = [replace(o, fault_of="") if o.fault_of == criterion.id else o for o in outcomes]
    failed = sorted((o for o in outcomes if not o.passed), key=lambda o: (bool(o.fault_of), o.obstacle is not None))
    draws = _sum([o.draws for o in outcomes])
    if not failed:
        fraction = min(o.fraction for o in outcomes)
        return Evidence.of(
            criterion, Outcome.PARTIAL if fraction < 1 else Outcome.PASSED, fraction=fraction if fraction < 1 else None,
            seed=seed, measured=measured, detail="; ".join(dict.fromkeys(o.detail for o in outcomes if o.detail)),
            draws=draws, unserved=tuple(dict.fromkeys(name for o in outcomes for name in o.unserved)),
        )  # fmt: skip
    first, *others = failed
    diagnosis = first.diagnosis
    if diagnosis is None and explain and first.obstacle is not Obstacle.FAULT:
        diagnosis = diagnose(code, code.probes[first.probe], first, answer, seed)
    return Evidence.of(
        criterion, Outcome.FAILED, seed=seed, title=first.title, detail=first.detail, measured=measured,
        locations=first.locations, also=_also(first, others), counterexample=first.counterexample, diagnosis=diagnosis,
        loss=first.loss, draws=draws, thresholds=first.thresholds, defect=first.defect,
        obstacle=first.obstacle if all(o.obstacle for o in failed) else None, fault_of=first.fault_of,
        wrong_option=bool(criterion.capability) and any(_gave_wrong_values(code.probes[o.probe], o) for o in failed),
    )  # fmt: skip


def _gave_wrong_values(probe: Probe, failed: ProbeResult) -> bool:
    """Whether a failed probe compared values, and nothing else, and no call failed before it could."""
    return not probe.measures_cost and not probe.apart and failed.obstacle in (None, Obstacle.OUTPUT)


def _sum(draws: Iterable[Draws | None]) -> Draws | None:
    """All draws of a criterion; None where none of its probes draws."""
    drawn = [each for each in draws if each is not None]
    return sum(drawn[1:], drawn[0]) if drawn else None


def _also(first: ProbeResult, others: Sequence[ProbeResult]) -> tuple[Observation, ...]:
    """What the other probes saw, without what the first or an earlier one saw already."""
    distinct = {(o.title, o.detail): o for o in reversed([first, *others])}
    return tuple(
        Observation(
            title=o.title, detail=o.detail, locations=o.locations, counterexample=o.counterexample, fault_of=o.fault_of
        )
        for o in others
        if distinct[o.title, o.detail] is o
    )  # fmt: skip


def anchored(evidence: Iterable[Evidence], anchor: str, probed: set[str]) -> list[Evidence]:
    """Take the credit of probed criteria that passed although the anchor failed.

    Relations between an answer's own outputs can hold for an answer that is wrong everywhere (zeros are linear); such
    a criterion earns nothing, and gates nothing either. Nor does one that no device here could assess: to be measured
    must not cost an answer anything.
    """
    items = list(evidence)
    failed = any(e.criterion == anchor and e.outcome is Outcome.FAILED for e in items)
    if not failed:
        return items
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "title": "", "rests_on": anchor}
    reasons = {True: "held, but earns nothing", False: "was not assessed, and could earn nothing"}
    excused = (Outcome.UNSUPPORTED, Outcome.NOT_RUN)

    def settled(e: Evidence) -> Evidence:
        if e.criterion not in probed or (e.satisfied == 0 and e.outcome not in excused):
            return e
        return _with(e, **stripped, own_outcome=e.outcome, detail=f"{reasons[e.satisfied > 0]} while `{anchor}` fails")

    return [settled(e) for e in items]


def without_idle_credit(challenge: Challenge, evidence: Iterable[Evidence], *, built: bool) -> list[Evidence]:
    """Take the credit of executed criteria where a submission does no work: it does not build, or fails the anchor.

    A function that returns an error code compiles, and the tests that pass on it notice no fault.
    """
    items = list(evidence)
    if built and all(e.criterion != challenge.anchor or e.outcome is not Outcome.FAILED for e in items):
        return items
    executed = {c.id for c in challenge.criteria if c.executed}
    cause, why = (challenge.anchor, f"`{challenge.anchor}` fails") if built else (UNBUILT, "it does not build")
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "title": "", "rests_on": cause}
    detail = f"held, but earns nothing while {why}"
    return [
        _with(e, **stripped, own_outcome=e.outcome, detail=detail) if e.criterion in executed and e.satisfied else e
        for e in items
    ]


UNSHOWN: Mapping[str, object] = {
    "title": "", "measured": {}, "locations": (), "counterexample": None, "diagnosis": None, "loss": None, "also": (),
    "thresholds": (), "defect": "", "linked_to": None, "obstacle": None, "wrong_option": False,
    "unserved": (),
}  # fmt: skip
"""Fields of evidence that is no finding."""


def charged_once(code: ChallengeCode, evidence: Iterable[Evidence]) -> list[Evidence]:
    """Take criteria out of the findings where what their drawn cases saw may be another criterion's fault.

    A criterion that rests on others is not charged again for a fault that shows at plain sizes, which is one without a
    threshold or past it in the other's case, where one of the others failed by itself and is at least as severe. What a
    probe of fixed cases saw of a feature is charged all the same, unless it was to measure something and came to no
    figure; where all of these pass, the feature is not assessed. A property is not judged where another criterion's
    fault kept it from being seen. What breaks another's property is that one's, see `_left_to_owners`.
    """
    items = _left_to_owners(list(evidence), code.challenge.anchor)
    rubric = {c.id: c for c in code.challenge.criteria}
    failed = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty}

    def cause(e: Evidence) -> str | None:
        """The criterion that is charged for what this one saw; None where it is charged itself."""
        if e.fault_of == e.criterion or not _may_be_anothers(code, e):
            return None
        weight = e.severity.weight
        others = (id for id in rubric[e.criterion].rests_on if id in failed and failed[id].severity.weight >= weight)
        others = (id for id in others if _shows_past(e.thresholds, failed[id]))
        # what a probe traced to another fault is the last to be charged
        other = min(others, key=lambda id: failed[id].obstacle is Obstacle.FAULT, default=None)
        return None if other is None else cause(failed[other]) or other

    def settled(e: Evidence) -> Evidence:
        other = cause(e) if e.criterion in failed else None
        if other is None:
            return e
        unmeasured = any(code.probes[name].measures for name in e.failed_probes)
        probes = code.probes_of(rubric[e.criterion])
        if not unmeasured and any(probe.drawn is None and not probe.apart for probe in probes):
            detail = f"its fixed cases pass; drawn histories fail while `{other}` does, whatever they would show here"
            return _with(e, **UNSHOWN, outcome=Outcome.NOT_RUN, detail=detail)
        why = f"was not measured, for `{other}` fails" if unmeasured else _not_apart(other)
        return _with(e, **UNSHOWN, outcome=Outcome.NOT_RUN, rests_on=other, detail=f"{why}: {e.seen}")

    return _properties_apart(code, [settled(e) for e in items])


def _left_to_owners(items: Sequence[Evidence], anchor: str) -> list[Evidence]:
    """Leave each failure to the criterion whose property it breaks, where that one is charged with it.

    It is not where it fails at other sizes only, beyond a threshold. Of a criterion that saw further failures, those
    are left to it that nobody else is charged with. The anchor stays failed, for nothing shows that it holds.
    """
    charged = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty and not e.fault_of}

    def settled(e: Evidence) -> Evidence:
        if not e.faulty:
            return e
        left = tuple(further for further in e.also if further.fault_of not in charged)
        owner = charged.get(e.fault_of)
        if owner is None or not _shows_past(e.thresholds, owner):
            own = len(left) < len(e.also)  # what it is left with is its own, whatever its other probes saw
            return e.model_copy(update={"also": left, "fault_of": e.criterion if own else e.fault_of})
        if left:
            first, *others = (further.model_dump() for further in left)
            return _with(e, **{**UNSHOWN, **first, "also": others, "fault_of": e.criterion})
        outcome = Outcome.FAILED if e.criterion == anchor else Outcome.NOT_RUN
        detail = f"{_not_apart(owner.criterion)}: {e.seen}"
        return _with(e, **UNSHOWN, outcome=outcome, rests_on=owner.criterion, detail=detail)

    return [settled(e) for e in items]


def _properties_apart(code: ChallengeCode, items: Sequence[Evidence]) -> list[Evidence]:
    """Leave unjudged what a fault kept from being seen, where another criterion is charged with that fault.

    That is a property, or what a probe traced to another fault, such as one that its plain case shows as well. The
    cause is a criterion in which the same failure is seen and that judges values, or saw its property broken; else,
    unless it is a call that failed, one that judges values wrong. A property of which it is known whose it is has no
    other cause.
    """
    properties = {c.id for c in code.challenge.criteria if c.judges == "property"}
    blocked = {e.criterion for e in items if e.obstacle is Obstacle.FAULT or (e.obstacle and e.criterion in properties)}
    charged = sorted((e for e in items if e.faulty and e.criterion not in blocked), key=lambda e: -e.severity.weight)

    def cause(e: Evidence) -> str | None:
        titles = {e.title, *(further.title for further in e.also)}
        same = [o.criterion for o in charged if titles & {o.title, *(further.title for further in o.also)}]
        values = [o.criterion for o in charged if o.criterion not in properties]
        return next(iter(same if e.obstacle is Obstacle.CALL or e.fault_of else same + values), None)

    def settled(e: Evidence) -> Evidence:
        other = cause(e) if e.criterion in blocked else None
        if other is None and not (e.obstacle is Obstacle.FAULT and e.fault_of and charged):
            return e
        why = _not_apart(other) if other else "what fails here fails with nothing special as well"
        return _with(e, **UNSHOWN, outcome=Outcome.NOT_RUN, rests_on=other, detail=f"{why}: {e.seen}")

    return [settled(e) for e in items]


def _not_apart(other: str) -> str:
    return f"could not be told apart from `{other}`, which fails"


def _shows_past(thresholds: Iterable[Threshold], other: Evidence) -> bool:
    """Return whether the failing case of another criterion lies past all thresholds, as every case does of none."""
    case = other.counterexample.case if other.counterexample else {}
    sizes = [(threshold, case.get(threshold.axis)) for threshold in thresholds]
    return all(isinstance(size, int) and threshold.met(size) for threshold, size in sizes)


def _may_be_anothers(code: ChallengeCode, evidence: Evidence) -> bool:
    """Whether every probe that failed drew its cases, or was to measure something and came to no figure of it."""
    examples = [evidence.counterexample, *(further.counterexample for further in evidence.also)]
    probes = [(code.probes[example.probe], example.measured) for example in examples if example]
    return all(probe.drawn is not None or (probe.measures and not figures) for probe, figures in probes)


def _with(evidence: Evidence, **changes: object) -> Evidence:
    return Evidence.model_validate({**evidence.model_dump(), **changes})
