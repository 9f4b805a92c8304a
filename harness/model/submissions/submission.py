"""A submission: one model's solution of one challenge, described by its `submission.toml`."""

import datetime
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from harness.model.base import Identifier, Model, RelativePath, Text
from harness.model.evidence.evidence import Location
from harness.model.submissions.name import SubmissionName


def _check_setting(value: Any) -> Any:
    numbers = isinstance(value, dict) and all(type(n) is int for n in value.values())
    names = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    if not (isinstance(value, int) or numbers or names):
        raise ValueError("must be true, an integer, a table of integers, or a list of strings")
    return value


def _check_day(value: Any) -> Any:
    if isinstance(value, int | float):
        raise ValueError("must be a date, such as 2026-04-22")
    return value


Capability = Annotated[bool | int | dict[str, int] | tuple[str, ...], BeforeValidator(_check_setting)]
"""Statement on an optional feature: that it is offered, or with which settings."""


class Provenance(StrEnum):
    """Source of the files, shown wherever the submission is."""

    MODEL_OUTPUT = "model-output"
    RECONSTRUCTION = "reconstruction"
    BASELINE = "baseline"


class About(Model):
    """The `[submission]` table."""

    model: Identifier
    """Model that wrote it; the parent folder's name."""
    challenge: Identifier
    """Challenge that it solves; the folder's name."""
    language: Identifier = "python"
    """Language of the code."""
    turns: int = Field(default=1, ge=1, le=100, strict=True)
    """Replies allowed to the model; each after the first followed the grader's feedback."""
    unanswered: Text | None = None
    """Why the model's reply contains no submission; there is then no entry, and every criterion fails."""
    unread: Text | None = None
    """Why the model's reply is ambiguous; there is then no entry, and no grade."""
    entry: Annotated[RelativePath | tuple[RelativePath, ...], Field(union_mode="left_to_right")]
    """File with the contract's functions, or all files to compile if the language allows several; an empty list for a
    reply without a submission or an ambiguous one."""
    programs: tuple[RelativePath, ...] = Field(default=(), max_length=100)
    """Further files that run by themselves and that no file imports, such as a training script; source metrics include
    them and their imports."""
    provenance: Provenance
    """Source of the files."""
    attempt: int | None = Field(default=None, ge=1, strict=True)
    """Number of the attempt, as in its folder `attempt-N`."""
    date: Annotated[datetime.date | None, BeforeValidator(_check_day)] = None
    """Date of the submission."""
    generator: Text | None = None
    """Source of the code: model version, settings, prompt."""
    notes: Text | None = None
    """Notes for readers."""

    @field_validator("entry")
    @classmethod
    def _check_files_once(cls, entry: str | tuple[str, ...], info: ValidationInfo) -> str | tuple[str, ...]:
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
    """The `[tests]` table, for the submission's own tests."""

    command: tuple[Text, ...] = Field(min_length=1, max_length=1000)
    """Command line, run in the box in a copy of the folder; `python` is the harness's interpreter."""


class Claim(Model):
    """One `[[claims]]` entry: a figure that the submission states about itself."""

    quantity: Identifier
    """Name of a figure that the challenge measures."""
    value: float = Field(strict=True)
    """Claimed value."""
    where: RelativePath | None = None
    """File with the claim."""
    line: int | None = Field(default=None, ge=1, strict=True)
    """Line of the claim, from 1."""

    @property
    def locations(self) -> tuple[Location, ...]:
        """Place of the claim, as far as known."""
        return Location.within(self.where, self.line) if self.where else ()


class Submission(Model):
    """The content of `submission.toml`."""

    about: About = Field(alias="submission")
    """Model, challenge and code."""
    capabilities: dict[str, Capability] = Field(default_factory=dict)
    """Optional features on offer, each of which is probed."""
    tests: OwnTests | None = None
    """The submission's own tests."""
    claims: tuple[Claim, ...] = Field(default=(), max_length=100)
    """Figures that the submission states about itself."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, or `MODEL/CHALLENGE/attempt-N`, as on the command line."""
        return str(SubmissionName(self.about.model, self.about.challenge, self.about.attempt))

    @property
    def entries(self) -> tuple[str, ...]:
        """Files in `entry`."""
        return (self.about.entry,) if isinstance(self.about.entry, str) else self.about.entry

    def offers(self, capability: str) -> bool:
        """Return whether `name`, or `name:value` of a list, is claimed."""
        return offers(self.capabilities, capability)


def offers(capabilities: Mapping[str, Any], capability: str) -> bool:
    """Return whether `name`, or `name:value` of a tuple, is claimed."""
    name, _, value = capability.partition(":")
    claimed = capabilities.get(name, False)
    if value:
        return isinstance(claimed, tuple) and value in claimed
    return bool(claimed)
