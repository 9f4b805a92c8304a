"""Score of one submission under the gates.

A dimension is 100 times the satisfied over the assessed severity weight. The overall is the mean of the dimensions
under their declared weights, rounded half up. A dimension with any assessed criterion enters with its whole weight, so
that assessing one more criterion that passes never lowers the overall. An unassessed dimension counts in the overall's
interval only. The interval covers unassessed weight alone: a gate needs an observed failure.

While the anchor is unassessed (the device cannot run the submission), its dimension and the overall have no point.
Otherwise code that never ran would outrank code that did.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.errors import JudgeError
from harness.model import Challenge, Dimension, Evidence, Gate, Score
from harness.numerics.rounding import exact
from harness.scoring.gates import ceiling, compute_critical_mark, gates, lower_ceiling
from harness.scoring.marks import ExactMark, compute_mean


@dataclass(frozen=True)
class Scored:
    """Scores of one submission, gates applied.

    Attributes:
        overall: whole points.
        dimensions: scores in rubric order.
        gates: ceilings that apply, reached or not.
    """

    overall: Score
    dimensions: dict[str, Score]
    gates: tuple[Gate, ...]


def score(
    challenge: Challenge,
    evidence: Sequence[Evidence],
    *,
    built: bool,
    answered: bool = True,
    unmarked: Collection[str] = (),
) -> Scored:
    """Score one submission; `built` and `answered` are as in `gates.gates`.

    Args:
        unmarked: criteria to leave out of all marks.

    Raises:
        JudgeError: evidence is missing, duplicated, or of another rubric.
    """
    _check_complete(challenge, evidence)
    evidence = [e for e in evidence if e.criterion not in unmarked]
    ceilings = gates(challenge, evidence, built=built, answered=answered)
    own: dict[str, list[Evidence]] = {d.id: [] for d in challenge.dimensions}
    for each in evidence:
        own[each.dimension].append(each)
    marks = {id: ExactMark.of(all).cap(ceiling(ceilings, id)) for id, all in own.items() if all}
    dimensions = [d for d in challenge.dimensions if d.id in marks]
    overall = overall_score(dimensions, marks, _compute_highest(evidence, ceiling(ceilings, None)))
    anchor = next(e for e in evidence if e.criterion == challenge.anchor)
    if built and not anchor.outcome.assessed:
        overall = overall.model_copy(update={"score": None})
        marks[anchor.dimension] = replace(marks[anchor.dimension], point=None)
    return Scored(overall, {id: mark.to_score() for id, mark in marks.items()}, ceilings)


def dimension_score(evidence: Iterable[Evidence]) -> Score:
    """Return the unrounded mark of one dimension's evidence; see `ExactMark.of`."""
    return ExactMark.of(evidence).to_score()


def overall_score(
    dimensions: Sequence[Dimension], marks: Mapping[str, ExactMark], highest: ExactMark | None = None
) -> Score:
    """Return the overall in whole points.

    Args:
        marks: mark of each dimension, gates applied.
        highest: limit of the overall and its interval.
    """
    weights = [exact(d.weight) for d in dimensions]
    all = [marks[d.id] for d in dimensions]
    assessed = [(mark.point, weight) for mark, weight in zip(all, weights, strict=True) if mark.point is not None]
    point = compute_mean([p for p, _ in assessed], [w for _, w in assessed]) if assessed else None
    low, high, coverage = (
        compute_mean(parts, weights)
        for parts in ([m.low for m in all], [m.high for m in all], [m.coverage for m in all])
    )
    mark = ExactMark(point, low, high, coverage)
    return (mark.at_most(highest) if highest else mark).round_half_up().to_score()


def _compute_highest(evidence: Iterable[Evidence], ceiling: float | None) -> ExactMark | None:
    if ceiling is None:
        return None
    met = compute_critical_mark(evidence)
    low, high = lower_ceiling(ceiling, met.low), lower_ceiling(ceiling, met.high)
    return ExactMark(low if met.point is None else lower_ceiling(ceiling, met.point), low, high, met.coverage)


def _check_complete(challenge: Challenge, evidence: Sequence[Evidence]) -> None:
    # a missing entry would shrink the denominator unnoticed
    given = Counter(e.criterion for e in evidence)
    wanted = {c.id: c for c in challenge.criteria}
    for problem, names in (
        ("no evidence for", [id for id in wanted if id not in given]),
        ("evidence for unknown", [id for id in given if id not in wanted]),
        ("more than one evidence for", [id for id in wanted if given[id] > 1]),
    ):
        if names:
            raise JudgeError(f"{challenge.id}: {problem} criterion {names[0]!r}")
    for item in evidence:
        criterion = wanted[item.criterion]
        if (item.dimension, item.severity) != (criterion.dimension, criterion.severity):
            raise JudgeError(f"{challenge.id}: evidence for {item.criterion!r} disagrees with the rubric")
