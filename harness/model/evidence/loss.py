"""Lost outputs of a submission, as a map to draw."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Model

Place = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class LossMap(Model):
    """Rows or columns with lost outputs."""

    kind: Literal["map"] = "map"
    """Tag of this form of loss."""
    unit: Literal["columns", "rows"]
    """Unit of the positions."""
    size: int = Field(ge=1)
    """Number of positions examined, from 0."""
    period: int | None = Field(default=None, ge=2)
    """Period of the pattern; null if it does not repeat."""
    runs: tuple[tuple[Place, Place], ...] = Field(min_length=1)
    """Start and length of each run of lost positions, within one period."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        reached, within = 0, self.period or self.size
        for begin, length in self.runs:
            if begin < reached or length < 1 or begin + length > within:
                raise ValueError("runs must be ordered, apart, and within the size or period")
            reached = begin + length + 1
        return self


class LossByDistance(Model):
    """The share found of several winners at equal distances."""

    kind: Literal["distance"] = "distance"
    """Tag of this form of loss."""
    found: tuple[tuple[Place, Share], ...] = Field(min_length=1)
    """Pairs of a distance in columns and the share of winners found there."""


Loss = Annotated[LossMap | LossByDistance, Field(discriminator="kind")]
"""Lost outputs in either form."""
