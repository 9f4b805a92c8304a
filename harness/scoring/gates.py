"""Gates: ceilings on marks that other merit cannot lift.

The overall is at most the ceiling minus `UNMET_POINTS` times the unmet share of the assessed critical weight, so that
critical criteria order the submissions under one ceiling.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from harness.model import NO_ANSWER, Challenge, Evidence, Gate, Severity
from harness.numerics.rounding import exact
from harness.scoring.marks import ExactMark

CORRECTNESS = "correctness"
UNBUILT_CORRECTNESS = 0.0
UNBUILT_OVERALL = 30.0
CRITICAL_DIMENSION = 40.0
ONE_CRITICAL_OVERALL = 59.0
MORE_CRITICAL_OVERALL = 49.0
UNMET_POINTS = 10
"""Points below the ceiling of an overall that meets no critical criterion."""


def gates(
    challenge: Challenge, evidence: Sequence[Evidence], *, built: bool, answered: bool = True
) -> tuple[Gate, ...]:
    """Return the strictest ceiling on each mark: the overall's first, then dimensions in rubric order.

    Args:
        built: true if the submission imported, compiled and linked, with all its functions.
        answered: false if the reply holds nothing to build.
    """
    order = [c.id for c in challenge.criteria]
    failed = sorted((e for e in evidence if e.gates), key=lambda e: order.index(e.criterion))
    every = [*([] if built else _gate_unbuilt(challenge, answered)), *_gate_critical(challenge, failed)]
    targets = [None, *(d.id for d in challenge.dimensions)]
    own = [[gate for gate in every if gate.dimension == target] for target in targets]
    found = [min(each, key=lambda gate: gate.ceiling) for each in own if each]
    return tuple(
        gate if gate.dimension else gate.model_copy(update={"unmet": compute_unmet_share(evidence)}) for gate in found
    )


def ceiling(gates: Iterable[Gate], dimension: str | None) -> float | None:
    """Return the lowest ceiling on a dimension (the overall for None), or None."""
    return min((gate.ceiling for gate in gates if gate.dimension == dimension), default=None)


def ceilings(failed: Sequence[str], *, built: bool) -> dict[str | None, float]:
    """Return the lowest ceiling by dimension, that on the overall under None.

    Args:
        failed: dimension of each criterion that caps marks.
    """
    found: dict[str | None, float] = dict.fromkeys(failed, CRITICAL_DIMENSION)
    if failed:
        found[None] = ONE_CRITICAL_OVERALL if len(failed) == 1 else MORE_CRITICAL_OVERALL
    if not built:
        found |= {CORRECTNESS: UNBUILT_CORRECTNESS, None: UNBUILT_OVERALL}
    return found


def compute_critical_mark(evidence: Iterable[Evidence]) -> ExactMark:
    """Return the mark of the critical criteria; 100 without any."""
    critical = [e for e in evidence if e.severity is Severity.CRITICAL]
    return ExactMark.of(critical) if critical else ExactMark(*map(Fraction, (100, 100, 100, 1)))


def compute_unmet_share(evidence: Iterable[Evidence]) -> float:
    """Return the unmet share of the assessed critical weight; 1 without any."""
    return float(1 - (compute_critical_mark(evidence).point or Fraction(0)) / 100)


def lower_ceiling(ceiling: float, met: Fraction) -> Fraction:
    """Return the highest overall under a ceiling; `met` is the met percentage of the assessed critical weight."""
    return exact(ceiling) - UNMET_POINTS * (1 - met / 100)


def highest_overall(evidence: Iterable[Evidence], *, built: bool) -> float:
    """Return the highest possible overall under any rubric weights."""
    return ceilings([e.dimension for e in evidence if e.gates], built=built).get(None, 100.0)


def _gate_unbuilt(challenge: Challenge, answered: bool) -> list[Gate]:
    reason = "the submission does not build: nothing of it could be run" if answered else NO_ANSWER
    found = [Gate(criteria=(), dimension=None, ceiling=UNBUILT_OVERALL, reason=reason)]
    if any(d.id == CORRECTNESS for d in challenge.dimensions):
        found.append(Gate(criteria=(), dimension=CORRECTNESS, ceiling=UNBUILT_CORRECTNESS, reason=reason))
    return found


def _gate_critical(challenge: Challenge, failed: Sequence[Evidence]) -> list[Gate]:
    if not failed:
        return []
    top = ONE_CRITICAL_OVERALL if len(failed) == 1 else MORE_CRITICAL_OVERALL
    found = [_make_gate(failed, None, top, "")]
    for dimension in challenge.dimensions:
        own = [e for e in failed if e.dimension == dimension.id]
        if own:
            found.append(_make_gate(own, dimension.id, CRITICAL_DIMENSION, f" of {dimension.title}"))
    return found


def _make_gate(failed: Sequence[Evidence], dimension: str | None, top: float, place: str) -> Gate:
    names = tuple(e.criterion for e in failed)
    kinds = {"a critical criterion" if e.severity is Severity.CRITICAL else "an option that is claimed" for e in failed}
    many = "critical criteria" if kinds == {"a critical criterion"} else "critical criteria or options that are claimed"
    count = min(kinds) if len(names) == 1 else f"{len(names)} {many}"
    reason = f"{count}{place} failed: {', '.join(names)}"
    return Gate(criteria=names, dimension=dimension, ceiling=top, reason=reason)
