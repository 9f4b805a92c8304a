"""Requests of clients."""

import hashlib
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from harness.grading.options import Options
from harness.model import GradeProfile
from harness.model.base import Identifier, Model, RelativePath
from harness.model.submissions.file_names import find_clash, name_problem

MAX_FILES = 100


def _check_name(name: str) -> str:
    if problem := name_problem(name):
        raise ValueError(f"a file's path {problem}")
    return name


FilePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_name)]


class GradeRequest(Model):
    """A submission, and how to grade it."""

    model_config = ConfigDict(strict=True)

    challenge: Identifier
    """Id of the challenge."""
    files: dict[FilePath, str] | None = Field(default=None, min_length=1, max_length=MAX_FILES)
    """Text of each file by relative path; a submission.toml among them is used as in a folder."""
    reply: str | None = None
    """A model's raw reply, in place of files. One without a submission, or over 2 MiB, gets reward 0."""
    entry: RelativePath | None = None
    """File with the contract's functions, for several files without a submission.toml."""
    model: Identifier = "candidate"
    """Name of the model in the record."""
    profile: GradeProfile = GradeProfile.FULL
    """Set of criteria to run: `full`, `correctness` or `reward`."""
    criteria: tuple[Identifier, ...] = Field(default=(), max_length=200)
    """Ids of the criteria to run in place of the profile's; the anchor always runs."""
    seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Wall time in seconds after which the grade is cut off; its reward is then null."""

    @model_validator(mode="after")
    def _check_one_answer(self) -> Self:
        if (self.files is None) == (self.reply is None):
            raise ValueError("send either files or a reply")
        if self.files is None and self.entry is not None:
            raise ValueError("entry names one of several files, and a reply says itself what it holds")
        if self.files is not None:
            if self.entry is not None and self.entry not in self.files:
                raise ValueError("entry names none of the files")
            if find_clash(self.files):
                raise ValueError("one path is a file and a folder at once")
        return self

    @property
    def options(self) -> Options:
        """Grading options; records are never published."""
        return Options(
            publish=False, elsewhere=False, profile=self.profile, only=tuple(self.criteria), seconds=self.seconds
        )

    @property
    def content(self) -> str:
        """SHA-256 of the request: the queue grades equal unfinished requests once."""
        files = self.files and dict(sorted(self.files.items()))
        return hashlib.sha256(self.model_copy(update={"files": files}).model_dump_json().encode()).hexdigest()


class BatchRequest(Model):
    """Several submissions, accepted all or none."""

    model_config = ConfigDict(strict=True)

    answers: tuple[GradeRequest, ...] = Field(min_length=1)
    """Submissions, in the order of the grades in the response."""
