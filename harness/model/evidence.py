"""What running one criterion showed."""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from harness.model.base import Figure, Identifier, Model, NonEmpty, is_nan, relative
from harness.model.challenge import Criterion, Severity
from harness.model.draws import Draws, Threshold
from harness.model.loss import Loss

UNBUILT = "build"
"""What evidence rests on when the submission does not build."""

NEEDS_REVIEW = "needs a review"
"""Why nothing was run for a criterion that is a question to a reviewer."""


class Outcome(StrEnum):
    """Outcome of one criterion."""

    PASSED = "passed"
    FAILED = "failed"
    PARTIAL = "partial"
    NOT_OFFERED = "not_offered"
    NOT_RUN = "not_run"
    UNSUPPORTED = "unsupported"
    JUDGE_ERROR = "judge_error"

    @property
    def assessed(self) -> bool:
        """Whether the outcome counts in the mark; an optional feature that is not offered earns nothing."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL, Outcome.NOT_OFFERED)

    @property
    def ran(self) -> bool:
        """Whether something was executed or measured."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL)


class Obstacle(StrEnum):
    """What kept a probe from seeing what it asks for."""

    CALL = "call"
    """A call failed."""
    OUTPUT = "output"
    """An output was constant or a copy of an input."""
    FAULT = "fault"
    """A fault that another criterion judges: the plain case, without what the probe asks for, shows it as well."""


class ReadableModel(Model):
    """Holds text that a submission may have written: bytes that do not decode become question marks."""

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


class Location(ReadableModel):
    """A place in a file of the submission."""

    file: str = Field(min_length=1, max_length=4096)
    """Path inside the submission."""
    line: int | None = Field(default=None, ge=1)
    """Line, from 1 on; null for the file as a whole."""
    function: str = ""
    """The function or kernel, where it is known."""

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        return relative(file)

    @classmethod
    def within(cls, file: str, line: int | None = None, function: str = "") -> tuple[Self, ...]:
        """The location as a tuple; empty when the path is not one inside the submission."""
        try:
            return (cls(file=file, line=line or None, function=function),)
        except ValueError:
            return ()

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} {self.function}".rstrip()


class Counterexample(ReadableModel):
    """The smallest input found on which the answer went wrong."""

    probe: str = ""
    """The probe that found it."""
    case: dict[str, Figure] = Field(default_factory=dict)
    """Sizes and settings that, with the seed, give the input."""
    where: str = ""
    """Output and index at fault, such as `dx[0, 3, 1]`."""
    expected: Figure | None = None
    """What the oracle says there."""
    got: Figure | None = None
    """What the answer gave there."""
    measured: dict[str, Figure] = Field(default_factory=dict)
    """Figures of this input alone, by name."""
    program: tuple[str, ...] = ()
    """The calls that lead there, a line each, where it takes more than one."""
    after_others: bool = False
    """Whether it goes wrong only after other calls: as the first of a process the input passes."""
    asks_for: tuple[str, ...] | None = Field(default=None, exclude=True)
    """Criteria of options that the program makes use of, None where nobody says; used and stored as `fault_of` is."""


class Observation(ReadableModel):
    """What one further probe of a criterion saw."""

    title: NonEmpty
    """The fault in a phrase."""
    detail: str = ""
    """What was seen."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail speaks of."""
    counterexample: Counterexample | None = None
    """Smallest failing input that this probe found."""
    fault_of: str = Field(default="", exclude=True)
    """As in `Evidence`."""

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title


class Diagnosis(ReadableModel):
    """The likeliest cause of a failure."""

    words: NonEmpty
    """The cause in a sentence."""
    established: Literal["agreement", "observation"]
    """How: the answer agrees with a mutant on the same inputs, or the probe saw the cause itself."""
    mutant: str | None = None
    """Name of the mutant it agrees with."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.mutant is not None) != (self.established == "agreement"):
            raise ValueError("a mutant belongs to a diagnosis by agreement, and only to it")
        return self


class Evidence(ReadableModel):
    """Outcome of one criterion with the figures behind it."""

    criterion: Identifier
    """Id of the criterion."""
    dimension: Identifier
    """Id of the heading it counts under."""
    severity: Severity
    """Weight of the criterion."""
    outcome: Outcome
    """The outcome."""
    fraction: float | None = Field(default=None, gt=0, lt=1)
    """Share of the criterion that is met; only for a partial outcome."""
    title: str = ""
    """The fault in a phrase; empty when there is none."""
    detail: str = ""
    """What was seen, in a sentence; the reason when nothing was run."""
    measured: dict[str, Figure] = Field(default_factory=dict)
    """Figures by name; never NaN."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail speaks of."""
    also: tuple[Observation, ...] = ()
    """What further probes of the criterion saw."""
    seed: int | None = None
    """Seed of the criterion's inputs; with it the run can be repeated."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: Diagnosis | None = None
    """The likeliest cause."""
    loss: Loss | None = None
    """Which places of the output are lost, where a probe mapped them."""
    draws: Draws | None = None
    """The drawn cases that were tried; None where nothing is drawn."""
    unserved: tuple[NonEmpty, ...] = ()
    """Functions of which calls were left out, for an adapter of ours does not serve them."""
    thresholds: tuple[Threshold, ...] = ()
    """Where along its sizes the counterexample begins to fail."""
    defect: str = ""
    """Kind of the defect that the device reported, where what failed was one."""
    obstacle: Obstacle | None = None
    """What failed, where it was nothing that the probes compared."""
    wrong_option: bool = False
    """Whether an option that the answer claims was seen to give wrong values, which gates whatever its severity."""
    linked_to: Identifier | None = None
    """The criterion that found a race of threads on which this failure was seen to depend: its finding comes first."""
    rests_on: Identifier | None = None
    """The criterion whose failure takes this one's credit, or keeps it from being judged; it gates nothing."""
    own_outcome: Outcome | None = None
    """What came out by itself, where it rests on another; null where nothing was run."""
    fault_of: str = Field(default="", exclude=True)
    """Another criterion, whose property all failures here break; of use until each fault is charged, and not stored."""
    unshown: dict[str, Figure] = Field(default_factory=dict, exclude=True)
    """Figures of probes that passed, of a criterion that did not: of use until claims are compared, and not stored."""

    @classmethod
    def of(cls, criterion: Criterion, outcome: Outcome, **fields: Any) -> Self:
        """Evidence for a criterion of a rubric; a fault without a title has the criterion's own."""
        if outcome in (Outcome.FAILED, Outcome.PARTIAL) and not fields.get("rests_on"):
            fields["title"] = fields.get("title") or criterion.fault(in_part=outcome is Outcome.PARTIAL)
        return cls(
            criterion=criterion.id, dimension=criterion.dimension, severity=criterion.severity, outcome=outcome,
            **fields,
        )  # fmt: skip

    @classmethod
    def unreviewed(cls, criterion: Criterion) -> Self:
        """Evidence of a criterion for which nothing is run: a reviewer answers its question."""
        return cls.of(criterion, Outcome.NOT_RUN, detail=f"{NEEDS_REVIEW}: {criterion.review}")

    @property
    def gates(self) -> bool:
        """Whether it caps a mark: a critical criterion that failed by itself, or a claimed option with wrong values."""
        own = self.outcome is Outcome.FAILED and self.rests_on is None
        return own and (self.severity is Severity.CRITICAL or self.wrong_option)

    def needs_review(self, criterion: Criterion) -> bool:
        """Whether it was not assessed because `criterion`, whose evidence it is, is a question to a reviewer."""
        return criterion.review is not None and self.outcome is Outcome.NOT_RUN

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.fraction is not None) != (self.outcome is Outcome.PARTIAL):
            raise ValueError("a fraction belongs to a partial outcome, and only to it")
        if self.rests_on and self.outcome not in (Outcome.FAILED, Outcome.NOT_RUN):
            raise ValueError("only a criterion that failed or was not run rests on another")
        if self.own_outcome and not self.rests_on:
            raise ValueError("an outcome of its own belongs to a criterion that rests on another")
        faulty = self.faulty
        if bool(self.title) != faulty:
            raise ValueError("a failed or partly met criterion has a title, and no other has one")
        explained = self.counterexample or self.diagnosis or self.loss or self.also or self.thresholds
        if not faulty and (explained or self.defect or self.linked_to or self.obstacle or self.wrong_option):
            raise ValueError(
                "only a failed criterion has a counterexample, a diagnosis, a loss, thresholds, observations, "
                "a defect, a link, an obstacle or a wrong option"
            )
        if not self.outcome.ran:
            if not self.detail:
                raise ValueError(f"a {self.outcome.value} criterion needs its reason in detail")
            if self.measured or self.locations:
                raise ValueError(f"a {self.outcome.value} criterion has no figures")
        for name, value in self.measured.items():
            if is_nan(value):
                raise ValueError(f"the figure {name!r} is NaN: it assesses nothing")
        return self

    @property
    def seen(self) -> str:
        """What was seen, after the fault's phrase where there is one."""
        return ": ".join(filter(None, (self.title, self.detail)))

    @property
    def failed_probes(self) -> dict[str, str]:
        """What each probe saw that failed, by its name."""
        seen = [(self.counterexample, self.seen), *((further.counterexample, str(further)) for further in self.also)]
        return {example.probe: words for example, words in seen if example}

    @property
    def faulty(self) -> bool:
        """Whether it was seen to fail, wholly or in part, by itself."""
        return self.outcome in (Outcome.FAILED, Outcome.PARTIAL) and self.rests_on is None

    @property
    def satisfied(self) -> float:
        """Share of the criterion that is met, 0 to 1; 0 when it was not assessed."""
        if self.outcome is Outcome.PARTIAL:
            assert self.fraction is not None
            return self.fraction
        return 1.0 if self.outcome is Outcome.PASSED else 0.0
