"""Two models head to head: their criteria side by side, with an edge where one of them earned more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import bdtr

from harness.model import Challenge, Comparison, Record
from harness.report import words
from harness.report.compare import Row, task
from harness.report.material import Material
from harness.report.source import Marks, Source
from harness.scoring.duels import Fought

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


def match(material: Material, marks: Marks, left: str, right: str) -> Match:
    """Two models head to head.

    Args:
        material: rubrics, records and published tables.
        marks: of one source.
        left, right: the models, in the order of the columns.
    """
    by_name = {(m.model, m.challenge): m for m in marks.marked}
    fought = marks.between(left, right)
    bouts = []
    for one in sorted(fought, key=lambda f: f.challenge):
        challenge = material.challenge(one.challenge)
        if challenge is not None and one.played:
            standings = [
                words.standing(by_name[m, challenge.id].overall) if (m, challenge.id) in by_name else ""
                for m in (left, right)
            ]
            bouts.append(_bout(challenge, one, material.records, left, right, standings))
    provenance = [sorted({m.provenance for m in marks.marked if m.model == model}) for model in (left, right)]
    lead, behind = tally(left, right, fought)
    return Match(
        marks.source, left, right,
        (words.provenances(provenance[0]), words.provenances(provenance[1])),
        words.score(lead, behind), _told(left, right, lead, behind), tuple(bouts),
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


def _bout(
    challenge: Challenge, fought: Fought, records: Iterable[Record], left: str, right: str, standings: Sequence[str]
) -> Bout:
    alike: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    if isinstance(fought, Comparison):
        lines = _said(fought, left)
        won = "a split" if fought.winner is None else f"won by {fought.winner}"
        why = f"As the judge gave it: {won}."
    else:
        by_model = {r.model: r for r in records if r.challenge == challenge.id}
        seen = task(challenge, by_model[left], by_model[right])
        told = [row for row in seen.rows if row.lead is not None and (row.lead or row.measured)]
        lines = tuple(_line(row, left, right) for row in told)
        alike = tuple(row.criterion.id for row in seen.rows if row.lead == 0 and not row.measured)
        unseen = tuple(row.criterion.id for row in seen.rows if row.lead is None)
        why = seen.told
    return Bout(
        challenge.id, challenge.title, standings[0], standings[1], fought.winner or "split", why, lines, alike, unseen,
        _edges(left, right, lines),
    )  # fmt: skip


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
    p = min(1.0, 2.0 * float(bdtr(min(won), sum(won), 0.5)))
    ties = len(lines) - sum(won)
    level = f", {ties} level" if ties else ""
    return f"Edges: {left} {won[0]}, {right} {won[1]}{level} (sign test p = {p:.2g})."
