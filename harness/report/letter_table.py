"""Grades that published pages give as letters: shown as they stand, never converted to marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.model import Challenge, LetterGrades

if TYPE_CHECKING:
    from harness.report.inputs import ReportInputs


@dataclass(frozen=True)
class LetterTable:
    """Models by challenges.

    Attributes:
        challenges: those with a letter, by id.
        rows: one for each model, in the published order.
    """

    challenges: tuple[Challenge, ...]
    rows: Sequence[LetterGrades]

    @property
    def has_overall(self) -> bool:
        """Whether any model has a grade over all."""
        return any(row.overall for row in self.rows)

    @property
    def given(self) -> int:
        """How many letters there are."""
        return sum(len(row.letters) for row in self.rows)

    @property
    def possible(self) -> int:
        """How many there would be if every model had one for every challenge."""
        return len(self.rows) * len(self.challenges)


def letter_table(inputs: "ReportInputs") -> LetterTable:
    """The letters of all models."""
    named = {challenge for grades in inputs.letters for challenge in grades.letters}
    return LetterTable(
        tuple(sorted((c for c in inputs.challenges if c.id in named), key=lambda c: c.id)), inputs.letters
    )
