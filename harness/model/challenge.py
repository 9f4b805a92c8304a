"""A challenge: the task, its limits, and the rubric that says what feeds each criterion."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Stored, Text

CompilerFact = Literal["compiles", "no_spills"]
"""What the compiler of the answer's language says of it."""

SourceMetric = Literal["largest_file", "complexity", "function_length", "lint", "documentation", "duplication"]
"""What `harness.quality` measures of an answer's source."""


class Severity(StrEnum):
    """How much a criterion weighs, and whether failing it gates the grade."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"

    @property
    def weight(self) -> int:
        """Weight inside the criterion's dimension: 5, 3 or 1."""
        return _WEIGHTS[self]


_WEIGHTS = {Severity.CRITICAL: 5, Severity.MAJOR: 3, Severity.MINOR: 1}


Seconds = Annotated[float, Field(gt=0, le=86_400)]
Mebibytes = Annotated[int, Field(le=1 << 20)]
TEST_RUN_SECONDS = 10.0
"""Processor time within which an answer's own tests must finish once."""


class Limits(Model):
    """What a submission may use; printed with every grade and open to override.

    Seconds do not count while a process is ready to run and has no processor. `harness.sandbox.wall_bound` states how
    long a grade waits for them by the wall clock.
    """

    build_seconds: Seconds = 600.0
    """Time for each compiler of a submission that is compiled."""
    start_seconds: Seconds = 20.0
    """Time to import the submission."""
    call_seconds: Seconds = 10.0
    """Time for one call through the contract."""
    function_seconds: dict[Text, Seconds] = Field(default_factory=dict)
    """The same for functions that take longer, such as a training run, by name."""
    probes_seconds: Seconds = 120.0
    """Time for all calls of all probes; what is asked for after that fails."""
    memory_mib: Mebibytes = Field(default=2048, ge=64)
    """Address space of the worker process."""
    scratch_mib: Mebibytes = Field(default=16, ge=1)
    """Size of the worker's writable scratch space."""
    tests_seconds: Seconds = 120.0
    """Processor time for the answer's own tests, on the answer and on all mutants; where it does not suffice, no kill
    rate is taken."""

    def __hash__(self) -> int:
        """Challenges are looked up by their value, and a dict has no hash of its own."""
        return hash(self.model_dump_json())

    def seconds_of(self, function: str) -> float:
        """Return the time for one call of a function."""
        return self.function_seconds.get(function, self.call_seconds)


class Contract(Model):
    """Names a submission must and may expose."""

    functions: tuple[str, ...] = Field(min_length=1)
    """Functions every submission exposes."""
    optional: tuple[str, ...] = ()
    """Functions an answer may expose."""

    @property
    def exposed(self) -> tuple[str, ...]:
        """Both, the ones that every submission exposes first."""
        return (*self.functions, *self.optional)


class ErrorRatioScale(Model):
    """What an error ratio of 1 means, where a challenge judges by a unit of its own."""

    unit: Text
    """What the distance to the oracle is divided by, in a phrase."""
    passes: float = Field(gt=0, allow_inf_nan=False)
    """The largest ratio that is right."""


class Dimension(Model):
    """A rubric heading: a weighted set of criteria."""

    id: Identifier
    """Stable key in records and reports."""
    title: Text
    """Heading in reports."""
    weight: float = Field(gt=0, allow_inf_nan=False)
    """Weight in the overall score."""


class Criterion(Model):
    """One requirement. Exactly one of `probes`, `metric`, `tests`, `claims`, `compiler`, `review` feeds it."""

    id: Identifier
    """Stable key in records and reports."""
    dimension: Identifier
    """The heading it counts under."""
    severity: Severity
    """Its weight, and whether failing it gates the grade."""
    title: Text
    """The requirement as a sentence that is true of a good answer."""
    asked: Text | None = None
    """The words of PROMPT.md that ask for it, up to white space."""
    unmet: Text | None = None
    """The fault as a phrase, where the feed has no name; without it "not met" or "met in part", and the title."""
    probes: tuple[str, ...] = ()
    """Probes, by function name; all of them must pass."""
    metric: SourceMetric | None = None
    """A source metric of `harness.quality`."""
    tests: Literal["suite_passes", "kill_rate", "real_assertions"] | None = None
    """A figure of the answer's own tests."""
    claims: bool = False
    """Fed by comparing `[[claims]]` with what was measured."""
    compiler: CompilerFact | None = None
    """Fed by the compiler of the answer's language."""
    review: Text | None = None
    """The question a reviewer answers, for what cannot be executed."""
    rests_on: tuple[Identifier, ...] = ()
    """Criteria that see the same faults at plain sizes: what one of them fails for is not charged here again."""
    judges: Literal["value", "property"] = "value"
    """What its probes compare an answer with: the oracle, or itself. A property criterion fails only where the property
    was seen broken; where a fault that another criterion is charged with keeps it from being seen, it is not run."""
    seeded_by: Literal["run", "files"] = "run"
    """What the draws of its probes come from: the run, or the files graded, where credit is the share of what was drawn
    that came out right. Equal files then earn an equal share, as they do of the mutants that their tests meet."""
    rewarded: bool = False
    """Whether it is part of a reward although it gates no marks: cheap probes, by which every seed sees the fault."""
    capability: str | None = None
    """Probed only when claimed: `name`, or `name:value` for a value of a list. Whatever its severity, an option that
    is claimed and gives wrong values gates."""

    @property
    def gating(self) -> bool:
        """Whether it is executed and failing it can put a ceiling on marks."""
        return (self.severity is Severity.CRITICAL or bool(self.capability)) and bool(self.probes or self.compiler)

    @property
    def executed(self) -> bool:
        """Whether running or compiling the submission feeds it, not reading it."""
        return bool(self.probes or self.compiler or self.tests or self.claims)

    def fault(self, *, in_part: bool) -> str:
        """Return the fault in a phrase, where no probe names a closer one.

        Args:
            in_part: whether a share is met.
        """
        return self.unmet or f"{'met in part' if in_part else 'not met'}: {self.title.rstrip('.')}"

    @model_validator(mode="after")
    def _one_feed(self) -> Self:
        feeds = (self.probes, self.metric, self.tests, self.claims, self.compiler, self.review)
        if sum(map(bool, feeds)) != 1:
            raise ValueError("needs exactly one of probes, metric, tests, claims, compiler, review")
        if self.judges == "property" and not self.probes:
            raise ValueError("only a criterion fed by probes judges a property")
        if self.seeded_by != "run" and not self.probes:
            raise ValueError("only a criterion fed by probes is seeded")
        if self.rewarded and not self.probes:
            raise ValueError("only a criterion fed by probes is part of a reward")
        if self.capability and not self.probes:
            raise ValueError("a capability must be fed by probes")
        return self


class Challenge(Stored):
    """The content of `challenge.toml`."""

    id: Identifier
    """Name of the challenge's folder."""
    title: Text
    """Name in reports."""
    summary: Text
    """The task in one or two sentences."""
    language: Identifier = "python"
    """What a submission is written in."""
    anchor: Identifier
    """The criterion without which nothing that is run earns anything: it holds null answers at nought."""
    contract: Contract
    """What a submission exposes."""
    limits: Limits = Limits()
    """What a submission may use."""
    error_ratio: ErrorRatioScale | None = None
    """How error ratios are judged; None where they are in units of what rounding the inputs costs."""
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    """The rubric's headings, in the order of reports."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """The rubric's requirements, in the order of reports."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        dimensions = [d.id for d in self.dimensions]
        criteria = [c.id for c in self.criteria]
        for kind, ids in (("dimension", dimensions), ("criterion", criteria)):
            doubled = sorted({i for i in ids if ids.count(i) > 1})
            if doubled:
                raise ValueError(f"{kind} {doubled[0]!r} appears twice")
        for criterion in self.criteria:
            if criterion.dimension not in dimensions:
                raise ValueError(f"criterion {criterion.id!r} names unknown dimension {criterion.dimension!r}")
            unknown = [id for id in criterion.rests_on if id not in criteria or id == criterion.id]
            if unknown:
                raise ValueError(f"criterion {criterion.id!r} rests on {unknown[0]!r}, which is no other criterion")
        empty = [d for d in dimensions if all(c.dimension != d for c in self.criteria)]
        if empty:
            raise ValueError(f"dimension {empty[0]!r} has no criterion")
        exposed = self.contract.exposed
        if unnamed := [name for name in self.limits.function_seconds if name not in exposed]:
            raise ValueError(f"limits.function_seconds names {unnamed[0]!r}, which the contract does not")
        anchor = next((c for c in self.criteria if c.id == self.anchor), None)
        if anchor is None or not anchor.probes:
            raise ValueError(f"anchor {self.anchor!r} is not a criterion fed by probes")
        return self

    def criterion(self, id: str) -> Criterion:
        """The criterion of that id.

        Raises:
            KeyError: there is none.
        """
        return {c.id: c for c in self.criteria}[id]
