"""Defects that published reviews named, and which criteria would show them."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Stored, Text
from harness.model.challenge import Severity
from harness.model.evidence import Evidence, Location


class PublishedDefect(Model):
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
    """Criteria that fail where the defect is there; none where no criterion can see it."""
    probe: str = ""
    """The probe that fails for this defect, where its criteria have several."""
    at: Location | None = None
    """The line that a criterion's evidence names for this defect, where it fails for others too."""
    unseen: str = Field(default="", max_length=200)
    """Why no criterion can see it; only without criteria."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.criteria and self.unseen:
            raise ValueError("a defect with criteria can be seen: leave out 'unseen'")
        if (self.probe or self.at) and not self.criteria:
            raise ValueError("'probe' and 'at' need criteria whose evidence may name them")
        return self

    def shown_by(self, evidence: Evidence) -> bool:
        """Whether evidence of a criterion that fails is evidence of this defect."""
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
    """All of them, in the order of reports."""
