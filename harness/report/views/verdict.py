"""Verdict on one challenge: sentences that follow from the records alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model import Challenge, Outcome, Provenance, Severity, Status
from harness.report import formatting
from harness.report.views.answers import ModelAnswer
from harness.report.views.duel_words import duel_sentence
from harness.scoring.duels import attempts_duel


@dataclass(frozen=True)
class ChallengeVerdict:
    """Verdict on one challenge.

    Attributes:
        sentences: leader, margin and certainty.
        common: label and ids of criteria met by all, none or some of the models.
    """

    sentences: tuple[str, ...]
    common: tuple[tuple[str, tuple[str, ...]], ...]


def verdict(challenge: Challenge, answers: Sequence[ModelAnswer]) -> ChallengeVerdict:
    """Return the verdict from a challenge's answers, best first."""
    marked = [r for r in answers if r.marked.overall.score is not None]
    models = [r for r in marked if r.marked.provenance is not Provenance.BASELINE]
    baselines = [
        f"{r.model} is a baseline and not ranked; it has {formatting.standing(r.marked.overall)}."
        for r in marked
        if r not in models
    ]
    built = [r for r in models if r.marked.status is Status.GRADED]
    return ChallengeVerdict((*_lead(challenge, models), *_critical(models), *baselines), _common(challenge, built))


def _lead(challenge: Challenge, models: Sequence[ModelAnswer]) -> list[str]:
    if not models:
        return ["No model has a mark on this challenge."]
    first = models[0]
    models = [r for r in models if (r.marked.turns > 1) is (first.marked.turns > 1)]
    if len(models) == 1:
        return [f"{first.model} is the only model with a mark: {formatting.standing(first.marked.overall)}."]
    second = models[1]
    top, next_best = first.marked.overall, second.marked.overall
    duel = attempts_duel(challenge, first.records, second.records)
    sentences = [
        f"{first.model} has {formatting.standing(top)}; {second.model} has {formatting.standing(next_best)}.",
        duel_sentence(duel, {first.model: top, second.model: next_best}),
    ]
    sentences += _left_out(first, second)
    if duel.winner and top.low <= next_best.high:
        chance = ", or other attempts," if first.attempts or second.attempts else ""
        sentences.append(
            f"The intervals of the overalls overlap: what was not assessed{chance} could turn their order."
        )
    elif duel.winner:
        sentences.append(f"{first.model} has the higher overall whatever the parts not assessed would bring.")
    return sentences


def _left_out(first: ModelAnswer, second: ModelAnswer) -> list[str]:
    """Name the critical failures of either that the comparison lacks, because the other was not assessed there."""
    missed = [
        f"{one.model} misses {formatting.some(ids)}"
        for one, other in ((first, second), (second, first))
        if (ids := list(dict.fromkeys(id for id in _unmet_critical(one) if not _assessed(other, id))))
    ]
    return [f"Not in this comparison, for the other was not assessed there: {'; '.join(missed)} (critical)."] * bool(
        missed
    )


def _critical(models: Sequence[ModelAnswer]) -> list[str]:
    if not models:
        return []
    clean = [r.model for r in models if not _unmet_critical(r)]
    if not clean:
        return ["No model meets every critical criterion."]
    verb = "meets" if len(clean) == 1 else "meet"
    return [f"{', '.join(clean)} {verb} every critical criterion that counts and was assessed."]


def _common(challenge: Challenge, models: Sequence[ModelAnswer]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if len(models) < 2:
        return ()
    assessed = [c.id for c in challenge.criteria if all(_assessed(r, c.id) for r in models)]
    met = {id: sum(_met(r, id) for r in models) for id in assessed}
    lists = (
        ("Met by all models", tuple(id for id in assessed if met[id] == len(models))),
        ("Met in full by none", tuple(id for id in assessed if met[id] == 0)),
        ("Met in full by some", tuple(id for id in assessed if 0 < met[id] < len(models))),
    )
    return tuple((label, ids) for label, ids in lists if ids)


def _unmet_critical(answer: ModelAnswer) -> list[str]:
    return [
        e.criterion
        for record in answer.records
        for e in record.marked
        if e.severity is Severity.CRITICAL and e.outcome.assessed and e.outcome is not Outcome.PASSED
    ]


def _met(answer: ModelAnswer, criterion: str) -> bool:
    return all(
        any(e.criterion == criterion and e.outcome is Outcome.PASSED for e in record.marked)
        for record in answer.records
    )


def _assessed(answer: ModelAnswer, criterion: str) -> bool:
    return all(any(e.criterion == criterion and e.outcome.assessed for e in record.marked) for record in answer.records)
