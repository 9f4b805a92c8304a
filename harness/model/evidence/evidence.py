"""Evidence: the result of one criterion."""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from harness.model.base import Figure, Identifier, Model, NonEmpty, is_nan, relative
from harness.model.challenges.challenge import Criterion, Severity
from harness.model.evidence.draws import Draws, Threshold
from harness.model.evidence.loss import Loss

UNBUILT = "build"
"""Target of `rests_on` when the submission does not build."""

NEEDS_REVIEW = "needs a review"
"""Reason why a question to a reviewer was not run."""


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
        """True if the outcome counts in the mark; an optional feature not offered counts as 0."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL, Outcome.NOT_OFFERED)

    @property
    def ran(self) -> bool:
        """True if anything was executed or measured."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.PARTIAL)


class Obstacle(StrEnum):
    """Obstacle that kept a probe from its measurement."""

    CALL = "call"
    """A call failed."""
    OUTPUT = "output"
    """An output was constant or a copy of an input."""
    FAULT = "fault"
    """A fault that another criterion judges: the plain case shows it too."""


class ReadableModel(Model):
    """Model with text from submissions, in which undecodable bytes become question marks."""

    @model_validator(mode="before")
    @classmethod
    def _text(cls, values: Any, info: ValidationInfo) -> Any:
        # JSON input is valid text already
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
    """Line number from 1; null for the whole file."""
    function: str = ""
    """Function or kernel, if known."""

    @field_validator("file")
    @classmethod
    def _check_inside(cls, file: str) -> str:
        return relative(file)

    @classmethod
    def within(cls, file: str, line: int | None = None, function: str = "") -> tuple[Self, ...]:
        """Return the location in a tuple, empty if the path is not inside the submission."""
        try:
            return (cls(file=file, line=line or None, function=function),)
        except ValueError:
            return ()

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} {self.function}".rstrip()


class Counterexample(ReadableModel):
    """The smallest failing input found."""

    probe: str = ""
    """Probe that found it."""
    case: dict[str, Figure] = Field(default_factory=dict)
    """Sizes and settings that, with the seed, determine the input."""
    where: str = ""
    """Wrong output and index, such as `dx[0, 3, 1]`."""
    expected: Figure | None = None
    """Oracle's value there."""
    got: Figure | None = None
    """Submission's value there."""
    measured: dict[str, Figure] = Field(default_factory=dict)
    """Figures of this input by name."""
    program: tuple[str, ...] = ()
    """Calls that lead there, one per line, if several."""
    after_others: bool = False
    """Whether it fails only after other calls, and passes as the first call of a process."""
    asks_for: tuple[str, ...] | None = Field(default=None, exclude=True)
    """Criteria of options that the program uses; None if unknown. Used and stored as `fault_of`."""


class Observation(ReadableModel):
    """The result of one further probe of a criterion."""

    title: NonEmpty
    """Fault as a phrase."""
    detail: str = ""
    """Detail of the observation."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail mentions."""
    counterexample: Counterexample | None = None
    """Smallest failing input of this probe."""
    fault_of: str = Field(default="", exclude=True)
    """See `Evidence.fault_of`."""

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title


class Diagnosis(ReadableModel):
    """The likeliest cause of a failure."""

    words: NonEmpty
    """Cause as a sentence."""
    established: Literal["agreement", "observation"]
    """Method: agreement with a mutant on the same inputs, or direct observation by the probe."""
    mutant: str | None = None
    """Mutant that it agrees with."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.mutant is not None) != (self.established == "agreement"):
            raise ValueError("a mutant belongs to a diagnosis by agreement, and only to it")
        return self


class Evidence(ReadableModel):
    """Outcome of one criterion, with the figures behind it."""

    criterion: Identifier
    """Id of the criterion."""
    dimension: Identifier
    """Id of its heading."""
    severity: Severity
    """Weight of the criterion."""
    outcome: Outcome
    """Outcome of the criterion."""
    fraction: float | None = Field(default=None, gt=0, lt=1)
    """Share met; only for a partial outcome."""
    title: str = ""
    """Fault as a phrase, or empty."""
    detail: str = ""
    """Detail in a sentence; the reason if the criterion was not run."""
    measured: dict[str, Figure] = Field(default_factory=dict)
    """Figures by name; never NaN."""
    locations: tuple[Location, ...] = ()
    """Places in the submission that the detail mentions."""
    also: tuple[Observation, ...] = ()
    """Results of further probes."""
    seed: int | None = None
    """Seed of the inputs, to repeat the run."""
    counterexample: Counterexample | None = None
    """Smallest failing input found."""
    diagnosis: Diagnosis | None = None
    """Likeliest cause."""
    loss: Loss | None = None
    """Lost places of the output, if a probe mapped them."""
    draws: Draws | None = None
    """Counts of drawn cases; None without draws."""
    unserved: tuple[NonEmpty, ...] = ()
    """Functions not called because our adapter does not provide them."""
    thresholds: tuple[Threshold, ...] = ()
    """Points along its sizes where the counterexample begins to fail."""
    defect: str = ""
    """Kind of the defect that the device reported, if any."""
    obstacle: Obstacle | None = None
    """Obstacle, if the failure was not in a comparison."""
    wrong_option: bool = False
    """Whether a claimed option gave wrong values, which gates at any severity."""
    linked_to: Identifier | None = None
    """Criterion that found a thread race on which this failure depends; its finding comes first."""
    rests_on: Identifier | None = None
    """Criterion whose failure takes this one's credit or prevents its judgement; this one does not gate."""
    own_outcome: Outcome | None = None
    """Own outcome of a criterion that rests on another; null if not run."""
    fault_of: str = Field(default="", exclude=True)
    """Another criterion whose property all failures here break; used in charging faults, and not stored."""
    unshown: dict[str, Figure] = Field(default_factory=dict, exclude=True)
    """Figures of passing probes in a failed criterion; used in comparing claims, and not stored."""

    @classmethod
    def of(cls, criterion: Criterion, outcome: Outcome, **fields: Any) -> Self:
        """Create evidence for a rubric's criterion; an untitled fault gets the criterion's own title."""
        if outcome in (Outcome.FAILED, Outcome.PARTIAL) and not fields.get("rests_on"):
            fields["title"] = fields.get("title") or criterion.fault(in_part=outcome is Outcome.PARTIAL)
        return cls(
            criterion=criterion.id,
            dimension=criterion.dimension,
            severity=criterion.severity,
            outcome=outcome,
            **fields,
        )

    @classmethod
    def await_review(cls, criterion: Criterion) -> Self:
        """Create evidence for a criterion that waits for a reviewer."""
        return cls.of(criterion, Outcome.NOT_RUN, detail=f"{NEEDS_REVIEW}: {criterion.review}")

    @property
    def gates(self) -> bool:
        """True if it caps a mark: a critical criterion failed by itself, or a claimed option has wrong values."""
        own = self.outcome is Outcome.FAILED and self.rests_on is None
        return own and (self.severity is Severity.CRITICAL or self.wrong_option)

    def needs_review(self, criterion: Criterion) -> bool:
        """Return whether `criterion`, which this evidence is for, awaits a reviewer."""
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
        """Title and detail as one phrase."""
        return ": ".join(filter(None, (self.title, self.detail)))

    @property
    def failed_probes(self) -> dict[str, str]:
        """Observations of failed probes by probe name."""
        seen = [(self.counterexample, self.seen), *((further.counterexample, str(further)) for further in self.also)]
        return {example.probe: words for example, words in seen if example}

    @property
    def faulty(self) -> bool:
        """True if it failed by itself, wholly or in part."""
        return self.outcome in (Outcome.FAILED, Outcome.PARTIAL) and self.rests_on is None

    @property
    def satisfied(self) -> float:
        """Share met, 0 to 1; 0 if not assessed."""
        if self.outcome is Outcome.PARTIAL:
            assert self.fraction is not None
            return self.fraction
        return 1.0 if self.outcome is Outcome.PASSED else 0.0
