"""Attribution of a fault that several criteria see."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from harness.model import UNBUILT, Challenge, Counterexample, Evidence, Observation, Obstacle, Outcome, Threshold
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.sizes import DRAW


def apply_anchor(evidence: Iterable[Evidence], anchor: str, probed: set[str]) -> list[Evidence]:
    """Fail every probed criterion, also unassessed ones, if the anchor fails.

    Relations between outputs may hold with all values wrong: zeros are linear.
    """
    items = list(evidence)
    failed = any(e.criterion == anchor and e.outcome is Outcome.FAILED for e in items)
    if not failed:
        return items
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "title": "", "rests_on": anchor}
    excused = (Outcome.UNSUPPORTED, Outcome.NOT_RUN)

    def settle(e: Evidence) -> Evidence:
        if e.criterion not in probed or (e.satisfied == 0 and e.outcome not in excused):
            return e
        detail = f"{_describe_credit(e)} while `{anchor}` fails"
        return _replace_fields(e, **stripped, own_outcome=e.outcome, detail=detail)

    return [settle(e) for e in items]


def without_idle_credit(challenge: Challenge, evidence: Iterable[Evidence], *, built: bool) -> list[Evidence]:
    """Remove the credit of executed criteria, which a stub may earn, if the build or the anchor fails."""
    items = list(evidence)
    if built and all(e.criterion != challenge.anchor or e.outcome is not Outcome.FAILED for e in items):
        return items
    executed = {c.id for c in challenge.criteria if c.executed}
    cause, why = (challenge.anchor, f"`{challenge.anchor}` fails") if built else (UNBUILT, "it does not build")
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "title": "", "rests_on": cause}
    return [
        _replace_fields(e, **stripped, own_outcome=e.outcome, detail=f"{_describe_credit(e)} while {why}")
        if e.criterion in executed and e.satisfied
        else e
        for e in items
    ]


def _describe_credit(e: Evidence) -> str:
    if not e.satisfied:
        return "was not assessed, and could earn nothing"
    return "held, but earns nothing" if e.satisfied == 1 else "held in part, but earns nothing"


UNSHOWN: Mapping[str, object] = {
    "title": "",
    "measured": {},
    "locations": (),
    "counterexample": None,
    "diagnosis": None,
    "loss": None,
    "also": (),
    "thresholds": (),
    "defect": "",
    "linked_to": None,
    "obstacle": None,
    "wrong_option": False,
    "unserved": (),
}
"""Empty values for the fields of evidence that describe a finding."""


def charge_once(code: ChallengeCode, evidence: Iterable[Evidence], *, marked: bool = True) -> list[Evidence]:
    """Charge each fault to one criterion, and mark the others that see it as not run.

    A criterion is not charged if it rests on a failed one of at least equal severity, whose failing case meets all
    thresholds of the fault. Exceptions:

    * Failures of fixed cases stay charged, unless a measuring probe got no figure, or a more severe criterion raised
      the same exception in drawn cases only.
    * A criterion whose fixed cases pass is excused only if its drawn cases fail in no further way, or a shortest
      failing program makes no use of it.
    * An option is the cause only of programs that use it.
    * A hidden property is not judged (`_set_properties_apart`). A broken one is charged to its owner.

    Args:
        marked: true if the anchor stays failed even if another fault breaks it.
    """
    items = _leave_to_owners(code, list(evidence), marked)
    rubric = {c.id: c for c in code.challenge.criteria}
    failed = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty}

    def cause(e: Evidence) -> str | None:
        if e.fault_of == e.criterion:
            return None
        weight, others = e.severity.weight, [id for id in rubric[e.criterion].rests_on if id in failed]
        if _measures_cost(code, e) and not others:
            others = [id for id, o in failed.items() if o.severity.weight > weight and _raises_where(e, o)]
        elif not _may_be_anothers(code, e):
            others = [id for id, o in failed.items() if _raises_as(code, e, o) and cause(o) is None]
        elif _has_fixed_cases(code, e) and not _fails_without_it(code, e):
            # its fixed cases pass, so another must fail in all of the same ways
            others = [id for id in others if _list_ways(e) <= _list_ways(failed[id])]
        others = [id for id in others if failed[id].severity.weight >= weight and _shows_past(e.thresholds, failed[id])]
        others = _filter_reaching(code, others, e)
        # prefer a criterion with a fault of its own to one that traced its failure elsewhere
        other = min(others, key=lambda id: failed[id].obstacle is Obstacle.FAULT, default=None)
        return None if other is None else cause(failed[other]) or other

    def settle(e: Evidence) -> Evidence:
        other = cause(e) if e.criterion in failed else None
        if other is None:
            return e
        if _has_fixed_cases(code, e) and all(DRAW in example.case for example in _collect_examples(e)):
            alike = f"why drawn cases fail could not be told while `{other}` fails"
            plain = f"a drawn case that makes no use of it fails, too, while `{other}` does"
            detail = f"its fixed cases show no fault of its own; {plain if _fails_without_it(code, e) else alike}"
            return _replace_fields(e, **UNSHOWN, outcome=Outcome.NOT_RUN, detail=detail)
        why = f"was not measured, for `{other}` fails" if _measures(code, e) else _format_not_apart(other)
        return _replace_fields(e, **UNSHOWN, outcome=Outcome.NOT_RUN, rests_on=other, detail=f"{why}: {e.seen}")

    return _follow_causes(_set_properties_apart(code, [_drop_unasked(code, settle(e)) for e in items]))


def _drop_unasked(code: ChallengeCode, e: Evidence) -> Evidence:
    """Drop further failures that an option's criterion saw in programs that make no use of the option."""
    option = code.challenge.criterion(e.criterion).capability
    asked = [o.counterexample.asks_for if o.counterexample else None for o in e.also]
    kept = tuple(o for o, ids in zip(e.also, asked, strict=True) if not option or ids is None or e.criterion in ids)
    return e if len(kept) == len(e.also) else e.model_copy(update={"also": kept})


def _follow_causes(items: Sequence[Evidence]) -> list[Evidence]:
    """Let what rests on a criterion that itself rests on another rest on that other."""
    causes = {e.criterion: e.rests_on for e in items if e.outcome is Outcome.NOT_RUN and e.rests_on}

    def settle(e: Evidence) -> Evidence:
        between, cause = e.rests_on or "", causes.get(e.rests_on or "")
        if e.outcome is not Outcome.NOT_RUN or not cause or cause == e.criterion:
            return e
        detail = e.detail.replace(_format_not_apart(between), _format_not_apart(cause))
        return settle(e.model_copy(update={"rests_on": cause, "detail": detail}))

    return [settle(e) for e in items]


def _leave_to_owners(code: ChallengeCode, items: Sequence[Evidence], marked: bool) -> list[Evidence]:
    """Move each failure to the criterion whose property it breaks, if that fails and meets its thresholds.

    Further failures move likewise; the rest are the criterion's own if fixed cases showed some.
    """
    anchor = code.challenge.anchor if marked else ""
    charged = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty and not e.fault_of}
    shown = defaultdict[str, dict[str, Observation]](dict)

    def own(e: Evidence) -> Evidence:
        return e if _may_be_anothers(code, e) else e.model_copy(update={"fault_of": e.criterion})

    def settle(e: Evidence) -> Evidence:
        if not e.faulty:
            return e
        left = tuple(further for further in e.also if further.fault_of not in charged)
        for further in e.also:
            shown[further.fault_of].setdefault(further.title, further)
        owner = charged.get(e.fault_of)
        if owner is None or not _shows_past(e.thresholds, owner):
            rest = e.model_copy(update={"also": left})
            return own(rest) if len(left) < len(e.also) else rest
        shown[owner.criterion].setdefault(e.title, _make_observation(e))
        if left:
            return own(e.model_copy(update={**UNSHOWN, **dict(left[0]), "also": left[1:]}))
        if e.criterion == anchor:
            why = f"was not seen to hold, for `{owner.criterion}` fails"
            kept = {"outcome": Outcome.FAILED, "own_outcome": Outcome.FAILED}
        else:
            why, kept = _format_not_apart(owner.criterion), {"outcome": Outcome.NOT_RUN}
        return _replace_fields(e, **UNSHOWN, **kept, rests_on=owner.criterion, detail=f"{why}: {e.seen}")

    found = [settle(e) for e in items]
    return [_add_observations(e, shown[e.criterion]) if e.criterion in charged else e for e in found]


def _make_observation(e: Evidence) -> Observation:
    return Observation(
        title=e.title, detail=e.detail, locations=e.locations, counterexample=e.counterexample, fault_of=e.fault_of
    )


def _add_observations(owner: Evidence, others: Mapping[str, Observation]) -> Evidence:
    seen = {owner.title, *(further.title for further in owner.also)}
    more = tuple(one for title, one in others.items() if title not in seen)
    return owner.model_copy(update={"also": (*owner.also, *more)}) if more else owner


def _set_properties_apart(code: ChallengeCode, items: Sequence[Evidence]) -> list[Evidence]:
    """Mark criteria as not run if another fault hides their subject, as obstacles hide properties.

    The cause is the most severe criterion with the same failure. Failing that, it is the most severe that judges
    values, unless a call failed or the property's owner is known.
    """
    properties = {c.id for c in code.challenge.criteria if c.judges == "property"}
    costs = {c.id for c in code.challenge.criteria if any(p.measures or p.measures_cost for p in code.probes_of(c))}
    blocked = {e.criterion for e in items if e.obstacle is Obstacle.FAULT or (e.obstacle and e.criterion in properties)}
    charged = sorted((e for e in items if e.faulty and e.criterion not in blocked), key=lambda e: -e.severity.weight)

    def cause(e: Evidence) -> str | None:
        titles = {e.title, *(further.title for further in e.also)}
        same = [o.criterion for o in charged if titles & {o.title, *(further.title for further in o.also)}]
        values = [o.criterion for o in charged if o.criterion not in properties | costs]
        return next(iter(same if e.obstacle is Obstacle.CALL or e.fault_of else same + values), None)

    def settle(e: Evidence) -> Evidence:
        other = cause(e) if e.criterion in blocked else None
        if other is None and not (e.obstacle is Obstacle.FAULT and e.fault_of and charged):
            return e
        why = _format_not_apart(other) if other else "what fails here fails with nothing special as well"
        return _replace_fields(e, **UNSHOWN, outcome=Outcome.NOT_RUN, rests_on=other, detail=f"{why}: {e.seen}")

    return [settle(e) for e in items]


def _format_not_apart(other: str) -> str:
    return f"could not be told apart from `{other}`, which fails"


def _shows_past(thresholds: Iterable[Threshold], other: Evidence) -> bool:
    case = other.counterexample.case if other.counterexample else {}
    sizes = [(threshold, case.get(threshold.axis)) for threshold in thresholds]
    return all(isinstance(size, int) and threshold.goes_wrong_at(size) for threshold, size in sizes)


def _may_be_anothers(code: ChallengeCode, evidence: Evidence) -> bool:
    probes = [(code.probes[example.probe], example.measured) for example in _collect_examples(evidence)]
    return all(probe.drawn is not None or (probe.measures and not figures) for probe, figures in probes)


def _collect_examples(e: Evidence) -> list[Counterexample]:
    examples = [e.counterexample, *(further.counterexample for further in e.also)]
    return [example for example in examples if example]


def _fails_without_it(code: ChallengeCode, e: Evidence) -> bool:
    asked = [example.asks_for for example in _collect_examples(e) if example.asks_for is not None]
    return bool(code.challenge.criterion(e.criterion).capability) and any(e.criterion not in each for each in asked)


def _filter_reaching(code: ChallengeCode, others: Sequence[str], e: Evidence) -> list[str]:
    """Return the possible causes if each example has one; an option needs programs that use it."""

    def reaches(id: str, example: Counterexample) -> bool:
        return example.asks_for is None or id in example.asks_for or not code.challenge.criterion(id).capability

    causes = [[id for id in others if reaches(id, example)] for example in _collect_examples(e)]
    return [id for id in others if not causes or any(id in each for each in causes)] if all(causes) else []


def _measures(code: ChallengeCode, e: Evidence) -> bool:
    return any(code.probes[name].measures for name in e.failed_probes)


def _measures_cost(code: ChallengeCode, e: Evidence) -> bool:
    return any(
        p.measures or p.measures_cost or p.clocked for p in code.probes_of(code.challenge.criterion(e.criterion))
    )


def _has_fixed_cases(code: ChallengeCode, e: Evidence) -> bool:
    probes = code.probes_of(code.challenge.criterion(e.criterion))
    return not _measures(code, e) and any(probe.drawn is None and not probe.apart for probe in probes)


def _raises_as(code: ChallengeCode, e: Evidence, other: Evidence) -> bool:
    # an exception in the other's fixed cases may mean a missing function, a fault of each criterion that calls it
    called = _raises_where(e, other)
    values = code.challenge.criterion(other.criterion).judges == "value" and other.obstacle is not Obstacle.FAULT
    return called and values and _may_be_anothers(code, other) and other.severity.weight > e.severity.weight


def _raises_where(e: Evidence, other: Evidence) -> bool:
    """Return whether a call fails with the exceptions that another criterion saw, at the same lines."""
    return e.obstacle is Obstacle.CALL and bool(e.locations) and _list_ways(e) <= _list_ways(other)


def _list_ways(e: Evidence) -> set[object]:

    def way(seen: Evidence | Observation) -> object:
        if seen.locations:  # texts mention sizes, which vary
            return re.sub(r"\d+", "0", seen.detail), seen.locations
        if e.obstacle is Obstacle.CALL:
            return seen.title
        return "values" if seen.fault_of in ("", e.criterion) else seen.fault_of

    return {way(e), *map(way, e.also)}


def _replace_fields(evidence: Evidence, **changes: object) -> Evidence:
    return Evidence.model_validate({**evidence.model_dump(), **changes})
