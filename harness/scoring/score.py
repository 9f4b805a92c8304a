"""The score of one submission: evidence to dimensions to the overall, under the gates.

A dimension is 100 times the satisfied over the assessed severity weight. The overall is the mean of the dimensions
under their declared weights, rounded half up. A dimension with any assessed criterion enters it with its whole
declared weight: the overall can be worked out again from the printed dimensions, and assessing one more criterion that
passes never lowers it, which it could if a dimension's weight grew with its coverage. How much of a dimension was
assessed shows in its interval and coverage, and in the overall's. An unassessed dimension has no point and
counts in the overall's interval only.

Under a ceiling on it the overall is lower by ten times the share not met of the critical weight assessed, so that
critical criteria order what other merit lifts to the ceiling.

The interval moves unassessed weight and nothing else: a gate needs a failure that was seen.

While the anchor is unassessed (the device cannot run the answer) nothing else says that the answer is right: neither
its dimension nor the overall has a point, only an interval. Else code that no device runs would outrank code that ran.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.errors import JudgeError
from harness.model import Challenge, Dimension, Evidence, Gate, Score
from harness.numerics.rounding import exact
from harness.scoring.gates import ceiling, critical_met, gates, lowered
from harness.scoring.marks import ExactMark, weighted_mean


@dataclass(frozen=True)
class Scored:
    """What the evidence of one submission comes to.

    Attributes:
        overall: in whole points, gates applied.
        dimensions: by id, in rubric order, gates applied.
        gates: the ceilings that apply, whether or not they were reached.
    """

    overall: Score
    dimensions: dict[str, Score]
    gates: tuple[Gate, ...]


def score(challenge: Challenge, evidence: Sequence[Evidence], *, built: bool, unmarked: Collection[str] = ()) -> Scored:
    """The score of one submission.

    Args:
        challenge: the rubric.
        evidence: exactly one entry for every criterion of the rubric, in any order.
        built: whether the submission imported, compiled and linked, with all its functions.
        unmarked: ids of the criteria that enter no mark, as if the rubric did not have them.

    Raises:
        JudgeError: evidence is missing, doubled, or not of this rubric.
    """
    _complete(challenge, evidence)
    evidence = [e for e in evidence if e.criterion not in unmarked]
    ceilings = gates(challenge, evidence, built=built)
    own: dict[str, list[Evidence]] = {d.id: [] for d in challenge.dimensions}
    for each in evidence:
        own[each.dimension].append(each)
    marks = {id: ExactMark.of(all).capped(ceiling(ceilings, id)) for id, all in own.items() if all}
    dimensions = [d for d in challenge.dimensions if d.id in marks]
    overall = overall_score(dimensions, marks, _highest(evidence, ceiling(ceilings, None)))
    anchor = next(e for e in evidence if e.criterion == challenge.anchor)
    if built and not anchor.outcome.assessed:
        overall = overall.model_copy(update={"score": None})
        marks[anchor.dimension] = replace(marks[anchor.dimension], point=None)
    return Scored(overall, {id: mark.stated() for id, mark in marks.items()}, ceilings)


def dimension_score(evidence: Iterable[Evidence]) -> Score:
    """The mark of one dimension from its evidence, before gates and not rounded.

    Raises:
        ValueError: there is no evidence.
    """
    return ExactMark.of(evidence).stated()


def overall_score(
    dimensions: Sequence[Dimension], marks: Mapping[str, ExactMark], highest: ExactMark | None = None
) -> Score:
    """The overall in whole points.

    Args:
        dimensions: the rubric's headings.
        marks: one for each of them, by id, gates applied.
        highest: what a ceiling leaves of the overall and of its interval, if there is one.
    """
    weights = [exact(d.weight) for d in dimensions]
    all = [marks[d.id] for d in dimensions]
    assessed = [(mark.point, weight) for mark, weight in zip(all, weights, strict=True) if mark.point is not None]
    point = weighted_mean([p for p, _ in assessed], [w for _, w in assessed]) if assessed else None
    low, high, coverage = (
        weighted_mean(parts, weights)
        for parts in ([m.low for m in all], [m.high for m in all], [m.coverage for m in all])
    )
    mark = ExactMark(point, low, high, coverage)
    return (mark.at_most(highest) if highest else mark).rounded().stated()


def _highest(evidence: Iterable[Evidence], ceiling: float | None) -> ExactMark | None:
    """Return the most that a ceiling leaves of the overall, with its interval; None where there is no ceiling."""
    if ceiling is None:
        return None
    met = critical_met(evidence)
    low, high = lowered(ceiling, met.low), lowered(ceiling, met.high)
    return ExactMark(low if met.point is None else lowered(ceiling, met.point), low, high, met.coverage)


def _complete(challenge: Challenge, evidence: Sequence[Evidence]) -> None:
    """A criterion without evidence would leave the denominator unseen."""
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
