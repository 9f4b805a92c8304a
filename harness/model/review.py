"""Marks and remarks by a person or a model for what cannot be executed."""

import datetime
from enum import StrEnum

from pydantic import Field

from harness.model.base import Identifier, Model, RelativePath, Stored, Text


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
    date: datetime.date
    """When."""
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


class Review(Stored):
    """The content of one `reviews/<name>.toml`."""

    model: Identifier
    """Whose submission."""
    challenge: Identifier
    """To which challenge."""
    reviewer: Reviewer
    """Who reviewed."""
    marks: tuple[Mark, ...]
    """Marks given."""
    overall: float | None = Field(default=None, ge=0, le=100)
    """The reviewer's own overall, shown and never used."""
