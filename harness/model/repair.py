"""What lies behind a failed build: the smallest repairs that get the compiler past it, and what the copy then shows."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from harness.model.base import NonEmpty
from harness.model.evidence import Evidence, Location, ReadableModel
from harness.model.finding import Finding, criterion_findings


class RepairKind(StrEnum):
    """A fault of form that can be repaired without knowing what the code is for."""

    MISSING_HEADER = "missing_header"
    FENCED_CODE = "fenced_code"
    UNCLOSED_COMMENT = "unclosed_comment"
    MISSPELT_NAME = "misspelt_name"

    @property
    def fault(self) -> str:
        """The fault in a phrase."""
        return _FAULTS[self]


_FAULTS = {
    RepairKind.MISSING_HEADER: "a header is not included",
    RepairKind.FENCED_CODE: "a source file is a Markdown page",
    RepairKind.UNCLOSED_COMMENT: "a comment runs on outside its marks",
    RepairKind.MISSPELT_NAME: "a name is mis-spelt",
}


class Repair(ReadableModel):
    """One change of a copy of an answer after which the compiler got past the place it had stopped at."""

    kind: RepairKind
    """The fault it repairs."""
    locations: tuple[Location, ...] = Field(min_length=1)
    """Where the copy was changed; the lines of a copy have the numbers they have in the answer."""
    words: NonEmpty
    """What was changed, in a sentence that quotes nothing of the answer."""


class RepairedGrade(ReadableModel):
    """What a repaired copy of an answer that does not build shows. No mark is made of it."""

    repairs: tuple[Repair, ...] = Field(min_length=1)
    """What was repaired, in this order; the first one is why the answer does not build."""
    detail: str = ""
    """Why nothing of the copy ran; empty when its probes ran."""
    evidence: tuple[Evidence, ...] = ()
    """What the probes saw of the copy."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if bool(self.detail) == bool(self.evidence):
            raise ValueError("a repaired copy has evidence, or says in 'detail' why nothing of it ran")
        return self

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the copy, in words, the gravest first."""
        critical, others = criterion_findings(self.evidence)
        return (*critical, *others)

    @property
    def cause(self) -> RepairKind:
        """Why the answer itself does not build."""
        return self.repairs[0].kind

    @property
    def diagnosis(self) -> str:
        """How that was established."""
        words = "; then ".join(repair.words for repair in self.repairs)
        return f"{self.cause.fault}: with that repaired in a copy the compiler gets past it ({words})"
