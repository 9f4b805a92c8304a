"""Records: the immutable result of one grade, and how it was made."""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from harness.model.base import Figure, Identifier, Model, NonEmpty, Stored, Text
from harness.model.challenges.challenge import Limits
from harness.model.challenges.profile import GradeProfile
from harness.model.evidence.evidence import Evidence, Location, ReadableModel
from harness.model.evidence.finding import NO_ANSWER, Finding, build_finding, criterion_findings, signal_findings
from harness.model.evidence.repair import RepairedGrade
from harness.model.evidence.signal import Signal
from harness.model.record_html import record_html
from harness.model.submissions.collection import Origin
from harness.model.submissions.name import SubmissionName
from harness.model.submissions.submission import Provenance
from harness.model.tier import Tier
from harness.model.tier_choice import TierChoice, UnusedTier


class Status(StrEnum):
    """Progress of a grade."""

    GRADED = "graded"
    BUILD_FAILED = "build_failed"
    JUDGE_ERROR = "judge_error"


class Score(Model):
    """A mark from 0 to 100, with its uncertainty."""

    score: float | None
    """Mark over the assessed criteria; null if there are none."""
    low: float
    """Mark if everything unassessed failed."""
    high: float
    """Mark if everything unassessed passed."""
    coverage: float = Field(ge=0, le=1)
    """Assessed weight over total weight."""


_UNBUILT_TITLES = {
    "compiler": "does not build",
    "import": "does not load",
    "contract": "lacks functions that the contract names",
    "reply": NO_ANSWER,
    "files": "cannot be read",
}


class BuildFailure(ReadableModel):
    """Reason why a submission does not build."""

    stage: Literal["compiler", "import", "contract", "reply", "files"]
    """Stage that refused it: the real compiler, the import in the sandbox, the check of required functions, the reply
    without code to build, or the grader that could not read its files."""
    text: NonEmpty
    """Message of the compiler or import, or why the reply contains no submission."""
    output: str = ""
    """Tail of the output during the import."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the message names."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that fail for this reason, whose findings would repeat it."""

    @property
    def title(self) -> str:
        """Fault as a phrase, to begin a finding."""
        return _UNBUILT_TITLES[self.stage]

    @property
    def detail(self) -> str:
        """Message, followed by the output."""
        return f"{self.text}\n{self.output}".strip()


class Gate(Model):
    """A ceiling on a mark, with the criteria behind it."""

    criteria: tuple[Identifier, ...]
    """Failed criteria; empty if the submission did not build."""
    dimension: Identifier | None
    """Capped heading; null for the overall mark."""
    ceiling: float
    """Highest possible mark."""
    unmet: float | None = Field(default=None, ge=0, le=1)
    """Unmet share of the assessed critical weight, if the gate caps the overall; each tenth lowers its ceiling by a
    point. Null for a dimension, and in records older than this rule."""
    reason: Text
    """Reason as a sentence."""


class Environment(Model):
    """The machine and software of a grade."""

    tier: Tier
    """Isolation tier of the submission."""
    unused_tiers: tuple[UnusedTier, ...] | None = None
    """Stronger tiers, with the reasons against them; null in records older than this field."""
    device: Text
    """Device of the kernels: `cpu`, `emulated` or the name of a GPU."""
    passed_over: str = ""
    """Unused GPU of that machine, and why; empty without one."""
    cpu: str
    """Processor model."""
    platform: str
    """Operating system and machine."""
    python: str
    """Interpreter version in the box."""
    packages: dict[str, str]
    """Versions of the measuring packages."""
    harness: str
    """Version of the harness."""

    @property
    def isolation(self) -> TierChoice:
        """Tier, and the stronger unused ones on record."""
        return TierChoice(tier=self.tier, unused=self.unused_tiers or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about isolation or a device below the machine's abilities."""
        device = f"a GPU was not used, {self.passed_over}" if self.passed_over else ""
        return tuple(filter(None, (self.isolation.warning, device)))


class Record(Stored):
    """One grade of one submission: its subject, place, seed and results."""

    SCHEMA: ClassVar[int] = 2

    schema_version: int = Field(default=2, ge=2)
    """Version of this file's schema."""

    model: Identifier
    """Model that wrote the submission."""
    challenge: Identifier
    """Challenge of the submission."""
    attempt: int | None = Field(default=None, ge=1)
    """Number of the attempt; null for a single submission."""
    provenance: Provenance
    """Source of the submission's files."""
    origin: Origin | None = None
    """Published source, for a submission from a collection."""
    outside: bool = False
    """Whether the graded folder was outside the workspace's submissions."""
    turns: int = Field(default=1, ge=1)
    """Replies allowed to the model; each after the first followed the grader's feedback."""
    status: Status
    """Progress of the grade."""
    key: Text
    """Content key over submission, challenge, references, harness source and environment."""
    probe_set: str | None = None
    """Version of the standard: a hash of the challenge's rubric, probes, mutants and references; null in older records.
    Marks of different probe sets are not comparable."""
    seed: int
    """Seed of the run, from which every criterion's seed derives."""
    ranked: bool
    """False for a seed chosen by hand or an incomplete set of probes."""
    profile: GradeProfile = GradeProfile.FULL
    """Scope of the grade. Only complete `full` records are published and ranked."""
    only: tuple[Identifier, ...] = ()
    """Criteria requested by name instead of the profile's own."""
    cut_off: bool = False
    """Whether time ran out before every criterion was assessed."""
    reward: float | None = Field(default=None, ge=0, le=1)
    """Share met of the gating criteria, or of those requested by name, under the ceilings of marks; 0 if it does not
    build, null if unknown. See `harness.scoring.reward`."""
    made: AwareDatetime
    """Time of the grade."""
    seconds: dict[str, float]
    """Wall time of each stage."""
    environment: Environment
    """Machine and software of the grade."""
    limits: Limits
    """Limits of the submission."""
    overall: Score
    """Weighted mean of the dimensions, gates applied, rounded half up."""
    dimensions: dict[str, Score]
    """Marks by heading."""
    gates: tuple[Gate, ...]
    """Ceilings in force."""
    evidence: tuple[Evidence, ...]
    """One entry per criterion of the rubric; those in `origin.not_asked` are not marked."""
    build: BuildFailure | None = None
    """Reason why the submission does not build."""
    repaired: RepairedGrade | None = None
    """Results of a copy with the smallest repairs that let it compile; not marked."""
    signals: tuple[Signal, ...] = ()
    """Suspicious acts in the sandbox; not marked."""
    remarks: tuple[str, ...] = ()
    """Notes of the grader; not marked."""
    error: str | None = None
    """Failure on our side, for a judge error."""
    unread: bool = False
    """Whether that failure is an ambiguous reply."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.status is Status.JUDGE_ERROR) != bool(self.error):
            raise ValueError("a judge error, and only that, says what broke in 'error'")
        if self.status is not Status.JUDGE_ERROR and (self.status is Status.BUILD_FAILED) != (self.build is not None):
            raise ValueError("a failed build, and only that, says why in 'build'")
        if self.repaired is not None and self.build is None:
            raise ValueError("only what does not build has a repaired copy")
        return self

    @property
    def partial(self) -> bool:
        """True if it covers less than the profile `full`, and so is neither published nor ranked."""
        return self.profile is not GradeProfile.FULL or bool(self.only) or self.cut_off

    @property
    def unmarked(self) -> Mapping[str, str]:
        """Criteria without marks, with reasons: not asked for by the original prompt, or decided by our adapter."""
        return self.origin.unmarked if self.origin else {}

    @property
    def marked(self) -> tuple[Evidence, ...]:
        """Evidence behind marks, gates, ranks and findings."""
        unmarked = self.unmarked
        return tuple(e for e in self.evidence if e.criterion not in unmarked)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Faults in words: the build, critical criteria, signals, then the other criteria."""
        repeated = self.build.criteria if self.build else ()
        critical, others = criterion_findings(e for e in self.marked if e.criterion not in repeated)
        return (*self._make_build_findings(), *critical, *signal_findings(self.signals), *others)

    def _make_build_findings(self) -> Iterator[Finding]:
        if self.build and self.repaired:
            title = f"{self.build.title}: {self.repaired.cause.fault}"
            yield build_finding(title, self.build.detail, self.build.locations, self.repaired.diagnosis)
        elif self.build:
            yield build_finding(self.build.title, self.build.detail, self.build.locations)

    def to_json_values(self) -> dict[str, Any]:
        """Return the record as JSON values, with its findings."""
        # through text, which turns non-finite figures into strings
        findings = [json.loads(finding.model_dump_json()) for finding in self.findings]
        return {**json.loads(self.to_json()), "findings": findings}

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return record_html(self)

    @property
    def submission_name(self) -> SubmissionName:
        """Name of the submission."""
        return SubmissionName(self.model, self.challenge, self.attempt)

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N`, as on the command line."""
        return str(self.submission_name)

    @property
    def of_submission(self) -> bool:
        """True if it belongs to a folder under submissions/, and is removed with it."""
        return self.origin is None and not self.outside

    @property
    def unanswered(self) -> bool:
        """True if the model's reply contains no submission."""
        return self.build is not None and self.build.stage == "reply"

    @property
    def quotable(self) -> bool:
        """True if lines of the submission may be shown and stored."""
        return self.origin is None or self.origin.redistribute

    def figures(self) -> dict[str, Figure]:
        """Return all measured figures by name."""
        return {name: value for item in self.evidence for name, value in item.measured.items()}
