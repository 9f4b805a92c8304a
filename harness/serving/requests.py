"""What a client sends: an answer as files or as a model's raw reply, and how to grade it."""

import hashlib
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from harness.model import GradeProfile
from harness.model.base import Identifier, Model, RelativePath
from harness.model.file_names import find_clash, name_problem
from harness.running.options import Options

MAX_FILES = 100


def _plain_name(name: str) -> str:
    """A path that means the same file to everybody.

    Raises:
        ValueError: it does not.
    """
    if problem := name_problem(name):
        raise ValueError(f"a file's path {problem}")
    return name


FilePath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_plain_name)]


class GradeRequest(Model):
    """An answer to be graded, and how."""

    model_config = ConfigDict(strict=True)

    challenge: Identifier
    """Id of the challenge it answers."""
    files: dict[FilePath, str] | None = Field(default=None, min_length=1, max_length=MAX_FILES)
    """Text of each file by its path inside the answer. A submission.toml among them is read as in a folder."""
    reply: str | None = None
    """A model's raw reply, in place of files. One that holds no answer, or is larger than 2 MiB, has a record, with a
    reward of 0."""
    entry: RelativePath | None = None
    """The file with the contract's functions, where several files come without a submission.toml."""
    model: Identifier = "candidate"
    """Who answered, as the record will say."""
    profile: GradeProfile = GradeProfile.FULL
    """Which criteria are run: `full`, `correctness` or `reward`."""
    criteria: tuple[Identifier, ...] = Field(default=(), max_length=200)
    """Ids of the criteria to run in place of the profile's own; the anchor always is."""
    seconds: float | None = Field(default=None, gt=0, le=86_400, allow_inf_nan=False)
    """Wall time after which the grade is cut off; its reward is then null."""

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
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
        """How to grade it. Records of a service are never published."""
        return Options(
            publish=False, elsewhere=False, profile=self.profile, only=tuple(self.criteria), seconds=self.seconds
        )

    @property
    def content(self) -> str:
        """SHA-256 over all of it: equal requests are graded once at a time."""
        files = self.files and dict(sorted(self.files.items()))
        return hashlib.sha256(self.model_copy(update={"files": files}).model_dump_json().encode()).hexdigest()


class BatchRequest(Model):
    """Many answers at once: all are accepted, or none."""

    model_config = ConfigDict(strict=True)

    answers: tuple[GradeRequest, ...] = Field(min_length=1)
    """The answers, in the order in which the response names their grades."""
