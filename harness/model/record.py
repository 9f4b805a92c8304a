"""The immutable result of one grade, and how it was made."""

from enum import StrEnum

from pydantic import Field

from harness.model.base import Figure, Identifier, Model, Stored, Text
from harness.model.challenge import Limits
from harness.model.evidence import Evidence, Finding
from harness.model.submission import Provenance


class Status(StrEnum):
    """How far a grade got."""

    GRADED = "graded"
    BUILD_FAILED = "build_failed"
    JUDGE_ERROR = "judge_error"


class Score(Model):
    """A mark with what is known about it. Marks run from 0 to 100."""

    score: float | None
    """The mark over what was assessed; null when nothing was."""
    low: float
    """The mark if everything unassessed were lost."""
    high: float
    """The mark if everything unassessed were met."""
    coverage: float = Field(ge=0, le=1)
    """Assessed weight over total weight."""


class Gate(Model):
    """A ceiling on a mark, with the criteria that put it there."""

    criteria: tuple[Identifier, ...]
    """Criteria that failed; empty when the submission did not build."""
    dimension: Identifier | None
    """The heading it caps; null for the overall mark."""
    ceiling: float
    """Highest mark left."""
    reason: Text
    """Why, in a sentence."""


class Environment(Model):
    """Where a grade was made."""

    tier: Text
    """Isolation the submission ran in."""
    device: Text
    """Where kernels ran: `cpu`, `emulated` or the name of a GPU."""
    cpu: str
    """Processor model."""
    platform: str
    """Operating system and machine."""
    python: str
    """Version of the interpreter in the box."""
    packages: dict[str, str]
    """Versions of the packages that measure."""
    harness: str
    """Version of the harness."""


class Record(Stored):
    """One grade of one submission: what was graded, where, with which seed, and what came out."""

    model: Identifier
    """Who answered."""
    challenge: Identifier
    """What was answered."""
    provenance: Provenance
    """Where the submission's files come from."""
    status: Status
    """How far the grade got."""
    key: Text
    """Content key over submission, challenge, references, harness source and environment."""
    seed: int
    """Seed of the run; every criterion's seed derives from it."""
    ranked: bool
    """False when the seed was chosen by hand or only part of the probes ran."""
    made: Text
    """When, in UTC."""
    seconds: dict[str, float]
    """Wall time of each stage."""
    environment: Environment
    """Where the grade was made."""
    limits: Limits
    """What the submission could use."""
    overall: Score
    """Declared weights times dimensions, gates applied, rounded half up."""
    dimensions: dict[str, Score]
    """Marks by heading."""
    gates: tuple[Gate, ...]
    """Ceilings that apply."""
    evidence: tuple[Evidence, ...]
    """One entry for every criterion of the rubric."""
    findings: tuple[Finding, ...]
    """What went wrong, in words, the gravest first."""
    remarks: tuple[str, ...] = ()
    """Notes of the grader that carry no mark."""
    error: str | None = None
    """What broke on our side, for a judge error."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, as the command line takes it."""
        return f"{self.model}/{self.challenge}"

    def figures(self) -> dict[str, Figure]:
        """All measured figures of the record by name."""
        return {name: value for item in self.evidence for name, value in item.measured.items()}
