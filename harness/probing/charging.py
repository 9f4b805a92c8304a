"""Which criterion is charged with a fault that several probes see, and what the others are then worth."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from harness.model import UNBUILT, Challenge, Counterexample, Evidence, Observation, Obstacle, Outcome, Threshold
from harness.probing.code import ChallengeCode
from harness.probing.sizes import DRAW


def anchored(evidence: Iterable[Evidence], anchor: str, probed: set[str]) -> list[Evidence]:
    """Fail every probed criterion that passed, in part or whole, or was not assessed, while the anchor fails.

    Relations between an answer's own outputs can hold for an answer that is wrong everywhere (zeros are linear); such
    a criterion earns nothing, and gates nothing either. Nor does one that no device here could assess: to be measured
    must not cost an answer anything.
    """
    items = list(evidence)
    failed = any(e.criterion == anchor and e.outcome is Outcome.FAILED for e in items)
    if not failed:
        return items
    stripped = {"outcome": Outcome.FAILED, "fraction": None, "title": "", "rests_on": anchor}
    excused = (Outcome.UNSUPPORTED, Outcome.NOT_RUN)

    def settled(e: Evidence) -> Evidence:
        if e.criterion not in probed or (e.satisfied == 0 and e.outcome not in excused):
            return e
        detail = f"{_credit(e)} while `{anchor}` fails"
        return _with(e, **stripped, own_outcome=e.outcome, detail=detail)

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
    return [
        _with(e, **stripped, own_outcome=e.outcome, detail=f"{_credit(e)} while {why}")
        if e.criterion in executed and e.satisfied else e
        for e in items
    ]  # fmt: skip


def _credit(e: Evidence) -> str:
    """Say what a criterion showed before its credit was taken."""
    if not e.satisfied:
        return "was not assessed, and could earn nothing"
    return "held, but earns nothing" if e.satisfied == 1 else "held in part, but earns nothing"


UNSHOWN: Mapping[str, object] = {
    "title": "", "measured": {}, "locations": (), "counterexample": None, "diagnosis": None, "loss": None, "also": (),
    "thresholds": (), "defect": "", "linked_to": None, "obstacle": None, "wrong_option": False,
    "unserved": (),
}  # fmt: skip
"""Fields of evidence that is no finding."""


def charged_once(code: ChallengeCode, evidence: Iterable[Evidence], *, marked: bool = True) -> list[Evidence]:
    """Take criteria out of the findings where what their drawn cases saw may be another criterion's fault.

    A criterion that rests on others is not charged again for a fault that shows at plain sizes, which is one without a
    threshold or past it in the other's case, where one of the others failed by itself and is at least as severe. What a
    probe of fixed cases saw of a feature is charged all the same, unless it was to measure something and came to no
    figure, or saw the very exception that a more severe criterion of drawn cases alone is charged with. Where all of
    these pass, the feature is not assessed if its drawn cases fail in no other way than the other's, or if one of the
    shortest programs that fail makes no use of it. An option is the cause only of programs that make use of it. A
    property is not judged where another criterion's fault kept it from being seen. What breaks another's property is
    that one's, see `_left_to_owners`.

    Args:
        code: the challenge's.
        evidence: of its criteria.
        marked: whether marks come of it: then the anchor stays failed where another's fault keeps it from holding.
    """
    items = _left_to_owners(code, list(evidence), marked)
    rubric = {c.id: c for c in code.challenge.criteria}
    failed = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty}

    def cause(e: Evidence) -> str | None:
        """The criterion that is charged for what this one saw; None where it is charged itself."""
        if e.fault_of == e.criterion:
            return None
        weight, others = e.severity.weight, [id for id in rubric[e.criterion].rests_on if id in failed]
        if not _may_be_anothers(code, e):
            others = [id for id, o in failed.items() if _raises_as(code, e, o) and cause(o) is None]
        elif _has_fixed_cases(code, e) and not _fails_without_it(code, e):
            others = [id for id in others if _ways(e) <= _ways(failed[id])]
        others = [id for id in others if failed[id].severity.weight >= weight and _shows_past(e.thresholds, failed[id])]
        others = _reaching(code, others, e)
        # what a probe traced to another fault is the last to be charged
        other = min(others, key=lambda id: failed[id].obstacle is Obstacle.FAULT, default=None)
        return None if other is None else cause(failed[other]) or other

    def settled(e: Evidence) -> Evidence:
        other = cause(e) if e.criterion in failed else None
        if other is None:
            return e
        if _has_fixed_cases(code, e) and all(DRAW in example.case for example in _examples(e)):
            alike = f"drawn histories fail while `{other}` does, and in no other way"
            plain = f"a drawn history that makes no use of it fails, too, while `{other}` does"
            detail = f"its fixed cases pass; {plain if _fails_without_it(code, e) else alike}"
            return _with(e, **UNSHOWN, outcome=Outcome.NOT_RUN, detail=detail)
        why = f"was not measured, for `{other}` fails" if _measures(code, e) else _not_apart(other)
        return _with(e, **UNSHOWN, outcome=Outcome.NOT_RUN, rests_on=other, detail=f"{why}: {e.seen}")

    return _properties_apart(code, [settled(e) for e in items])


def _left_to_owners(code: ChallengeCode, items: Sequence[Evidence], marked: bool) -> list[Evidence]:
    """Leave each failure to the criterion whose property it breaks, where that one is charged with it.

    The owner shows what it is charged with. A failure stays where it is if it shows at other sizes only, beyond a
    threshold. Of a criterion that saw further failures, those are left to it that nobody else is charged with: they
    are its own if fixed cases showed some. The anchor stays failed where marks come of it, for nothing shows that it
    holds.
    """
    anchor = code.challenge.anchor if marked else ""
    charged = {e.criterion: e for e in items if e.outcome is Outcome.FAILED and e.faulty and not e.fault_of}
    shown = defaultdict[str, dict[str, Observation]](dict)

    def own(e: Evidence) -> Evidence:
        return e if _may_be_anothers(code, e) else e.model_copy(update={"fault_of": e.criterion})

    def settled(e: Evidence) -> Evidence:
        if not e.faulty:
            return e
        left = tuple(further for further in e.also if further.fault_of not in charged)
        for further in e.also:
            shown[further.fault_of].setdefault(further.title, further)
        owner = charged.get(e.fault_of)
        if owner is None or not _shows_past(e.thresholds, owner):
            rest = e.model_copy(update={"also": left})
            return own(rest) if len(left) < len(e.also) else rest
        shown[owner.criterion].setdefault(e.title, _observation(e))
        if left:
            return own(e.model_copy(update={**UNSHOWN, **dict(left[0]), "also": left[1:]}))
        if e.criterion == anchor:
            why = f"was not seen to hold, for `{owner.criterion}` fails"
            kept = {"outcome": Outcome.FAILED, "own_outcome": Outcome.FAILED}
        else:
            why, kept = _not_apart(owner.criterion), {"outcome": Outcome.NOT_RUN}
        return _with(e, **UNSHOWN, **kept, rests_on=owner.criterion, detail=f"{why}: {e.seen}")

    found = [settled(e) for e in items]
    return [_showing(e, shown[e.criterion]) if e.criterion in charged else e for e in found]


def _observation(e: Evidence) -> Observation:
    return Observation(
        title=e.title, detail=e.detail, locations=e.locations, counterexample=e.counterexample, fault_of=e.fault_of
    )


def _showing(owner: Evidence, others: Mapping[str, Observation]) -> Evidence:
    """Return the evidence of a criterion with what others saw of its property, where its own probes saw no such."""
    seen = {owner.title, *(further.title for further in owner.also)}
    more = tuple(one for title, one in others.items() if title not in seen)
    return owner.model_copy(update={"also": (*owner.also, *more)}) if more else owner


def _properties_apart(code: ChallengeCode, items: Sequence[Evidence]) -> list[Evidence]:
    """Leave unjudged what a fault kept from being seen, where another criterion is charged with that fault.

    That is a property, or what a probe traced to another fault, such as one that its plain case shows as well. The
    cause is a criterion in which the same failure is seen and that judges values, or saw its property broken; else,
    unless it is a call that failed, one that judges values wrong. A property of which it is known whose it is has no
    other cause.
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
    """Return whether every probe that failed drew its cases, or has no figure of what it was to measure."""
    probes = [(code.probes[example.probe], example.measured) for example in _examples(evidence)]
    return all(probe.drawn is not None or (probe.measures and not figures) for probe, figures in probes)


def _examples(e: Evidence) -> list[Counterexample]:
    examples = [e.counterexample, *(further.counterexample for further in e.also)]
    return [example for example in examples if example]


def _fails_without_it(code: ChallengeCode, e: Evidence) -> bool:
    """Return whether it is an option, and a program that fails makes no use of it."""
    asked = [example.asks_for for example in _examples(e) if example.asks_for is not None]
    return bool(code.challenge.criterion(e.criterion).capability) and any(e.criterion not in each for each in asked)


def _reaching(code: ChallengeCode, others: Sequence[str], e: Evidence) -> list[str]:
    """Return which of some criteria may be the cause; none if an example has none. An option needs its programs."""

    def reaches(id: str, example: Counterexample) -> bool:
        return example.asks_for is None or id in example.asks_for or not code.challenge.criterion(id).capability

    causes = [[id for id in others if reaches(id, example)] for example in _examples(e)]
    return [id for id in others if not causes or any(id in each for each in causes)] if all(causes) else []


def _measures(code: ChallengeCode, e: Evidence) -> bool:
    return any(code.probes[name].measures for name in e.failed_probes)


def _has_fixed_cases(code: ChallengeCode, e: Evidence) -> bool:
    """Return whether its criterion asks in fixed cases, too, what the drawn ones ask that failed."""
    probes = code.probes_of(code.challenge.criterion(e.criterion))
    return not _measures(code, e) and any(probe.drawn is None and not probe.apart for probe in probes)


def _raises_as(code: ChallengeCode, e: Evidence, other: Evidence) -> bool:
    """Return whether what fails is an exception that a more severe criterion saw as well, in drawn cases alone.

    Where fixed cases of that one raise, a whole function may be missing, which every criterion that asks for it lacks.
    """
    called = e.obstacle is Obstacle.CALL and bool(e.locations) and _ways(e) <= _ways(other)
    values = code.challenge.criterion(other.criterion).judges == "value" and other.obstacle is not Obstacle.FAULT
    return called and values and _may_be_anothers(code, other) and other.severity.weight > e.severity.weight


def _ways(e: Evidence) -> set[object]:
    """Return in which ways a criterion fails: each exception by words and place, wrong values, each property broken.

    Sizes in the words of an exception are those of the case that met it.
    """

    def way(seen: Evidence | Observation) -> object:
        if seen.locations:
            return re.sub(r"\d+", "0", seen.detail), seen.locations
        if e.obstacle is Obstacle.CALL:
            return seen.title
        return "values" if seen.fault_of in ("", e.criterion) else seen.fault_of

    return {way(e), *map(way, e.also)}


def _with(evidence: Evidence, **changes: object) -> Evidence:
    return Evidence.model_validate({**evidence.model_dump(), **changes})
