"""Defects that published reviews named, and which criteria of ours would show them."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Stored, Text
from harness.model.challenge import Severity


class Defect(Model):
    """One defect as a reader who ran nothing named it. Whether it is there is worked out from records, never stated."""

    id: Identifier
    """Stable key; no two defects have the same."""
    model: Identifier
    """Whose answer."""
    challenge: Identifier
    """To which challenge."""
    said: Text
    """What was said to be wrong, in short."""
    severity: Severity | None = None
    """How grave it was said to be, the gravest where pages differ; null where none was stated."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that fail where the defect is there; none where nothing of ours can see it."""
    shows: str = ""
    """Words in the evidence of a criterion that fails for this defect; empty where it fails for no other."""
    unseen: str = Field(default="", max_length=200)
    """Why nothing of ours can see it; only without criteria."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.criteria and self.unseen:
            raise ValueError("a defect with criteria can be seen: leave out 'unseen'")
        if self.shows and not self.criteria:
            raise ValueError("'shows' needs criteria whose evidence may hold the words")
        return self

    @property
    def submission(self) -> str:
        """`MODEL/CHALLENGE`."""
        return f"{self.model}/{self.challenge}"


class Defects(Stored):
    """The content of `reports/published/defects.toml`."""

    defects: tuple[Defect, ...]
    """All of them, in the order of reports."""
