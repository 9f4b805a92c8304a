"""What drawn cases showed: how many were tried, and at which size an answer goes wrong."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Model

CONFIDENCE = 0.95
"""How surely a fault of the share `Draws.missable` would have been seen."""


class Draws(Model):
    """How many drawn cases a criterion's probes ran, and how many of them failed."""

    planned: int = Field(ge=0)
    """Cases that were to be drawn."""
    tried: int = Field(ge=0)
    """Cases that were run."""
    failed: int = Field(default=0, ge=0)
    """Cases of these in which the answer went wrong."""
    unreached: str = ""
    """The smallest case that did not fit the limits of time and memory; larger ones were not tried."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.failed <= self.tried <= self.planned:
            raise ValueError("of the draws planned some are tried, and of these some fail")
        return self

    @property
    def missable(self) -> float:
        """The largest share of draws that a fault could concern and still be missed by all of these, 19 times in 20.

        n draws miss a fault that concerns a share p of them with probability (1 - p)^n.
        """
        return float(1 - (1 - CONFIDENCE) ** (1 / self.tried)) if self.tried else 1.0

    def __add__(self, other: "Draws") -> "Draws":
        return Draws(
            planned=self.planned + other.planned, tried=self.tried + other.tried, failed=self.failed + other.failed,
            unreached="; ".join(filter(None, (self.unreached, other.unreached))),
        )  # fmt: skip


class Threshold(Model):
    """Where along one size an answer begins to go wrong, the other sizes as in the counterexample."""

    axis: str
    """The size, as the probe names it."""
    right_at: int
    """The largest smaller size that was tried and right; `wrong_from - 1`."""
    wrong_from: int
    """The size at which it is wrong."""
    onward: bool
    """Whether every larger size that was tried is wrong, too."""
    period: int | None = None
    """Where sizes that are right alternate with wrong ones: the rule repeats after so many."""
    wrong_residues: tuple[int, ...] = ()
    """With a period: sizes are wrong that leave one of these when divided by it."""

    def met(self, size: int) -> bool:
        """Return whether an answer is known to go wrong at a size."""
        if self.period is not None:
            return size >= self.wrong_from and size % self.period in self.wrong_residues
        return size >= self.wrong_from if self.onward else size == self.wrong_from

    def __str__(self) -> str:
        if self.period is not None:
            wrong, right = set(self.wrong_residues), set(range(self.period)) - set(self.wrong_residues)
            if len(right) == 1:
                return f"wrong where {self.axis} mod {self.period} is not {right.pop()}"
            return f"wrong where {self.axis} mod {self.period} is {', '.join(map(str, sorted(wrong)))}"
        if self.onward:
            return f"right up to {self.axis} = {self.right_at:,}, wrong from {self.axis} = {self.wrong_from:,} on"
        return f"right at {self.axis} = {self.right_at:,}, wrong at {self.axis} = {self.wrong_from:,}"
