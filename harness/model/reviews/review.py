"""Reviews: marks and remarks by a person or a model for criteria that cannot be executed."""

import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from harness.model.base import Identifier, Model, RelativePath, Stored, Text

Letter = Annotated[str, StringConstraints(pattern=r"^[A-F][+-]?$")]
Month = Annotated[str, StringConstraints(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]


class ReviewerKind(StrEnum):
    """Kind of reviewer; published reviews never enter a measured score."""

    PERSON = "person"
    MODEL = "model"
    PUBLISHED = "published"


class Reviewer(Model):
    """The reviewer, with date and prompt."""

    kind: ReviewerKind
    """Person, model or published page."""
    id: Identifier
    """Name of the reviewer or published round."""
    date: datetime.date | Month
    """Day, or a month such as "2026-04" if the day is unknown."""
    prompt_hash: str | None = None
    """Hash of a model judge's prompt."""


class Quote(Model):
    """A verbatim quote from a file of the submission."""

    file: RelativePath
    """Quoted file."""
    text: Text
    """Quoted text."""


class Mark(Model):
    """A mark for one dimension or criterion, with its reason."""

    target: Identifier
    """Id of a dimension or criterion."""
    mark: float = Field(ge=0, le=100)
    """Mark from 0 to 100."""
    remark: str = ""
    """Reason for the mark."""
    quotes: tuple[Quote, ...] = ()
    """Supporting quotes."""
    repeats: tuple[Annotated[float, Field(ge=0, le=100)], ...] = ()
    """Marks of repeated requests to a judge; `mark` is their median."""


class Preference(Model):
    """A judge's preferences between two submissions, compared in both orders."""

    target: Identifier
    """Id of a criterion."""
    other: Identifier
    """Model of the other submission."""
    wins: int = Field(ge=0)
    """Replies that prefer the reviewed submission."""
    losses: int = Field(ge=0)
    """Replies that prefer the other."""
    ties: int = Field(ge=0)
    """Replies without a preference."""
    undecided: bool
    """Whether the verdict changed with the order."""

    @property
    def asked(self) -> int:
        """Number of replies."""
        return self.wins + self.losses + self.ties

    @property
    def share(self) -> float:
        """Share of wins, with ties as half; 0.5 without replies."""
        return (self.wins + self.ties / 2) / self.asked if self.asked else 0.5


class Row(Model):
    """One row of a published comparison, verbatim."""

    criterion: Text
    """Subject of the comparison."""
    left: Text
    """Text on the left model."""
    right: Text
    """Text on the right model."""
    edge: Identifier | None = None
    """Model with the edge; null for a tie."""
    note: str = ""
    """Note on the edge."""


class Comparison(Model):
    """A published comparison of two models on one challenge."""

    left: Identifier
    """First model."""
    right: Identifier
    """Second model."""
    challenge: Identifier
    """Challenge of both."""
    winner: Identifier | None = None
    """Winning model; null for a split."""
    rows: tuple[Row, ...]
    """Table of criteria."""

    @property
    def played(self) -> bool:
        """True, as every comparison has a winner or a split."""
        return True


class Comparisons(Stored):
    """The content of `reports/published/head_to_head.toml`."""

    tables: tuple[Comparison, ...]
    """All comparisons, in published order."""


class Place(Model):
    """One line of a published ranking."""

    model: Identifier
    """Ranked model."""
    average: float = Field(ge=0, le=100)
    """Mark behind the rank."""
    best: tuple[Identifier, ...]
    """Challenges named as its best."""
    best_mark: float = Field(ge=0, le=100)
    """Mark for the best."""
    worst: tuple[Identifier, ...]
    """Challenges named as its worst."""
    worst_mark: float = Field(ge=0, le=100)
    """Mark for the worst."""
    won: int | None = Field(default=None, ge=0)
    """Comparisons reported as won; null if not reported."""
    of: int | None = Field(default=None, ge=0)
    """Comparisons in total."""


class Ranking(Stored):
    """The content of `reports/published/ranking.toml`."""

    places: tuple[Place, ...]
    """Published order, first place first."""


class LetterGrades(Model):
    """One published page's letter grades for a model."""

    model: Identifier
    """Graded model."""
    letters: dict[Identifier, Letter]
    """Letter grade by challenge."""
    overall: Text | None = None
    """Overall grade as published; null without one."""


class PublishedLetters(Stored):
    """The content of `reports/published/letters.toml`."""

    grades: tuple[LetterGrades, ...]
    """One entry per model, in published order."""


class Round(Model):
    """A named group of models compared on some challenges."""

    id: Identifier
    """Name of its file, `reports/rounds/<id>.md`, and reviewer id of its published reviews."""
    title: Text
    """Name in reports."""
    models: tuple[Identifier, ...] = Field(min_length=1)
    """Participating models."""
    challenges: tuple[Identifier, ...] = Field(min_length=1)
    """Challenges of the round."""


class Rounds(Stored):
    """The content of `reports/rounds.toml`."""

    rounds: tuple[Round, ...] = ()
    """All rounds, in file order."""


class Review(Stored):
    """The content of one `reviews/<name>.toml`."""

    model: Identifier
    """Model that wrote the submission."""
    challenge: Identifier
    """Challenge of the submission."""
    attempt: int | None = Field(default=None, ge=1, strict=True)
    """Number of the attempt; by default that of its folder."""
    reviewer: Reviewer
    """Author of the review."""
    marks: tuple[Mark, ...]
    """Marks given."""
    preferences: tuple[Preference, ...] = ()
    """Preferences of a judge of pairs."""
    remark: str = ""
    """General remark: text in the submission that addresses a judge."""
    overall: float | None = Field(default=None, ge=0, le=100)
    """Reviewer's own overall mark, shown but never used."""
