"""Drawn cases: how many ran and failed, and the size at which a submission goes wrong."""

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Model

CONFIDENCE = 0.95
"""Probability of seeing a fault that affects the share `Draws.missable`."""


class Draws(Model):
    """Counts of drawn cases in a criterion's probes."""

    planned: int = Field(ge=0)
    """Number of cases to draw."""
    tried: int = Field(ge=0)
    """Number of cases run."""
    failed: int = Field(default=0, ge=0)
    """Number of cases run in which the submission went wrong."""
    unreached: str = ""
    """Smallest case beyond the limits of time and memory; larger ones were not tried."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.failed <= self.tried <= self.planned:
            raise ValueError("of the draws planned some are tried, and of these some fail")
        return self

    @property
    def missable(self) -> float:
        """Largest share of draws that a fault can affect and still escape all of these, 19 times in 20.

        A fault that affects a share p escapes n draws with probability (1 - p)^n.
        """
        return float(1 - (1 - CONFIDENCE) ** (1 / self.tried)) if self.tried else 1.0

    def __add__(self, other: "Draws") -> "Draws":
        return Draws(
            planned=self.planned + other.planned,
            tried=self.tried + other.tried,
            failed=self.failed + other.failed,
            unreached="; ".join(filter(None, (self.unreached, other.unreached))),
        )


class Threshold(Model):
    """The point along one size where a submission goes wrong, with other sizes as in the counterexample."""

    axis: str
    """Probe's name for the size."""
    right_at: int
    """Largest smaller size that was correct; `wrong_from - 1`."""
    wrong_from: int
    """Smallest wrong size."""
    onward: bool
    """Whether every larger size tried is also wrong."""
    period: int | None = None
    """Period of the pattern, if correct and wrong sizes alternate."""
    wrong_residues: tuple[int, ...] = ()
    """Residues modulo the period of wrong sizes."""

    def goes_wrong_at(self, size: int) -> bool:
        """Return whether a size is known to go wrong."""
        if self.period is not None:
            return size >= self.wrong_from and size % self.period in self.wrong_residues
        return size >= self.wrong_from if self.onward else size == self.wrong_from

    def __str__(self) -> str:
        if self.period is not None:
            wrong, right = set(self.wrong_residues), set(range(self.period)) - set(self.wrong_residues)
            rule = f"not {right.pop()}" if len(right) == 1 else ", ".join(map(str, sorted(wrong)))
            # sizes below that leave the same remainder are right or were not tried
            start = f", from {self.axis} = {self.wrong_from:,} on" if self.wrong_from > self.period else ""
            return f"wrong where {self.axis} mod {self.period} is {rule}{start}"
        if self.onward:
            return f"right up to {self.axis} = {self.right_at:,}, wrong from {self.axis} = {self.wrong_from:,} on"
        return f"right at {self.axis} = {self.right_at:,}, wrong at {self.axis} = {self.wrong_from:,}"
