"""Grades that published pages give as letters: shown as they stand beside measured marks, never converted to marks.

What compares the two compares orders alone: which of two answers to a challenge has the better letter, and which the
better mark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from harness.model import Challenge, LetterGrades, Score
from harness.report import formatting
from harness.report.mark_source import measured_marks
from harness.report.published_agreement import TauRow, tau_row
from harness.scoring.duels import NOISE

if TYPE_CHECKING:
    from harness.report.inputs import ReportInputs


@dataclass(frozen=True)
class LetteredCell:
    """A letter beside the measured mark of the same answer.

    Attributes:
        model, challenge, title: whose answer to what.
        letter: as it was given.
        by_letter, by_mark: its rank among the answers to the challenge that have both; empty where it lacks a mark.
        score: the measured mark; None without one.
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
        """The measured mark with its coverage."""
        return "no record" if self.score is None else formatting.standing_lines(self.score)[0]

    @property
    def point(self) -> float | None:
        """The measured mark; None where there is none."""
        return None if self.score is None else self.score.score

    @property
    def grade(self) -> tuple[int, int]:
        """What letters are ordered by, the better the greater; no distance between two of them is meant."""
        return -ord(self.letter[0]), {"+": 1, "-": -1}.get(self.letter[1:], 0)


@dataclass(frozen=True)
class LetteredPair:
    """Two answers to one challenge: `better` has the better letter, or where it is the same the better mark."""

    better: LetteredCell
    worse: LetteredCell

    @property
    def lead(self) -> float:
        """How much higher the mark of the second is."""
        return (self.worse.point or 0.0) - (self.better.point or 0.0)

    @property
    def one_letter(self) -> bool:
        """Whether both have the same letter."""
        return self.better.grade == self.worse.grade

    @property
    def apart(self) -> str:
        """By how many points their marks differ."""
        return formatting.mark(abs(self.lead))


@dataclass(frozen=True)
class PairCounts:
    """How letters and marks order the pairs of answers to the same challenge.

    Attributes:
        alike: both put the same one first.
        opposite: each puts another one first, the widest lead in marks first.
        same_letter: the marks alone tell them apart, those furthest apart first.
        same_mark: the letters alone tell them apart: the marks are no more than the noise of a duel from each other.
        neither: nothing tells them apart.
    """

    alike: int
    opposite: tuple[LetteredPair, ...]
    same_letter: tuple[LetteredPair, ...]
    same_mark: int
    neither: int
    noise: str = formatting.mark(NOISE)

    @property
    def all(self) -> int:
        """How many pairs there are."""
        return self.alike + len(self.opposite) + len(self.same_letter) + self.same_mark + self.neither


@dataclass(frozen=True)
class LetterTable:
    """Models by challenges.

    Attributes:
        challenges: those with a letter, by id.
        rows: one for each model, in the published order.
        cells: every letter beside its mark, by challenge, the best letter first.
        orders: how far letters and marks order the answers to each challenge alike.
        pairs: the same, pair by pair.
    """

    challenges: tuple[Challenge, ...]
    rows: Sequence[LetterGrades]
    cells: tuple[LetteredCell, ...]
    orders: tuple[TauRow, ...]
    pairs: PairCounts

    @property
    def has_overall(self) -> bool:
        """Whether any model has a grade over all."""
        return any(row.overall for row in self.rows)

    @property
    def given(self) -> int:
        """How many letters there are."""
        return len(self.cells)

    @property
    def measured(self) -> int:
        """How many of them stand beside a mark."""
        return sum(cell.point is not None for cell in self.cells)

    @property
    def possible(self) -> int:
        """How many there would be if every model had one for every challenge."""
        return len(self.rows) * len(self.challenges)


def letter_table(inputs: "ReportInputs") -> LetterTable:
    """The letters of all models, beside the measured marks of the same answers."""
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
    """The answers to one challenge with their ranks, the best letter first; equal ones share a rank."""
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
    """How far letters and marks order the answers alike; the places of letters in their order stand for them."""
    both = [(cell.grade, cell.point) for cell in cells if cell.point is not None]
    grades = sorted({grade for grade, _ in both})
    return tau_row(title, [(float(grades.index(grade)), point) for grade, point in both])


def _pairs(challenges: Iterable[Sequence[LetteredCell]]) -> PairCounts:
    # in a pair, the one with the better letter comes first, then that with the better mark
    pairs = [
        LetteredPair(*pair)
        for cells in challenges
        for pair in combinations([cell for cell in cells if cell.point is not None], 2)
    ]
    told = [pair for pair in pairs if abs(pair.lead) > NOISE]
    close = [pair for pair in pairs if abs(pair.lead) <= NOISE]
    opposite = [pair for pair in told if pair.lead > 0]
    same = [pair for pair in told if pair.one_letter]
    return PairCounts(
        alike=len(told) - len(opposite) - len(same),
        opposite=tuple(sorted(opposite, key=_widest)),
        same_letter=tuple(sorted(same, key=_widest)),
        same_mark=sum(not pair.one_letter for pair in close),
        neither=sum(pair.one_letter for pair in close),
    )


def _widest(pair: LetteredPair) -> tuple[float, str, str, str]:
    return -abs(pair.lead), pair.better.challenge, pair.better.model, pair.worse.model
