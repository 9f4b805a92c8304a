"""A collection: published answers that live in somebody else's repository, as its `collection.toml` names them."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from harness.model.base import Identifier, Model, RelativePath, Text

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
"""A whole commit id."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

SUBMISSION_FILE = "submission.toml"
MAX_DECIDES = 560
"""Longest note on an adapter: reports and `harness show` print it whole on a line of 600."""


def hash_problem(data: bytes, expected: str) -> str:
    """Why bytes are not those of a SHA-256, with the note where it is only their line ends; empty when they are."""
    found = hashlib.sha256(data).hexdigest()
    if found == expected:
        return ""
    unix = data.replace(b"\r\n", b"\n")
    note = ""
    if any(hashlib.sha256(text).hexdigest() == expected for text in (unix, unix.replace(b"\n", b"\r\n"))):
        note = f" (only its line ends differ: they are {'Windows (CRLF)' if unix != data else 'Unix (LF)'} ones)"
    return f"has SHA-256 {found}{note}, not {expected}"


def _repository(url: str) -> str:
    if not url.startswith("https://") or any(c.isspace() for c in url):
        raise ValueError("must be a URL that begins with https://")
    return url


class CollectedAnswer(Model):
    """One published answer."""

    model: Identifier
    """Who answered."""
    challenge: Identifier
    """What was answered."""
    folder: RelativePath
    """Where its files are in the repository."""
    files: dict[RelativePath, Sha256] = Field(min_length=1)
    """SHA-256 of each file, as committed, by its path in `folder`; what is not named is no part of the answer."""
    adapter: RelativePath
    """Our file that serves the contract with the answer's own code; beside the answer's `submission.toml`."""
    decides: Annotated[Text, StringConstraints(max_length=MAX_DECIDES)]
    """What the adapter decides, so that it is not taken for the answer's doing."""
    not_charged: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that judge the adapter more than the answer, and why: they are not run, whatever they find."""
    prompt: RelativePath | None = None
    """The prompt that it was written to, in the repository, where that is not the challenge's."""
    prompt_sha256: Sha256 | None = None
    """SHA-256 of that prompt, as committed."""

    @property
    def name(self) -> str:
        """`MODEL/CHALLENGE`, as the command line takes it."""
        return f"{self.model}/{self.challenge}"

    @property
    def own_files(self) -> tuple[str, ...]:
        """Our files that lie next to the answer's."""
        return (self.adapter, SUBMISSION_FILE)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if ours := next((name for name in self.own_files if name in self.files), None):
            raise ValueError(f"{ours!r} of the answer would hide our own file of that name")
        if (self.prompt is None) is not (self.prompt_sha256 is None):
            raise ValueError("a prompt of its own needs both prompt and prompt_sha256")
        return self


class OriginalPrompt(Model):
    """What the answers to one challenge were written to, and which criteria it did not ask for."""

    prompt: RelativePath
    """Where the prompt is in the repository."""
    sha256: Sha256
    """SHA-256 of it, as committed."""
    not_asked: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that it did not ask for, and why that is so: they are shown beside and enter no mark."""
    contradicted: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that it asked for while it asked for the contrary elsewhere, and how: marked, with this shown beside."""


class Collection(Model):
    """The content of `collection.toml`."""

    id: Identifier
    """The name of its folder."""
    title: Text
    """What it is, in a phrase."""
    repository: Annotated[Text, AfterValidator(_repository)]
    """Where it is published."""
    commit: Commit
    """The version that is graded."""
    licence: Text
    """The licence as found there."""
    redistribute: bool
    """Whether lines of the answers may be shown and stored."""
    dispute: Text
    """What somebody who made an answer can do about a finding that is wrong."""
    challenges: dict[Identifier, OriginalPrompt] = Field(default_factory=dict)
    """The original prompts, by challenge; an answer to another challenge is marked on every criterion."""
    answers: tuple[CollectedAnswer, ...] = Field(min_length=1)
    """The answers."""

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [answer.name for answer in self.answers]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"names {twice} twice")
        if unanswered := sorted(self.challenges.keys() - {answer.challenge for answer in self.answers}):
            raise ValueError(f"challenges.{unanswered[0]}: no answer is to {unanswered[0]}")
        return self

    @property
    def by_name(self) -> Mapping[str, CollectedAnswer]:
        """The answers by `MODEL/CHALLENGE`."""
        return {answer.name: answer for answer in self.answers}

    def origin(self, answer: CollectedAnswer) -> "Origin":
        """Where one of the answers comes from, as its record states it."""
        asked = self.challenges.get(answer.challenge)
        return Origin(
            collection=self.id, repository=self.repository, commit=self.commit, folder=answer.folder,
            licence=self.licence, redistribute=self.redistribute, adapter=answer.adapter, decides=answer.decides,
            not_charged=answer.not_charged, prompt=answer.prompt or (asked.prompt if asked else None),
            prompt_sha256=answer.prompt_sha256 or (asked.sha256 if asked else None),
            not_asked=asked.not_asked if asked else {}, contradicted=asked.contradicted if asked else {},
            dispute=self.dispute,
        )  # fmt: skip


class Origin(Model):
    """Where a graded answer of a collection comes from, and what its reader should know."""

    collection: Identifier
    """Id of the collection."""
    repository: Text
    """Where it is published."""
    commit: Commit
    """The version that was graded."""
    folder: RelativePath
    """Where the answer's files are in the repository."""
    licence: Text
    """The licence as found there."""
    redistribute: bool
    """Whether lines of the answer may be shown; where not, the record holds none."""
    adapter: RelativePath
    """The harness's file that served the contract with the answer's own code."""
    decides: Text
    """What the adapter decides, so that it is not taken for the answer's doing."""
    not_charged: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that judge the adapter more than the answer, and why: they were not run, whatever they found."""
    prompt: RelativePath | None = None
    """Where the prompt that it was written to is in the repository; null where the collection names none."""
    prompt_sha256: Sha256 | None = None
    """SHA-256 of that prompt."""
    not_asked: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that the prompt did not ask for, and why that is so: they are shown beside and enter no mark."""
    contradicted: dict[Identifier, Text] = Field(default_factory=dict)
    """Criteria that the prompt asked for while it asked for the contrary elsewhere, and how: marked all the same."""
    dispute: Text
    """What somebody who made the answer can do about a finding that is wrong."""

    @property
    def unmarked(self) -> Mapping[str, str]:
        """The criteria that enter no mark, and why."""
        return {**self.not_asked, **self.not_charged}
