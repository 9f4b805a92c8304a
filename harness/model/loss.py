"""Which outputs an answer loses, as a map that can be drawn."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Model

Place = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class LossMap(Model):
    """Rows or columns whose outputs are lost."""

    kind: Literal["map"] = "map"
    """Tells the two forms of a loss apart."""
    unit: Literal["columns", "rows"]
    """What is counted."""
    size: int = Field(ge=1)
    """How many of them were looked at, from 0 on."""
    period: int | None = Field(default=None, ge=2)
    """The pattern repeats after so many; null when it does not repeat."""
    runs: tuple[tuple[Place, Place], ...] = Field(min_length=1)
    """Begin and length of each run of lost ones, within one period."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        reached, within = 0, self.period or self.size
        for begin, length in self.runs:
            if begin < reached or length < 1 or begin + length > within:
                raise ValueError("runs must be ordered, apart, and within the size or period")
            reached = begin + length + 1
        return self


class LossByDistance(Model):
    """How many of several winners are found when they lie at equal distances."""

    kind: Literal["distance"] = "distance"
    """Tells the two forms of a loss apart."""
    found: tuple[tuple[Place, Share], ...] = Field(min_length=1)
    """Pairs of a distance in columns and the share of winners found there."""


Loss = Annotated[LossMap | LossByDistance, Field(discriminator="kind")]
"""What an answer loses."""
