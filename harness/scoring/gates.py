"""Ceilings on marks: what no amount of other merit can make up for.

Critical criteria order the marks under a ceiling: the overall is at most the ceiling, less `UNMET_POINTS` times the
share not met of the critical weight assessed. So of two submissions that other merit lifts to the same ceiling, the one
that meets more critical criteria has the higher mark.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from harness.model import Challenge, Evidence, Gate, Severity
from harness.numerics.rounding import exact
from harness.scoring.marks import ExactMark

CORRECTNESS = "correctness"
UNBUILT_CORRECTNESS = 0.0
UNBUILT_OVERALL = 30.0
CRITICAL_DIMENSION = 40.0
ONE_CRITICAL_OVERALL = 59.0
MORE_CRITICAL_OVERALL = 49.0
UNMET_POINTS = 10
"""Points below its ceiling that the overall is at most with no critical criterion met."""


def gates(challenge: Challenge, evidence: Sequence[Evidence], *, built: bool) -> tuple[Gate, ...]:
    """The ceilings that apply, the overall's first, then the dimensions' in rubric order; one for each mark.

    Args:
        challenge: the rubric.
        evidence: one entry for every criterion, in any order.
        built: whether the submission imported, compiled and linked, with all its functions.
    """
    order = [c.id for c in challenge.criteria]
    failed = sorted((e for e in evidence if e.gates), key=lambda e: order.index(e.criterion))
    every = [*_unbuilt(challenge, built), *_critical(challenge, failed)]
    targets = [None, *(d.id for d in challenge.dimensions)]
    found = [strictest for target in targets if (strictest := _strictest(every, target))]
    return tuple(gate if gate.dimension else gate.model_copy(update={"unmet": unmet(evidence)}) for gate in found)


def ceiling(gates: Iterable[Gate], dimension: str | None) -> float | None:
    """The lowest ceiling on a dimension, or on the overall for None; None when it has none."""
    return min((gate.ceiling for gate in gates if gate.dimension == dimension), default=None)


def ceilings(failed: Sequence[str], *, built: bool) -> dict[str | None, float]:
    """The lowest ceiling on each dimension that has one, and under None the one on the overall.

    Args:
        failed: for each criterion that caps marks, see `Evidence.gates`, its dimension.
        built: whether the submission imported, compiled and linked, with all its functions.
    """
    found: dict[str | None, float] = dict.fromkeys(failed, CRITICAL_DIMENSION)
    if failed:
        found[None] = ONE_CRITICAL_OVERALL if len(failed) == 1 else MORE_CRITICAL_OVERALL
    if not built:
        found |= {CORRECTNESS: UNBUILT_CORRECTNESS, None: UNBUILT_OVERALL}
    return found


def critical_met(evidence: Iterable[Evidence]) -> ExactMark:
    """Return the mark of the critical criteria alone; 100 where there are none."""
    critical = [e for e in evidence if e.severity is Severity.CRITICAL]
    return ExactMark.of(critical) if critical else ExactMark(*map(Fraction, (100, 100, 100, 1)))


def unmet(evidence: Iterable[Evidence]) -> float:
    """Return the share not met of the critical weight assessed; all of it where none was."""
    return float(1 - (critical_met(evidence).point or Fraction(0)) / 100)


def lowered(ceiling: float, met: Fraction) -> Fraction:
    """Return the highest overall under a ceiling on it.

    Args:
        ceiling: of the gate.
        met: per cent met of the critical weight assessed.
    """
    return exact(ceiling) - UNMET_POINTS * (1 - met / 100)


def highest_overall(evidence: Iterable[Evidence], *, built: bool) -> float:
    """The most that an overall can be with this evidence, whatever the rubric's weights are.

    Args:
        evidence: of the criteria of any rubric.
        built: whether the submission imported, compiled and linked, with all its functions.
    """
    return ceilings([e.dimension for e in evidence if e.gates], built=built).get(None, 100.0)


def _unbuilt(challenge: Challenge, built: bool) -> list[Gate]:
    if built:
        return []
    reason = "the submission does not build: nothing of it could be run"
    found = [Gate(criteria=(), dimension=None, ceiling=UNBUILT_OVERALL, reason=reason)]
    if any(d.id == CORRECTNESS for d in challenge.dimensions):
        found.append(Gate(criteria=(), dimension=CORRECTNESS, ceiling=UNBUILT_CORRECTNESS, reason=reason))
    return found


def _critical(challenge: Challenge, failed: Sequence[Evidence]) -> list[Gate]:
    if not failed:
        return []
    top = ONE_CRITICAL_OVERALL if len(failed) == 1 else MORE_CRITICAL_OVERALL
    found = [_gate(failed, None, top, "")]
    for dimension in challenge.dimensions:
        own = [e for e in failed if e.dimension == dimension.id]
        if own:
            found.append(_gate(own, dimension.id, CRITICAL_DIMENSION, f" of {dimension.title}"))
    return found


def _gate(failed: Sequence[Evidence], dimension: str | None, top: float, place: str) -> Gate:
    names = tuple(e.criterion for e in failed)
    kinds = {"a critical criterion" if e.severity is Severity.CRITICAL else "an option that is claimed" for e in failed}
    many = "critical criteria" if kinds == {"a critical criterion"} else "critical criteria or options that are claimed"
    count = min(kinds) if len(names) == 1 else f"{len(names)} {many}"
    reason = f"{count}{place} failed: {', '.join(names)}"
    return Gate(criteria=names, dimension=dimension, ceiling=top, reason=reason)


def _strictest(gates: Sequence[Gate], dimension: str | None) -> Gate | None:
    return min((g for g in gates if g.dimension == dimension), key=lambda g: g.ceiling, default=None)
