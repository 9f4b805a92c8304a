"""Marks and remarks by a person or a model for what cannot be executed."""

import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from harness.model.base import Identifier, Model, RelativePath, Stored, Text

Letter = Annotated[str, StringConstraints(pattern=r"^[A-F][+-]?$")]
Month = Annotated[str, StringConstraints(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]


class ReviewerKind(StrEnum):
    """Who reviewed; a published review never enters a measured score."""

    PERSON = "person"
    MODEL = "model"
    PUBLISHED = "published"


class Reviewer(Model):
    """Who reviewed, when, and with which prompt."""

    kind: ReviewerKind
    """Person, model or published page."""
    id: Identifier
    """Name of the reviewer, or of the published round."""
    date: datetime.date | Month
    """When; a month such as "2026-04" where the day is not known."""
    prompt_hash: str | None = None
    """Hash of the prompt a model judge was given."""


class Quote(Model):
    """Words that must be found verbatim in a file of the submission."""

    file: RelativePath
    """The file quoted."""
    text: Text
    """The words."""


class Mark(Model):
    """A mark for one dimension or criterion with its reason."""

    target: Identifier
    """Id of a dimension or criterion."""
    mark: float = Field(ge=0, le=100)
    """0 to 100."""
    remark: str = ""
    """Why."""
    quotes: tuple[Quote, ...] = ()
    """What in the files supports it."""
    repeats: tuple[Annotated[float, Field(ge=0, le=100)], ...] = ()
    """Marks of a judge that was asked several times; `mark` is their median."""


class Preference(Model):
    """How often a judge of pairs preferred an answer to another's, asked in both orders."""

    target: Identifier
    """Id of a criterion."""
    other: Identifier
    """The model whose answer stood against it."""
    wins: int = Field(ge=0)
    """Replies that gave it to the answer reviewed."""
    losses: int = Field(ge=0)
    """Replies that gave it to the other."""
    ties: int = Field(ge=0)
    """Replies that gave it to neither."""
    undecided: bool
    """Whether the verdict turned when the two changed places."""

    @property
    def asked(self) -> int:
        """Replies counted."""
        return self.wins + self.losses + self.ties

    @property
    def share(self) -> float:
        """Share of wins, a tie as half of one; 0.5 where nothing was replied."""
        return (self.wins + self.ties / 2) / self.asked if self.asked else 0.5


class Row(Model):
    """One row of a published comparison, in its words."""

    criterion: Text
    """What was compared."""
    left: Text
    """What was said of the one."""
    right: Text
    """What was said of the other."""
    edge: Identifier | None = None
    """The model that was given the edge; null for a tie."""
    note: str = ""
    """What was added to the edge."""


class Comparison(Model):
    """A published comparison of two models on one challenge."""

    left: Identifier
    """A model."""
    right: Identifier
    """Another."""
    challenge: Identifier
    """What both answered."""
    winner: Identifier | None = None
    """Whom it was given to; null for a split."""
    rows: tuple[Row, ...]
    """Its criterion table."""

    @property
    def played(self) -> bool:
        """Always: who compared gave it to the one, to the other, or to both."""
        return True


class Comparisons(Stored):
    """The content of `reports/published/head_to_head.toml`."""

    tables: tuple[Comparison, ...]
    """All comparisons, in the order they were published in."""


class Place(Model):
    """One line of a published ranking, in its figures."""

    model: Identifier
    """Who."""
    average: float = Field(ge=0, le=100)
    """The mark it was ranked by."""
    best: tuple[Identifier, ...]
    """Challenges called its best."""
    best_mark: float = Field(ge=0, le=100)
    """The mark given for that."""
    worst: tuple[Identifier, ...]
    """Challenges called its worst."""
    worst_mark: float = Field(ge=0, le=100)
    """The mark given for that."""
    won: int | None = Field(default=None, ge=0)
    """Comparisons said to be won; null where nothing was said."""
    of: int | None = Field(default=None, ge=0)
    """Of so many."""


class Ranking(Stored):
    """The content of `reports/published/ranking.toml`."""

    places: tuple[Place, ...]
    """The published order, the first first."""


class LetterGrades(Model):
    """The letters that one published page gives a model."""

    model: Identifier
    """Who."""
    letters: dict[Identifier, Letter]
    """Its grade by challenge."""
    overall: Text | None = None
    """The grade over all, as it is written; null where there is none."""


class PublishedLetters(Stored):
    """The content of `reports/published/letters.toml`."""

    grades: tuple[LetterGrades, ...]
    """One entry for each model, in the published order."""


class Round(Model):
    """A named group of models compared on some challenges."""

    id: Identifier
    """Its file is `reports/rounds/<id>.md`; published reviews of the round have it as their reviewer's id."""
    title: Text
    """What it is called."""
    models: tuple[Identifier, ...] = Field(min_length=1)
    """Who took part."""
    challenges: tuple[Identifier, ...] = Field(min_length=1)
    """What they answered."""


class Rounds(Stored):
    """The content of `reports/rounds.toml`."""

    rounds: tuple[Round, ...] = ()
    """All rounds, in the order of the file."""


class Review(Stored):
    """The content of one `reviews/<name>.toml`."""

    model: Identifier
    """Whose submission."""
    challenge: Identifier
    """To which challenge."""
    attempt: int | None = Field(default=None, ge=1, strict=True)
    """Which of several answers; that of its folder by default."""
    reviewer: Reviewer
    """Who reviewed."""
    marks: tuple[Mark, ...]
    """Marks given."""
    preferences: tuple[Preference, ...] = ()
    """What a judge of pairs preferred."""
    remark: str = ""
    """On the review as a whole: words in the submission that speak to a judge."""
    overall: float | None = Field(default=None, ge=0, le=100)
    """The reviewer's own overall, shown and never used."""
