"""A challenge: the task, its limits, and the rubric with the feed of each criterion."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Identifier, Model, Stored, Text

CompilerFact = Literal["compiles", "no_spills"]
"""Fact that the compiler of the submission's language reports."""

SourceMetric = Literal["largest_file", "complexity", "function_length", "lint", "documentation", "duplication"]
"""Source metric of `harness.quality`."""


class Severity(StrEnum):
    """A criterion's weight, and whether its failure gates the grade."""

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
"""Processor seconds for one run of a submission's own tests."""


class Limits(Model):
    """A submission's limits, printed with every grade and open to override.

    Seconds exclude the time in which a process is runnable without a processor. See
    `harness.sandbox.accounting.wall_bound` for the bound on wall time.
    """

    build_seconds: Seconds = 600.0
    """Time per compiler of a compiled submission."""
    start_seconds: Seconds = 20.0
    """Time to import the submission."""
    call_seconds: Seconds = 10.0
    """Time per call through the contract."""
    function_seconds: dict[Text, Seconds] = Field(default_factory=dict)
    """Time per call of slower functions, such as a training run, by name."""
    probes_seconds: Seconds = 120.0
    """Time for all calls of all probes; later calls fail."""
    memory_mib: Mebibytes = Field(default=2048, ge=64)
    """Address space of the worker process."""
    scratch_mib: Mebibytes = Field(default=16, ge=1)
    """Size of the worker's scratch space."""
    tests_seconds: Seconds = 120.0
    """Processor time for the submission's own tests, on itself and on all mutants; without enough of it there is no
    kill rate."""

    def __hash__(self) -> int:
        """Hash by value, which the dict field would otherwise prevent."""
        return hash(self.model_dump_json())

    def seconds_of(self, function: str) -> float:
        """Return the time for one call of a function."""
        return self.function_seconds.get(function, self.call_seconds)


class Contract(Model):
    """Names that a submission must or may define."""

    functions: tuple[str, ...] = Field(min_length=1)
    """Required functions."""
    optional: tuple[str, ...] = ()
    """Optional functions."""

    @property
    def exposed(self) -> tuple[str, ...]:
        """Required functions, then optional ones."""
        return (*self.functions, *self.optional)


class ErrorRatioScale(Model):
    """The meaning of an error ratio of 1, for a challenge with its own unit."""

    unit: Text
    """Divisor of the distance to the oracle, as a phrase."""
    full: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Largest ratio with full marks; None if every passing one has them."""
    passes: float = Field(gt=0, allow_inf_nan=False)
    """Largest passing ratio."""


class Dimension(Model):
    """A rubric heading: a weighted set of criteria."""

    id: Identifier
    """Stable key in records and reports."""
    title: Text
    """Heading in reports."""
    weight: float = Field(gt=0, allow_inf_nan=False)
    """Weight in the overall score."""


class Criterion(Model):
    """One requirement, fed by exactly one of `probes`, `metric`, `tests`, `claims`, `compiler`, `review`."""

    id: Identifier
    """Stable key in records and reports."""
    dimension: Identifier
    """Id of its heading."""
    severity: Severity
    """Weight, and whether failure gates the grade."""
    title: Text
    """Requirement as a sentence that is true of a good submission."""
    asked: Text | None = None
    """Words of PROMPT.md that ask for it, up to white space."""
    unmet: Text | None = None
    """Fault as a phrase, if the feed names none; by default "not met" or "met in part", and the title."""
    probes: tuple[str, ...] = ()
    """Probes by function name, all of which must pass."""
    metric: SourceMetric | None = None
    """Source metric of `harness.quality`."""
    tests: Literal["suite_passes", "kill_rate", "real_assertions"] | None = None
    """Figure of the submission's own tests."""
    claims: bool = False
    """Whether comparing `[[claims]]` with measurements feeds it."""
    compiler: CompilerFact | None = None
    """Fact that the compiler of the submission's language reports."""
    review: Text | None = None
    """Question to a reviewer, for requirements that cannot be executed."""
    rests_on: tuple[Identifier, ...] = ()
    """Criteria that see the same faults at plain sizes; a fault charged to one of them is not charged here again."""
    judges: Literal["value", "property"] = "value"
    """Standard of comparison: the oracle's value, or a property of the submission's own outputs. A property criterion
    fails only if the property is seen broken; it is not run while a fault charged to another criterion hides the
    property."""
    seeded_by: Literal["run", "files"] = "run"
    """Source of its probes' draws: the run's seed, or the graded files. In the latter case credit is the share of draws
    that came out right, so that equal files earn equal shares, as with the mutants of their tests."""
    rewarded: bool = False
    """Whether it enters rewards although it does not gate: cheap probes whose every seed shows the fault."""
    capability: str | None = None
    """Optional feature without which it is not probed: `name`, or `name:value` for a list. A claimed option with wrong
    values gates at any severity."""

    @property
    def gating(self) -> bool:
        """True if it is executed and its failure can cap marks."""
        return (self.severity is Severity.CRITICAL or bool(self.capability)) and bool(self.probes or self.compiler)

    @property
    def executed(self) -> bool:
        """True if running or compiling feeds it, rather than reading."""
        return bool(self.probes or self.compiler or self.tests or self.claims)

    def fault(self, *, in_part: bool) -> str:
        """Return the fault as a phrase, for lack of a probe's own.

        Args:
            in_part: whether a share is met.
        """
        return self.unmet or f"{'met in part' if in_part else 'not met'}: {self.title.rstrip('.')}"

    @model_validator(mode="after")
    def _check_one_feed(self) -> Self:
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
    """Task in one or two sentences."""
    language: Identifier = "python"
    """Language of submissions."""
    shares: Identifier | None = None
    """Another challenge, whose modules this one's import as `from .<its id>.<module> import ...`."""
    anchor: Identifier
    """Criterion without which no executed criterion earns anything, so that null submissions score 0."""
    contract: Contract
    """Functions of a submission."""
    limits: Limits = Limits()
    """Limits of a submission."""
    error_ratio: ErrorRatioScale | None = None
    """Scale of error ratios; None for units of the inputs' rounding."""
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    """Rubric headings, in the order of reports."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """Rubric requirements, in the order of reports."""

    @model_validator(mode="after")
    def _check_consistent(self) -> Self:
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
        """Return the criterion with this id.

        Raises:
            KeyError: unknown id.
        """
        return {c.id: c for c in self.criteria}[id]
