"""Two models head to head: their criteria side by side, with an edge where one of them earned more."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model import Comparison, Provenance
from harness.report import words
from harness.report.compare import Row, sides, task
from harness.report.material import Material
from harness.report.source import Marks, Source
from harness.scoring.duels import Duel, Fought

TIE = ""
"""Nobody's edge."""


@dataclass(frozen=True)
class Line:
    """One criterion, how it stands with both, and whose edge it is; nobody's when `edge` is empty."""

    criterion: str
    left: str
    right: str
    edge: str
    note: str = ""


@dataclass(frozen=True)
class Bout:
    """One challenge: who won, why, and the criteria.

    Attributes:
        id, title: of the challenge.
        left, right: marks in words.
        winner: a model, or "split".
        why: how the winner follows.
        lines: criteria that differ or carry figures.
        alike: ids of the others that both were assessed on.
        open: ids of criteria that one of them was not assessed on.
        edges: how many each side has, in words.
    """

    id: str
    title: str
    left: str
    right: str
    winner: str
    why: str
    lines: tuple[Line, ...]
    alike: tuple[str, ...]
    open: tuple[str, ...]
    edges: str

    @property
    def anchor(self) -> str:
        """Where it starts on the page."""
        return words.anchor(self.title)


@dataclass(frozen=True)
class Match:
    """Two models on all challenges that both have marks on."""

    source: Source
    left: str
    right: str
    provenance: tuple[str, str]
    tally: str
    told: str
    bouts: tuple[Bout, ...]


class Matches:
    """Any two models head to head, by the marks of one source; what is the same for all pairs is found once.

    Args:
        material: rubrics, records and published tables.
        marks: of one source.
    """

    def __init__(self, material: Material, marks: Marks) -> None:
        self._marks = marks
        self._challenges = {c.id: c for c in material.challenges}
        self._sides = {(r.model, r.challenge): sides(r) for r in material.records}
        self._standings = {(m.model, m.challenge): words.standing(m.overall) for m in marks.marked}
        self._provenances: dict[str, set[Provenance]] = {}
        for marked in marks.marked:
            self._provenances.setdefault(marked.model, set()).add(marked.provenance)

    def of(self, left: str, right: str) -> Match:
        """Two models, in the order of the columns."""
        fought = sorted(self._marks.between(left, right), key=lambda f: f.challenge)
        bouts = [self._bout(one, left, right) for one in fought if one.played and one.challenge in self._challenges]
        lead, behind = tally(left, right, fought)
        return Match(
            self._marks.source, left, right, (self._from(left), self._from(right)),
            words.score(lead, behind), _told(left, right, lead, behind), tuple(bouts),
        )  # fmt: skip

    def _from(self, model: str) -> str:
        return words.provenances(sorted(self._provenances.get(model, ())))

    def _bout(self, fought: Fought, left: str, right: str) -> Bout:
        challenge = self._challenges[fought.challenge]
        ours, theirs = ((model, challenge.id) for model in (left, right))
        if isinstance(fought, Duel):
            seen = task(challenge, self._sides[ours], self._sides[theirs], fought)
            lines = tuple(_line(row, left, right) for row in seen.rows if row.lead or (row.lead == 0 and row.measured))
            alike = tuple(row.criterion.id for row in seen.rows if row.lead == 0 and not row.measured)
            unseen = tuple(row.criterion.id for row in seen.rows if row.lead is None)
            why = seen.told
        else:
            lines = _said(fought, left) if isinstance(fought, Comparison) else ()
            alike = unseen = ()
            why = f"As the judge gave it: {f'won by {fought.winner}' if fought.winner else 'a split'}."
        return Bout(
            challenge.id, challenge.title, self._standings.get(ours, ""), self._standings.get(theirs, ""),
            fought.winner or "split", why, lines, alike, unseen, _edges(left, right, lines),
        )  # fmt: skip


def tally(left: str, right: str, fought: Iterable[Fought]) -> tuple[float, float]:
    """Challenges won by the left and the right model; a split is half for each."""
    played = [f for f in fought if f.played]
    halves = 0.5 * sum(f.winner is None for f in played)
    return (
        sum(f.winner == left for f in played) + halves,
        sum(f.winner == right for f in played) + halves,
    )


def _told(left: str, right: str, lead: float, behind: float) -> str:
    if lead == behind:
        return f"{left} and {right} are level"
    return f"{left} is ahead of {right}" if lead > behind else f"{right} is ahead of {left}"


def _said(table: Comparison, left: str) -> tuple[Line, ...]:
    """The rows of a published table; its sides turned where they are the other way round."""
    return tuple(
        Line(row.criterion, *((row.left, row.right) if table.left == left else (row.right, row.left)), row.edge or TIE,
             row.note)
        for row in table.rows
    )  # fmt: skip


def _line(row: Row, left: str, right: str) -> Line:
    edge = TIE if not row.lead else (left if row.lead > 0 else right)
    title = f"{row.criterion.title.rstrip('.')} ({row.criterion.severity.value})"
    return Line(title, row.left.told, row.right.told, edge)


def _edges(left: str, right: str, lines: Sequence[Line]) -> str:
    won = [sum(line.edge == side for line in lines) for side in (left, right)]
    if not any(won):
        return "No edge on either side."
    # both tails of a fair coin
    tail = sum(math.comb(sum(won), few) for few in range(min(won) + 1))
    p = min(1.0, 2.0 * tail / 2 ** sum(won))
    ties = len(lines) - sum(won)
    level = f", {ties} level" if ties else ""
    return f"Edges: {left} {won[0]}, {right} {won[1]}{level} (sign test p = {p:.2g})."
