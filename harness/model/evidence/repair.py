"""Repairs: the smallest changes that make a failed build compile, and the results of the repaired copy."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from harness.model.base import NonEmpty
from harness.model.evidence.evidence import Evidence, Location, ReadableModel
from harness.model.evidence.finding import Finding, criterion_findings


class RepairKind(StrEnum):
    """A formal fault that can be repaired without understanding the code."""

    MISSING_HEADER = "missing_header"
    FENCED_CODE = "fenced_code"
    UNCLOSED_COMMENT = "unclosed_comment"
    MISSPELT_NAME = "misspelt_name"

    @property
    def fault(self) -> str:
        """Fault as a phrase."""
        return _FAULTS[self]


_FAULTS = {
    RepairKind.MISSING_HEADER: "a header is not included",
    RepairKind.FENCED_CODE: "a source file is a Markdown page",
    RepairKind.UNCLOSED_COMMENT: "a comment runs on outside its marks",
    RepairKind.MISSPELT_NAME: "a name is mis-spelt",
}


class Repair(ReadableModel):
    """One change to a copy that moves the compiler past an error."""

    kind: RepairKind
    """Fault that it repairs."""
    locations: tuple[Location, ...] = Field(min_length=1)
    """Changed places; line numbers are the same as in the submission."""
    words: NonEmpty
    """Change as a sentence, without quotes of the submission."""


class RepairedGrade(ReadableModel):
    """The results of a repaired copy of a failed build; not marked."""

    repairs: tuple[Repair, ...] = Field(min_length=1)
    """Repairs in order; the first is the cause of the failure."""
    detail: str = ""
    """Why the copy did not run; empty if its probes ran."""
    evidence: tuple[Evidence, ...] = ()
    """Evidence of the copy's probes."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if bool(self.detail) == bool(self.evidence):
            raise ValueError("a repaired copy has evidence, or says in 'detail' why nothing of it ran")
        return self

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Faults of the copy in words, gravest first."""
        critical, others = criterion_findings(self.evidence)
        return (*critical, *others)

    @property
    def cause(self) -> RepairKind:
        """Cause of the submission's own failure."""
        return self.repairs[0].kind

    @property
    def diagnosis(self) -> str:
        """Cause, and the repairs that establish it."""
        words = "; then ".join(repair.words for repair in self.repairs)
        return f"{self.cause.fault}: with that repaired in a copy the compiler gets past it ({words})"
