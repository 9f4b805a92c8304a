"""The immutable result of one grade, and how it was made."""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from harness.model.base import Figure, Identifier, Model, NonEmpty, Stored, Text
from harness.model.challenge import Limits
from harness.model.collection import Origin
from harness.model.evidence import Evidence, Location, ReadableModel
from harness.model.finding import NO_ANSWER, Finding, build_finding, criterion_findings, signal_findings
from harness.model.profile import GradeProfile
from harness.model.repair import RepairedGrade
from harness.model.signal import Signal
from harness.model.submission import Provenance
from harness.model.submission_name import SubmissionName
from harness.model.tier import Tier
from harness.model.tier_choice import TierChoice, UnusedTier


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


_UNBUILT_TITLES = {
    "compiler": "does not build",
    "import": "does not load",
    "contract": "lacks functions that the contract names",
    "reply": NO_ANSWER,
    "files": "cannot be read",
}


class BuildFailure(ReadableModel):
    """Why a submission does not build."""

    stage: Literal["compiler", "import", "contract", "reply", "files"]
    """What refused it: the real compiler, loading it in the sandbox, the list of functions it must define, the reply,
    which holds nothing to build, or the grader, which could not read its files."""
    text: NonEmpty
    """The compiler's or loader's own words, or why the reply holds no answer."""
    output: str = ""
    """The last of what the submission printed while it was loaded."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the words name."""
    criteria: tuple[Identifier, ...] = ()
    """Criteria that fail by this very failure: their findings would repeat it."""

    @property
    def title(self) -> str:
        """What it does not do, as a finding begins."""
        return _UNBUILT_TITLES[self.stage]

    @property
    def detail(self) -> str:
        """The words, and below them what was printed."""
        return f"{self.text}\n{self.output}".strip()


class Gate(Model):
    """A ceiling on a mark, with the criteria that put it there."""

    criteria: tuple[Identifier, ...]
    """Criteria that failed; empty when the submission did not build."""
    dimension: Identifier | None
    """The heading it caps; null for the overall mark."""
    ceiling: float
    """Highest mark left."""
    unmet: float | None = Field(default=None, ge=0, le=1)
    """Share not met of the critical weight assessed, where the gate caps the overall: each tenth takes a point off its
    ceiling. Null for a dimension, and in records made before critical criteria ordered marks under a ceiling."""
    reason: Text
    """Why, in a sentence."""


class Environment(Model):
    """Where a grade was made."""

    tier: Tier
    """Isolation the submission ran in."""
    unused_tiers: tuple[UnusedTier, ...] | None = None
    """Every stronger tier, and why it was not used; null in records made before this was kept."""
    device: Text
    """Where kernels ran: `cpu`, `emulated` or the name of a GPU."""
    passed_over: str = ""
    """A GPU of that machine that was not used, and why; empty where there was none."""
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

    @property
    def isolation(self) -> TierChoice:
        """The tier, and the stronger ones that were not used, as far as the record states them."""
        return TierChoice(tier=self.tier, unused=self.unused_tiers or ())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of the machine: isolation or a device that is weaker than what it has."""
        device = f"a GPU was not used, {self.passed_over}" if self.passed_over else ""
        return tuple(filter(None, (self.isolation.warning, device)))


class Record(Stored):
    """One grade of one submission: what was graded, where, with which seed, and the results."""

    SCHEMA: ClassVar[int] = 2

    schema_version: int = Field(default=2, ge=2)
    """Version of this file's schema."""

    model: Identifier
    """Who answered."""
    challenge: Identifier
    """What was answered."""
    attempt: int | None = Field(default=None, ge=1)
    """Which of several answers it is; null for the only one."""
    provenance: Provenance
    """Where the submission's files come from."""
    origin: Origin | None = None
    """Where it was published, for an answer of a collection."""
    outside: bool = False
    """Whether the folder graded lay outside the workspace's submissions, so that none of them stands for it."""
    turns: int = Field(default=1, ge=1)
    """Replies the model was allowed, each after the first made in view of what the grader found before."""
    status: Status
    """How far the grade got."""
    key: Text
    """Content key over submission, challenge, references, harness source and environment."""
    probe_set: str | None = None
    """Version of what the answer was held to: a hash of the challenge's rubric, probes, mutants and references; null in
    records made before there was one. Marks of other probe sets are not comparable."""
    seed: int
    """Seed of the run; every criterion's seed derives from it."""
    ranked: bool
    """False when the seed was chosen by hand or only part of the probes ran."""
    profile: GradeProfile = GradeProfile.FULL
    """What was run. Only a record of the whole of `full` is published and ranked."""
    only: tuple[Identifier, ...] = ()
    """The criteria that were asked for by name in place of the profile's own."""
    cut_off: bool = False
    """Whether the time set for the grade ran out before every criterion was assessed."""
    reward: float | None = Field(default=None, ge=0, le=1)
    """Share of the gating criteria that is met, or of those asked for by name, under the ceilings of marks; 0 for what
    does not build, null where nothing can be said. See `harness.scoring.reward`."""
    made: AwareDatetime
    """When."""
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
    """One entry for every criterion of the rubric; those that `origin.not_asked` names enter no mark."""
    build: BuildFailure | None = None
    """Why the submission does not build."""
    repaired: RepairedGrade | None = None
    """What a copy shows in which the smallest repairs got the compiler past that; no mark is made of it."""
    signals: tuple[Signal, ...] = ()
    """What it was seen doing in the sandbox; carries no mark."""
    remarks: tuple[str, ...] = ()
    """Notes of the grader that carry no mark."""
    error: str | None = None
    """What broke on our side, for a judge error."""
    unread: bool = False
    """Whether that is a reply which could not be read with certainty."""

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
        """Whether it says less than a record of the profile `full`, and so is neither published nor ranked."""
        return self.profile is not GradeProfile.FULL or bool(self.only) or self.cut_off

    @property
    def unmarked(self) -> Mapping[str, str]:
        """The criteria that enter no mark, and why: the original prompt did not ask, or our adapter decides them."""
        return self.origin.unmarked if self.origin else {}

    @property
    def marked(self) -> tuple[Evidence, ...]:
        """The evidence that marks, gates, ranks and findings are made of."""
        unmarked = self.unmarked
        return tuple(e for e in self.evidence if e.criterion not in unmarked)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What went wrong, in words: the build, critical criteria, signals, then the other criteria."""
        repeated = self.build.criteria if self.build else ()
        critical, others = criterion_findings(e for e in self.marked if e.criterion not in repeated)
        return (*self._unbuilt(), *critical, *signal_findings(self.signals), *others)

    def _unbuilt(self) -> Iterator[Finding]:
        """The finding of a failed build."""
        if self.build and self.repaired:
            title = f"{self.build.title}: {self.repaired.cause.fault}"
            yield build_finding(title, self.build.detail, self.build.locations, self.repaired.diagnosis)
        elif self.build:
            yield build_finding(self.build.title, self.build.detail, self.build.locations)

    def printed(self) -> dict[str, Any]:
        """The record as JSON values, its findings beside it."""
        # through text: only there a figure that is not finite becomes a string
        findings = [json.loads(finding.model_dump_json()) for finding in self.findings]
        return {**json.loads(self.to_json()), "findings": findings}

    @property
    def submission_name(self) -> SubmissionName:
        """What was graded."""
        return SubmissionName(self.model, self.challenge, self.attempt)

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N`, as the command line takes it."""
        return str(self.submission_name)

    @property
    def of_submission(self) -> bool:
        """Whether a folder under submissions/ stands for it: where that is removed, the record goes, too."""
        return self.origin is None and not self.outside

    @property
    def unanswered(self) -> bool:
        """Whether the model's reply holds no answer."""
        return self.build is not None and self.build.stage == "reply"

    @property
    def quotable(self) -> bool:
        """Whether lines of the submission may be shown and stored."""
        return self.origin is None or self.origin.redistribute

    def figures(self) -> dict[str, Figure]:
        """All measured figures of the record by name."""
        return {name: value for item in self.evidence for name, value in item.measured.items()}
