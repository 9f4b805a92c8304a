"""Collections: published submissions in other people's repositories, listed in a `collection.toml`."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from harness.model.base import Identifier, Model, RelativePath, Text

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""Full commit id."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

SUBMISSION_FILE = "submission.toml"
MAX_DECIDES = 560
"""Longest note on an adapter; reports and `harness show` print it whole on a line of 600."""


def hash_problem(data: bytes, expected: str) -> str:
    """Return why data does not match a SHA-256, with a note if only line ends differ; empty if it matches."""
    found = hashlib.sha256(data).hexdigest()
    if found == expected:
        return ""
    unix = data.replace(b"\r\n", b"\n")
    note = ""
    if any(hashlib.sha256(text).hexdigest() == expected for text in (unix, unix.replace(b"\n", b"\r\n"))):
        note = f" (only its line ends differ: they are {'Windows (CRLF)' if unix != data else 'Unix (LF)'} ones)"
    return f"has SHA-256 {found}{note}, not {expected}"


def _check_repository(url: str) -> str:
    if not url.startswith("https://") or any(c.isspace() for c in url):
        raise ValueError("must be a URL that begins with https://")
    return url


class CollectedAnswer(Model):
    """One published submission."""

    model: Identifier
    """Model that wrote it."""
    challenge: Identifier
    """Challenge that it solves."""
    folder: RelativePath
    """Folder in the repository."""
    files: dict[RelativePath, Sha256] = Field(min_length=1)
    """SHA-256 of each committed file by its path in `folder`; other files are no part of the submission."""
    adapter: RelativePath
    """Our file that implements the contract with the submission's code, beside its `submission.toml`."""
    decides: Annotated[Text, StringConstraints(max_length=MAX_DECIDES)]
    """Decisions of the adapter, which readers should not attribute to the submission."""
    not_charged: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that are not run because they judge the adapter more than the submission, with reasons."""
    prompt: RelativePath | None = None
    """Its prompt in the repository, if other than the challenge's."""
    prompt_sha256: Sha256 | None = None
    """SHA-256 of that prompt, as committed."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, as on the command line."""
        return f"{self.model}/{self.challenge}"

    @property
    def own_files(self) -> tuple[str, ...]:
        """Our files beside the submission's."""
        return (self.adapter, SUBMISSION_FILE)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if ours := next((name for name in self.own_files if name in self.files), None):
            raise ValueError(f"{ours!r} of the answer would hide our own file of that name")
        if (self.prompt is None) is not (self.prompt_sha256 is None):
            raise ValueError("a prompt of its own needs both prompt and prompt_sha256")
        return self


class OriginalPrompt(Model):
    """The prompt behind the submissions to one challenge, and the criteria that it did not ask for."""

    prompt: RelativePath
    """Path of the prompt in the repository."""
    sha256: Sha256
    """SHA-256 of the prompt, as committed."""
    not_asked: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that it did not ask for, with reasons; shown, but not marked."""
    contradicted: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that it both asked for and contradicted, with reasons; marked, with this note."""


class Collection(Model):
    """The content of `collection.toml`."""

    id: Identifier
    """Name of its folder."""
    title: Text
    """Description in a phrase."""
    repository: Annotated[Text, AfterValidator(_check_repository)]
    """URL of the repository."""
    commit: Commit
    """Graded version."""
    licence: Text
    """Licence in the repository."""
    redistribute: bool
    """Whether lines of the submissions may be shown and stored."""
    dispute: Text
    """How an author can dispute a finding."""
    challenges: dict[Identifier, OriginalPrompt] = Field(default_factory=dict)
    """Original prompts by challenge; other challenges are marked on every criterion."""
    answers: tuple[CollectedAnswer, ...] = Field(min_length=1)
    """Submissions of the collection."""

    @model_validator(mode="after")
    def _check_once(self) -> Self:
        names = [answer.name for answer in self.answers]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"names {twice} twice")
        if unanswered := sorted(self.challenges.keys() - {answer.challenge for answer in self.answers}):
            raise ValueError(f"challenges.{unanswered[0]}: no answer is to {unanswered[0]}")
        return self

    @property
    def by_name(self) -> Mapping[str, CollectedAnswer]:
        """Submissions by `MODEL/CHALLENGE`."""
        return {answer.name: answer for answer in self.answers}

    def origin(self, answer: CollectedAnswer) -> "Origin":
        """Return a submission's origin, for its record."""
        asked = self.challenges.get(answer.challenge)
        return Origin(
            collection=self.id,
            repository=self.repository,
            commit=self.commit,
            folder=answer.folder,
            licence=self.licence,
            redistribute=self.redistribute,
            adapter=answer.adapter,
            decides=answer.decides,
            not_charged=answer.not_charged,
            prompt=answer.prompt or (asked.prompt if asked else None),
            prompt_sha256=answer.prompt_sha256 or (asked.sha256 if asked else None),
            not_asked=asked.not_asked if asked else {},
            contradicted=asked.contradicted if asked else {},
            dispute=self.dispute,
        )


class Origin(Model):
    """The origin of a graded submission from a collection."""

    collection: Identifier
    """Id of the collection."""
    repository: Text
    """URL of the repository."""
    commit: Commit
    """Graded version."""
    folder: RelativePath
    """Folder of the submission in the repository."""
    licence: Text
    """Licence in the repository."""
    redistribute: bool
    """Whether lines of the submission may be shown; if not, the record contains none."""
    adapter: RelativePath
    """Harness file that implements the contract with the submission's code."""
    decides: Text
    """Decisions of the adapter, which readers should not attribute to the submission."""
    not_charged: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that were not run because they judge the adapter more than the submission, with reasons."""
    prompt: RelativePath | None = None
    """Path of the original prompt in the repository; null if the collection names none."""
    prompt_sha256: Sha256 | None = None
    """SHA-256 of that prompt."""
    not_asked: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that the prompt did not ask for, with reasons; shown, but not marked."""
    contradicted: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that the prompt both asked for and contradicted, with reasons; still marked."""
    dispute: Text
    """How an author can dispute a finding."""

    @property
    def unmarked(self) -> Mapping[str, str]:
        """Criteria without marks, with reasons."""
        return {**self.not_asked, **self.not_charged}
