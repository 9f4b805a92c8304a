"""What grading a collection must show, may show and must not: findings checked by hand, as its `expected.toml` says."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, NonEmpty, Text
from harness.model.evidence import Outcome
from harness.model.repair import RepairKind


class Necessity(StrEnum):
    """Whether a grade has to show a finding."""

    MUST = "must"
    MAY = "may"
    NEVER = "never"


class Range(Model):
    """The figures that fit, both ends included."""

    least: float = float("-inf")
    """The smallest."""
    most: float = float("inf")
    """The largest."""


class ExpectedFinding(Model):
    """One finding, in the fields of the evidence that shows it. Several patterns of a field: any of them."""

    number: Annotated[int | None, Field(ge=1)] = None
    """Of a finding that must be there; two ids for one fault have one number."""
    ids: tuple[NonEmpty, ...] = ()
    """Its ids in the notes it comes from."""
    kind: Necessity
    """Whether it has to be there."""
    model: Identifier
    """Whose answer."""
    challenge: Identifier
    """To what."""
    says: Text
    """The behaviour in words; not compared."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that show it by themselves: one whose credit only rests on another does not. Empty: any of them."""
    build: Literal["compiler", "import", "contract"] | None = None
    """What refuses the answer, for a finding about its build."""
    cause: RepairKind | None = None
    """Why it does not build, as a repaired copy established it; for a finding about its build."""
    repaired: bool = False
    """Whether it lies behind the build failure: what the probes saw of the repaired copy shows it."""
    outcomes: tuple[Outcome, ...] = (Outcome.FAILED, Outcome.PARTIAL)
    """Outcomes that show it."""
    titles: tuple[NonEmpty, ...] = ()
    """Titles, `*` standing for any characters; those of further observations count as well."""
    mutants: tuple[NonEmpty, ...] = ()
    """Names of mutants that the diagnosis gives as the cause."""
    locations: tuple[NonEmpty, ...] = ()
    """Places, as `file` or `file:line`."""
    measured: Mapping[str, Range] = {}
    """Figures by name, of the evidence or of its counterexample: all of them."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, as the command line takes it."""
        return f"{self.model}/{self.challenge}"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.number is not None) != (self.kind is Necessity.MUST):
            raise ValueError("a finding that must be there, and only that, has a number")
        if self.build and self.criteria:
            raise ValueError("a finding is about the build or about criteria")
        if self.build and self.repaired:
            raise ValueError("a finding is about the build or lies behind it")
        if self.cause and not self.build:
            raise ValueError("only a finding about the build has a cause")
        return self


class ExpectedFindings(Model):
    """The content of `expected.toml`."""

    findings: tuple[ExpectedFinding, ...] = Field(min_length=1)
    """All of them."""

    @model_validator(mode="after")
    def _numbered(self) -> Self:
        numbers = [finding.number for finding in self.findings if finding.number is not None]
        if numbers != list(range(1, len(numbers) + 1)):
            raise ValueError("the findings that must be there are numbered 1, 2, 3 and so on, in their order")
        return self
