"""A submission: one model's answer to one challenge, as its `submission.toml` states it."""

import datetime
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from harness.model.base import Identifier, Model, RelativePath, Text
from harness.model.evidence import Location
from harness.model.submission_name import SubmissionName


def _a_setting(value: Any) -> Any:
    numbers = isinstance(value, dict) and all(type(n) is int for n in value.values())
    names = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    if not (isinstance(value, int) or numbers or names):
        raise ValueError("must be true, an integer, a table of integers, or a list of strings")
    return value


def _a_day(value: Any) -> Any:
    if isinstance(value, int | float):
        raise ValueError("must be a date, such as 2026-04-22")
    return value


Capability = Annotated[bool | int | dict[str, int] | tuple[str, ...], BeforeValidator(_a_setting)]
"""What an answer says of an optional feature: that it has it, or with which settings."""


class Provenance(StrEnum):
    """Where the files come from; shown wherever the submission is."""

    MODEL_OUTPUT = "model-output"
    RECONSTRUCTION = "reconstruction"
    BASELINE = "baseline"


class About(Model):
    """The `[submission]` table."""

    model: Identifier
    """Who answered; the name of the folder above."""
    challenge: Identifier
    """What was answered; the name of the folder."""
    language: Identifier = "python"
    """What the answer is written in."""
    turns: int = Field(default=1, ge=1, le=100, strict=True)
    """Replies the model was allowed; from the second on it had seen what the grader found in the one before."""
    unanswered: Text | None = None
    """Why the model's reply holds no answer; such a submission has no entry and meets no criterion."""
    unread: Text | None = None
    """Why the model's reply could not be read with certainty; such a submission has no entry, and nothing of it is
    graded."""
    entry: Annotated[RelativePath | tuple[RelativePath, ...], Field(union_mode="left_to_right")]
    """The file with the contract's functions, or, where the language allows several, all that are to be compiled; an
    empty list where the reply holds no answer or could not be read."""
    programs: tuple[RelativePath, ...] = Field(default=(), max_length=100)
    """Further files that are run by themselves and that nothing imports, such as a training script: source metrics
    count them, and what they import."""
    provenance: Provenance
    """Where the files come from."""
    attempt: int | None = Field(default=None, ge=1, strict=True)
    """Which of several answers it is; the number of its folder, `attempt-N`."""
    date: Annotated[datetime.date | None, BeforeValidator(_a_day)] = None
    """When the answer was made."""
    generator: Text | None = None
    """What made it: model version, settings, prompt."""
    notes: Text | None = None
    """Anything a reader should know."""

    @field_validator("entry")
    @classmethod
    def _files_once(cls, entry: str | tuple[str, ...], info: ValidationInfo) -> str | tuple[str, ...]:
        answered = info.data.get("unanswered") is None and info.data.get("unread") is None
        if answered and not entry:
            raise ValueError("must name a file")
        if not answered and entry:
            raise ValueError("must be [] where the reply holds no answer or could not be read")
        names = (entry,) if isinstance(entry, str) else entry
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"names {twice!r} more than once")
        if any(name.startswith("-") for name in names):
            raise ValueError("must not begin with '-', which compilers take for an option")
        return entry


class OwnTests(Model):
    """The `[tests]` table: how the answer's own tests are run."""

    command: tuple[Text, ...] = Field(min_length=1, max_length=1000)
    """Command line, run in the box in a copy of the folder; `python` is the harness's interpreter."""


class Claim(Model):
    """One `[[claims]]` entry: a figure the answer states about itself."""

    quantity: Identifier
    """Name of a figure the challenge measures."""
    value: float = Field(strict=True)
    """What the answer says it is."""
    where: RelativePath | None = None
    """The file that makes the claim."""
    line: int | None = Field(default=None, ge=1, strict=True)
    """The line of that file, from 1 on."""

    @property
    def locations(self) -> tuple[Location, ...]:
        """Where it is stated, as far as that is known."""
        return Location.within(self.where, self.line) if self.where else ()


class Submission(Model):
    """The content of `submission.toml`."""

    about: About = Field(alias="submission")
    """Who answered what, and where the code is."""
    capabilities: dict[str, Capability] = Field(default_factory=dict)
    """Optional features the answer offers; each is probed."""
    tests: OwnTests | None = None
    """The answer's own tests."""
    claims: tuple[Claim, ...] = Field(default=(), max_length=100)
    """Figures the answer states about itself."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N`, as the command line takes it."""
        return str(SubmissionName(self.about.model, self.about.challenge, self.about.attempt))

    @property
    def entries(self) -> tuple[str, ...]:
        """The files that `entry` names."""
        return (self.about.entry,) if isinstance(self.about.entry, str) else self.about.entry

    def offers(self, capability: str) -> bool:
        """Whether `name`, or `name:value` of a list, is claimed."""
        return offers(self.capabilities, capability)


def offers(capabilities: Mapping[str, Any], capability: str) -> bool:
    """Whether `name`, or `name:value` of a tuple, is claimed."""
    name, _, value = capability.partition(":")
    claimed = capabilities.get(name, False)
    if value:
        return isinstance(claimed, tuple) and value in claimed
    return bool(claimed)
