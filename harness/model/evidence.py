"""What one criterion's run showed, and the findings put in words."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, ValidationInfo, model_validator

from harness.model.base import Figure, Identifier, Model, Text
from harness.model.challenge import Severity


class Outcome(StrEnum):
    """How one criterion came out."""

    PASSED = "passed"
    FAILED = "failed"
    PARTIAL = "partial"
    NOT_RUN = "not_run"
    UNSUPPORTED = "unsupported"
    JUDGE_ERROR = "judge_error"

    @property
    def assessed(self) -> bool:
        """Whether the outcome says anything about the answer."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL)


class Words(Model):
    """Repeats what an answer wrote: bytes in its names that are no text become question marks."""

    @model_validator(mode="before")
    @classmethod
    def _text(cls, values: Any, info: ValidationInfo) -> Any:
        # what was read from JSON is text already
        if info.mode == "json" or not isinstance(values, dict):
            return values
        return {k: _readable(v) for k, v in values.items()}


def _readable(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_readable(k): _readable(v) for k, v in value.items()}
    return type(value)(map(_readable, value)) if type(value) in (list, tuple) else value


class Counterexample(Words):
    """The smallest input found on which the answer went wrong."""

    case: dict[str, Figure] = Field(default_factory=dict)
    """Sizes and settings that, with the seed, give the input."""
    where: str = ""
    """Output and index at fault, such as `dx[0, 3, 1]`."""
    expected: Figure | None = None
    """What the oracle says there."""
    got: Figure | None = None
    """What the answer gave there."""


class Evidence(Words):
    """Outcome of one criterion with the figures behind it."""

    criterion: Identifier
    """Id of the criterion."""
    dimension: Identifier
    """Id of the heading it counts under."""
    severity: Severity
    """Weight of the criterion."""
    outcome: Outcome
    """How it came out."""
    fraction: float | None = Field(default=None, gt=0, lt=1)
    """Share of the criterion that is met; only for a partial outcome."""
    measured: dict[str, Figure] = Field(default_factory=dict)
    """Figures by name."""
    detail: str = ""
    """What was seen, in a sentence; the reason when nothing was run."""
    also: tuple[str, ...] = ()
    """What further probes of the criterion saw, a sentence each."""
    seed: int | None = None
    """Seed of the criterion's inputs; with it the run can be repeated."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: Text | None = None
    """The likeliest fault, when a known fault behaves the same."""
    rests_on: Identifier | None = None
    """The criterion whose failure takes this one's credit; such evidence gates nothing by itself."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.fraction is not None) != (self.outcome is Outcome.PARTIAL):
            raise ValueError("a fraction belongs to a partial outcome, and only to it")
        if self.outcome is Outcome.PASSED and (self.diagnosis or self.counterexample or self.rests_on or self.also):
            raise ValueError("a passed criterion has no counterexample, diagnosis or excuse")
        if not self.outcome.assessed:
            if not self.detail:
                raise ValueError(f"a {self.outcome.value} criterion needs its reason in detail")
            if self.measured or self.counterexample or self.diagnosis or self.also:
                raise ValueError(f"a {self.outcome.value} criterion has no figures")
        return self

    @property
    def satisfied(self) -> float:
        """Share of the criterion that is met, 0 to 1; 0 when it was not assessed."""
        if self.outcome is Outcome.PARTIAL:
            assert self.fraction is not None
            return self.fraction
        return 1.0 if self.outcome is Outcome.PASSED else 0.0


class Finding(Words):
    """A failed or notable criterion put in words."""

    criterion: Identifier
    """Id of the criterion."""
    severity: Severity
    """Weight of the criterion."""
    title: Text
    """The fault in a phrase."""
    detail: str
    """What was seen."""
    also: tuple[str, ...] = ()
    """What further probes saw, a sentence each."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: Text | None = None
    """The likeliest fault, when a known fault behaves the same."""
