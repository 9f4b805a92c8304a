"""Diagnoses that explain several failures by as few faults as possible."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from harness.model import Diagnosis, Evidence
from harness.probing.answers import Answer
from harness.probing.challenge_code.code import ChallengeCode
from harness.probing.challenge_code.mutants import Mutant
from harness.probing.diagnosis import ROUNDING, Fit, drop_refuted


def settle_names(code: ChallengeCode, evidence: Iterable[Evidence], answer: Answer) -> list[Evidence]:
    """Name as few faults as possible, and none that a passed criterion refutes.

    A fault that matches on the inputs of several criteria is likelier.
    """
    return drop_refuted(code, _choose_fewest_names(code, list(evidence), answer), answer)


def _choose_fewest_names(code: ChallengeCode, items: list[Evidence], answer: Answer) -> list[Evidence]:
    asked = {e.criterion: e for e in items if _get_name(e) is not None and e.counterexample is not None}
    names = {_get_name(e) for e in asked.values()}
    if len(names) < 2:
        return items
    known = [mutant for mutant in code.mutants if mutant.name in names]
    fitting = {id: _find_fitting(code, e, known, answer) for id, e in asked.items()}
    chosen: dict[str, Mutant] = {}
    # greedy set cover: take the fault that fits most of the criteria left
    while len(chosen) < len(fitting):
        left = {id: gaps for id, gaps in fitting.items() if id not in chosen}
        own = [_get_name(asked[id]) for id in left]
        best = max(known, key=lambda m: (sum(m.name in gaps for gaps in left.values()), own.count(m.name)))
        covered = [id for id, gaps in left.items() if best.name in gaps]
        if not covered:
            break
        chosen |= dict.fromkeys(covered, best)
    return [
        e.model_copy(update={"diagnosis": fitting[e.criterion][chosen[e.criterion].name]()})
        if e.criterion in chosen and chosen[e.criterion].name != _get_name(e)
        else e
        for e in items
    ]


def _get_name(evidence: Evidence) -> str | None:
    diagnosis = evidence.diagnosis
    return diagnosis.mutant if diagnosis and diagnosis.established == "agreement" else None


def _find_fitting(
    code: ChallengeCode, evidence: Evidence, known: Sequence[Mutant], answer: Answer
) -> Mapping[str, Callable[[], Diagnosis]]:
    """Return makers of diagnoses for faults as close as the diagnosed one that match as many cases."""
    seen = evidence.counterexample
    assert seen is not None and evidence.seed is not None
    fit = Fit(code, code.probes[seen.probe], [seen.case], seen, answer, evidence.seed)
    fits = {mutant.name: gap for mutant in known if (gap := fit.gap(mutant)) is not None}
    own = _get_name(evidence) or ""
    best = max(fits.get(own, ROUNDING), ROUNDING)
    near = [mutant for mutant in known if fits.get(mutant.name, math.inf) <= best]
    agreeing = {mutant.name: fit.agreeing(mutant) for mutant in near} if len(near) > 1 else {}
    kept = (mutant for mutant in near if agreeing.get(mutant.name, 0) >= agreeing.get(own, 0))
    return {mutant.name: partial(fit.make_diagnosis, [mutant], fits[mutant.name]) for mutant in kept}
