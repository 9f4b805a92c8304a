"""Two models head to head, criterion by criterion."""

import math
from collections.abc import Collection as Names
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model import Challenge, Comparison, Provenance
from harness.report import formatting
from harness.report.views.answers import answers
from harness.report.views.attempts import mean_of, passed
from harness.report.views.comparison import CriterionPair, compare_challenge
from harness.report.views.criterion_sides import sides
from harness.report.views.inputs import ReportInputs
from harness.report.views.mark_source import Marks, MarkSource
from harness.scoring.attempts import Attempts
from harness.scoring.duels import Duel, HeadToHead, tally
from harness.scoring.marked import Marked


@dataclass(frozen=True)
class EdgeRow:
    """One criterion of both models; `edge` is the model that earned more, or empty."""

    criterion: str
    left: str
    right: str
    edge: str
    note: str = ""


@dataclass(frozen=True)
class HeadToHeadSection:
    """One challenge: the winner, why, and the criteria.

    Attributes:
        counted: True if the tally counts it.
        left, right: marks in words.
        winner: a model, or "split".
        lines: criteria that differ or have figures.
        alike: ids of the other criteria assessed on both.
        open: ids of criteria assessed on one side only, or neither.
        edges: number of edges of each side, in words.
    """

    challenge: Challenge
    left: str
    right: str
    winner: str
    why: str
    lines: tuple[EdgeRow, ...]
    alike: tuple[str, ...]
    open: tuple[str, ...]
    edges: str
    counted: bool


@dataclass(frozen=True)
class HeadToHeadReport:
    """Two models on all challenges with marks of both."""

    source: MarkSource
    left: str
    right: str
    provenance: tuple[str, str]
    tally: str
    summary: str
    sections: tuple[HeadToHeadSection, ...]


class HeadToHeads:
    """Reports of any two models by the marks of one source; builds once what all pairs share."""

    def __init__(self, inputs: ReportInputs, marks: Marks, counted: Names[str] | None = None) -> None:
        """Collect what all pairs share.

        Args:
            counted: ids of the challenges in the tally; None for all.
        """
        self._marks = marks
        self._counted = {c.id for c in inputs.challenges} if counted is None else {*counted}
        self._challenges = {c.id: c for c in inputs.challenges}
        self._sides = {(a.model, a.challenge): sides(a) for a in answers(inputs.records)}
        self._standings = {(m.model, m.challenge): _standing(m) for m in marks.marked}
        self._provenances: dict[str, set[Provenance]] = {}
        for marked in marks.marked:
            self._provenances.setdefault(marked.model, set()).add(marked.provenance)

    def of(self, left: str, right: str) -> HeadToHeadReport:
        """Compare two models, in the order of the columns."""
        results = sorted(self._marks.between(left, right), key=lambda f: f.challenge)
        sections = [
            self._section(one, left, right) for one in results if one.played and one.challenge in self._challenges
        ]
        lead, behind = tally(left, right, [f for f in results if f.challenge in self._counted])
        return HeadToHeadReport(
            self._marks.source,
            left,
            right,
            (self._from(left), self._from(right)),
            formatting.score(lead, behind),
            _summary(left, right, lead, behind),
            tuple(sections),
        )

    def _from(self, model: str) -> str:
        return formatting.provenances(sorted(self._provenances.get(model, ())))

    def _section(self, result: HeadToHead, left: str, right: str) -> HeadToHeadSection:
        challenge = self._challenges[result.challenge]
        first, second = ((model, challenge.id) for model in (left, right))
        if isinstance(result, Duel):
            seen = compare_challenge(challenge, self._sides[first], self._sides[second], result)
            lines = tuple(_line(row, left, right) for row in seen.rows if row.lead or (row.lead == 0 and row.measured))
            alike = tuple(row.criterion.id for row in seen.rows if row.lead == 0 and not row.measured)
            unseen = tuple(row.criterion.id for row in seen.rows if row.lead is None)
            why = seen.result
        else:
            lines = _said(result, left) if isinstance(result, Comparison) else ()
            alike = unseen = ()
            why = f"As the judge gave it: {f'won by {result.winner}' if result.winner else 'a split'}."
        return HeadToHeadSection(
            challenge,
            self._standings.get(first, ""),
            self._standings.get(second, ""),
            result.winner or "split",
            why,
            lines,
            alike,
            unseen,
            _edges(left, right, lines),
            challenge.id in self._counted,
        )


def _standing(marked: Marked) -> str:
    mark = formatting.standing(marked.overall)
    return f"{mark}; {mean_of(marked)}; {passed(marked)} pass" if isinstance(marked, Attempts) else mark


def _summary(left: str, right: str, lead: float, behind: float) -> str:
    if lead == behind:
        return f"{left} and {right} are level"
    return f"{left} is ahead of {right}" if lead > behind else f"{right} is ahead of {left}"


def _said(table: Comparison, left: str) -> tuple[EdgeRow, ...]:
    return tuple(
        EdgeRow(
            row.criterion,
            *((row.left, row.right) if table.left == left else (row.right, row.left)),
            row.edge or "",
            row.note,
        )
        for row in table.rows
    )


def _line(row: CriterionPair, left: str, right: str) -> EdgeRow:
    edge = "" if not row.lead else (left if row.lead > 0 else right)
    title = f"{row.criterion.title.rstrip('.')} ({row.criterion.severity.value})"
    return EdgeRow(title, row.left.text, row.right.text, edge)


def _edges(left: str, right: str, lines: Sequence[EdgeRow]) -> str:
    won = [sum(line.edge == side for line in lines) for side in (left, right)]
    if not any(won):
        return "No edge on either side."
    # both tails of a fair coin
    tail = sum(math.comb(sum(won), few) for few in range(min(won) + 1))
    p = min(1.0, 2.0 * tail / 2 ** sum(won))
    ties = len(lines) - sum(won)
    level = f", {ties} level" if ties else ""
    return f"Edges: {left} {won[0]}, {right} {won[1]}{level} (sign test p = {p:.2g})."
