"""Expected findings for grading a collection, checked by hand, from its `expected.toml`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, NonEmpty, Text
from harness.model.evidence.evidence import Outcome
from harness.model.evidence.repair import RepairKind


class Necessity(StrEnum):
    """How a grade must treat a finding: it has to, may or must not show it."""

    MUST = "must"
    MAY = "may"
    NEVER = "never"


class Range(Model):
    """An inclusive range of figures."""

    least: float = float("-inf")
    """Smallest figure."""
    most: float = float("inf")
    """Largest figure."""


class ExpectedFinding(Model):
    """One finding, described by fields of its evidence. A field with several patterns matches any of them."""

    number: Annotated[int | None, Field(ge=1)] = None
    """Number of a required finding; two ids for one fault share it."""
    ids: tuple[NonEmpty, ...] = ()
    """Its ids in the source notes."""
    kind: Necessity
    """Whether it is required, allowed or forbidden."""
    model: Identifier
    """Model that wrote the submission."""
    challenge: Identifier
    """Challenge of the submission."""
    says: Text
    """Behaviour in words; not compared."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that show it by themselves, not through `rests_on`; empty for any."""
    build: Literal["compiler", "import", "contract"] | None = None
    """Stage that refuses the submission, for a finding about its build."""
    cause: RepairKind | None = None
    """Cause of the failed build, established by a repaired copy."""
    repaired: bool = False
    """Whether it appears only in the repaired copy of a failed build."""
    outcomes: tuple[Outcome, ...] = (Outcome.FAILED, Outcome.PARTIAL)
    """Outcomes that show it."""
    titles: tuple[NonEmpty, ...] = ()
    """Titles, with `*` for any characters; titles of further observations count too."""
    mutants: tuple[NonEmpty, ...] = ()
    """Mutants that the diagnosis names."""
    locations: tuple[NonEmpty, ...] = ()
    """Places, as `file` or `file:line`."""
    measured: Mapping[str, Range] = {}
    """Figures by name, of the evidence or its counterexample; all must match."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, as on the command line."""
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
    """All findings."""

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        numbers = [finding.number for finding in self.findings if finding.number is not None]
        if numbers != list(range(1, len(numbers) + 1)):
            raise ValueError("the findings that must be there are numbered 1, 2, 3 and so on, in their order")
        return self
