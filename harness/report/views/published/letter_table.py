"""Published letter grades beside measured marks, without conversion into marks.

Comparisons use order alone: the better letter and the better mark of two answers to a challenge.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from harness.model import Challenge, LetterGrades, Score
from harness.report import formatting
from harness.report.views.mark_source import measured_marks
from harness.report.views.published.agreement import TauRow, tau_row
from harness.scoring.duels import NOISE

if TYPE_CHECKING:
    from harness.report.views.inputs import ReportInputs


@dataclass(frozen=True)
class LetteredCell:
    """A letter beside the measured mark of the same answer.

    Attributes:
        by_letter, by_mark: rank among the challenge's answers with both; empty without a mark.
    """

    model: str
    challenge: str
    title: str
    letter: str
    score: Score | None
    by_letter: str = ""
    by_mark: str = ""

    @property
    def mark(self) -> str:
        """Measured mark with its coverage, in words."""
        return "no record" if self.score is None else formatting.standing_lines(self.score)[0]

    @property
    def point(self) -> float | None:
        """Measured mark, if any."""
        return None if self.score is None else self.score.score

    @property
    def grade(self) -> tuple[int, int]:
        """Sort key, greater for better letters."""
        return -ord(self.letter[0]), {"+": 1, "-": -1}.get(self.letter[1:], 0)


class PairOrder(StrEnum):
    """Agreement of letters and marks on the order of two answers; marks within the noise of a duel are equal."""

    ALIKE = "are ordered alike by letters and marks"
    OPPOSITE = "are ordered the other way round"
    SAME_LETTER = "have one letter, and marks that differ by more than that"
    SAME_MARK = "have different letters, and marks that differ by no more than that"
    NEITHER = "have one letter, and marks that differ by no more than that"


@dataclass(frozen=True)
class LetteredPair:
    """Two answers to one challenge; `better` has the better letter, or else the better mark."""

    better: LetteredCell
    worse: LetteredCell

    @property
    def lead(self) -> float:
        """Mark of `worse` less that of `better`."""
        return (self.worse.point or 0.0) - (self.better.point or 0.0)

    @property
    def order(self) -> PairOrder:
        """PairOrder of their letters and marks."""
        same = self.better.grade == self.worse.grade
        if abs(self.lead) <= NOISE:
            return PairOrder.NEITHER if same else PairOrder.SAME_MARK
        return PairOrder.SAME_LETTER if same else PairOrder.OPPOSITE if self.lead > 0 else PairOrder.ALIKE


@dataclass(frozen=True)
class LetterTable:
    """Letters of models by challenges.

    Attributes:
        challenges: challenges with a letter, by id.
        rows: one per model, in published order.
        cells: letters by challenge, best first.
        orders: rank correlation of letters and marks per challenge.
        pairs: answers to the same challenge, by two, the widest difference in marks first.
    """

    challenges: tuple[Challenge, ...]
    rows: Sequence[LetterGrades]
    cells: tuple[LetteredCell, ...]
    orders: tuple[TauRow, ...]
    pairs: tuple[LetteredPair, ...]

    @property
    def measured(self) -> int:
        """Number of letters beside a mark."""
        return sum(cell.point is not None for cell in self.cells)


def letter_table(inputs: "ReportInputs") -> LetterTable:
    """Build the table of letters and measured marks."""
    named = {challenge for grades in inputs.letters for challenge in grades.letters}
    challenges = tuple(sorted((c for c in inputs.challenges if c.id in named), key=lambda c: c.id))
    scores = {(m.model, m.challenge): m.overall for m in measured_marks(inputs.measured).marked}
    by_challenge = {
        c.id: _ranked(
            LetteredCell(row.model, c.id, c.title, row.letters[c.id], scores.get((row.model, c.id)))
            for row in inputs.letters
            if c.id in row.letters
        )
        for c in challenges
    }
    return LetterTable(
        challenges,
        inputs.letters,
        tuple(cell for own in by_challenge.values() for cell in own),
        tuple(_order(challenge.title, by_challenge[challenge.id]) for challenge in challenges),
        _pairs(by_challenge.values()),
    )


def _ranked(given: Iterable[LetteredCell]) -> list[LetteredCell]:
    cells = sorted(given, key=lambda cell: (cell.grade, cell.point or 0.0), reverse=True)
    both = [(cell.grade, cell.point) for cell in cells if cell.point is not None]
    ranked = []
    for cell in cells:
        if cell.point is not None:
            letters, marks = sum(g > cell.grade for g, _ in both), sum(p > cell.point for _, p in both)
            cell = replace(cell, by_letter=f"{letters + 1} of {len(both)}", by_mark=f"{marks + 1} of {len(both)}")
        ranked.append(cell)
    return ranked


def _order(title: str, cells: Iterable[LetteredCell]) -> TauRow:
    both = [(cell.grade, cell.point) for cell in cells if cell.point is not None]
    grades = sorted({grade for grade, _ in both})
    return tau_row(title, [(float(grades.index(grade)), point) for grade, point in both])


def _pairs(challenges: Iterable[Sequence[LetteredCell]]) -> tuple[LetteredPair, ...]:
    # in a pair, the one with the better letter comes first, then that with the better mark
    marked = ([cell for cell in cells if cell.point is not None] for cells in challenges)
    pairs = (LetteredPair(*pair) for cells in marked for pair in combinations(cells, 2))
    return tuple(sorted(pairs, key=lambda p: (-abs(p.lead), p.better.challenge, p.better.model, p.worse.model)))
