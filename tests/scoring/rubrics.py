"""Rubrics and evidence to score."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.model import (
    Challenge,
    Criterion,
    Dimension,
    Environment,
    Evidence,
    Limits,
    Outcome,
    Provenance,
    Record,
    Score,
    Severity,
    Status,
    Tier,
)

ASSESSED = {Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL}


def rubric(shape: Mapping[str, Sequence[Severity]], weights: Mapping[str, float] | None = None) -> Challenge:
    """A challenge whose dimensions hold criteria of the severities given; criterion `i` of `d` is called `d.i`."""
    criteria = tuple(
        Criterion(id=f"{d}.{i}", dimension=d, severity=severity, title=f"Requirement {i} of {d}.", probes=("probe",))
        for d, severities in shape.items()
        for i, severity in enumerate(severities)
    )
    return Challenge(
        id="task",
        title="Task",
        summary="A task.",
        anchor=criteria[0].id,
        contract={"functions": ("forward",)},
        dimensions=tuple(Dimension(id=d, title=d.title(), weight=(weights or {}).get(d, 1.0)) for d in shape),
        criteria=criteria,
    )


def seen(
    challenge: Challenge, criterion: str, outcome: Outcome, fraction: float | None = None, rests_on: str | None = None,
    **more: Any,
) -> Evidence:  # fmt: skip
    known = challenge.criterion(criterion)
    detail = "" if outcome in ASSESSED else "for a reason"
    return Evidence.of(known, outcome, fraction=fraction, detail=detail, rests_on=rests_on, **more)


def evidence(challenge: Challenge, outcomes: Mapping[str, Outcome | float] | None = None) -> list[Evidence]:
    """Evidence for every criterion: passed, unless `outcomes` says otherwise; a number is the fraction met."""
    found = []
    for criterion in challenge.criteria:
        outcome = (outcomes or {}).get(criterion.id, Outcome.PASSED)
        if isinstance(outcome, float):
            found.append(seen(challenge, criterion.id, Outcome.PARTIAL, outcome))
        else:
            found.append(seen(challenge, criterion.id, outcome))
    return found


def graded(model: str, challenge: str, point: float | None, coverage: float = 0.9, **changes: Any) -> Record:
    """A record of which only the overall matters."""
    fields: dict[str, Any] = {
        "provenance": Provenance.MODEL_OUTPUT,
        "status": Status.GRADED if point is not None else Status.JUDGE_ERROR,
        "ranked": True,
        "overall": Score(score=point, low=0, high=100, coverage=coverage),
        "error": None if point is not None else "gone",
    }
    environment = Environment(
        tier=Tier.A, device="cpu", cpu="", platform="", python="3.11", packages={}, harness="0.1.0"
    )  # fmt: skip
    return Record(
        model=model, challenge=challenge, key="k", seed=1, made="2026-11-20T12:00:00Z", seconds={}, dimensions={},
        gates=(), evidence=(), environment=environment, limits=Limits(), **fields | changes,
    )  # fmt: skip
