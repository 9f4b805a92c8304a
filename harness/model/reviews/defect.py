"""Defects that published reviews named, and the criteria that can show them."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Stored, Text
from harness.model.challenges.challenge import Severity
from harness.model.evidence.evidence import Evidence, Location


class PublishedDefect(Model):
    """One defect as named by a reader who ran nothing; records decide whether it exists."""

    id: Identifier
    """Unique stable key."""
    model: Identifier
    """Model that wrote the submission."""
    challenge: Identifier
    """Challenge of the submission."""
    said: Text
    """Defect in short."""
    severity: Severity | None = None
    """Severity stated, the gravest if pages differ; null if none is stated."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that fail for this defect; empty if none can see it."""
    probe: str = ""
    """Probe that fails for this defect, if its criteria have several."""
    at: Location | None = None
    """Line in the evidence for this defect, if its criterion also fails for others."""
    unseen: str = Field(default="", max_length=200)
    """Why no criterion can see it; only without criteria."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.criteria and self.unseen:
            raise ValueError("a defect with criteria can be seen: leave out 'unseen'")
        if (self.probe or self.at) and not self.criteria:
            raise ValueError("'probe' and 'at' need criteria whose evidence may name them")
        return self

    def appears_in(self, evidence: Evidence) -> bool:
        """Return whether a failing criterion's evidence shows this defect."""
        if self.probe:
            return self.probe in evidence.failed_probes
        if self.at:
            return any((place.file, place.line) == (self.at.file, self.at.line) for place in evidence.locations)
        return True

    @property
    def submission(self) -> str:
        """`MODEL/CHALLENGE`."""
        return f"{self.model}/{self.challenge}"


class PublishedDefects(Stored):
    """The content of `reports/published/defects.toml`."""

    defects: tuple[PublishedDefect, ...]
    """All defects, in the order of reports."""
