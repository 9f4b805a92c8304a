"""Requests to a model for a submission and its replies, in a file beside the submission."""

from typing import ClassVar

from pydantic import AwareDatetime, Field

from harness.model.base import Identifier, Model, NonEmpty, Stored

ASKED_FILE = "asked.json"
"""File in a requested submission's folder; like reviews, it is no part of the submission."""


class AskSettings(Model):
    """The request to a model."""

    server: NonEmpty
    """URL of the API, without user, password and query."""
    model: NonEmpty
    """Server's name for the model."""
    prompt_sha256: NonEmpty
    """SHA-256 of the prompt, as `harness prompt` prints it."""
    turns: int = Field(default=1, ge=1, le=100)
    """Replies allowed to the model."""
    temperature: float | None = None
    """Sampling temperature; None for the server's default."""
    max_tokens: int | None = None
    """Longest reply in tokens; None for the server's default."""
    seed: int | None = None
    """Sampling seed of the first attempt, plus one for each further one; None if not sent."""


class Turn(Model):
    """One reply."""

    reply: str
    """Text of the reply."""
    refusal: str = ""
    """Server's refusal in place of a text."""
    finish: str = ""
    """Server's reason for the end of the text."""
    model: str = ""
    """Server's name for the model; empty if not stated."""
    prompt_tokens: int | None = Field(default=None, ge=0)
    """Server's count of prompt tokens."""
    completion_tokens: int | None = Field(default=None, ge=0)
    """Server's count of reply tokens."""
    seconds: float = Field(ge=0)
    """Seconds from the request to the reply's last byte."""
    tries: int = Field(default=1, ge=1)
    """Requests made, including those that failed at the server."""
    feedback: str | None = None
    """Feedback to the model on this reply; None if it was the last."""


class Asked(Stored):
    """One attempt: its settings, replies and cost."""

    SCHEMA: ClassVar[int] = 1

    challenge: Identifier
    """Challenge of the request."""
    attempt: int = Field(ge=1)
    """Number of the attempt."""
    began: AwareDatetime
    """Time of the first request."""
    settings: AskSettings
    """Settings of the request."""
    turns: tuple[Turn, ...] = ()
    """Replies in order."""
    answered_by: int | None = Field(default=None, ge=1)
    """Turn whose reply is the submission, from 1; None if no reply contains one."""
    unanswered: str | None = None
    """Why no reply contains a submission."""
    unread: str | None = None
    """Why the last reply is ambiguous, in which case the attempt is not graded."""
    price_in: float | None = Field(default=None, ge=0)
    """Price of a million prompt tokens, as stated by the user."""
    price_out: float | None = Field(default=None, ge=0)
    """Price of a million reply tokens, as stated by the user."""

    @property
    def prompt_tokens(self) -> int | None:
        """Sum over all turns; None if the server did not count them."""
        return _sum([turn.prompt_tokens for turn in self.turns])

    @property
    def completion_tokens(self) -> int | None:
        """Sum over all turns; None if the server did not count them."""
        return _sum([turn.completion_tokens for turn in self.turns])

    @property
    def cost(self) -> float | None:
        """Cost of all turns at the stated prices; None without a price or count."""
        sold = ((self.price_in, self.prompt_tokens), (self.price_out, self.completion_tokens))
        priced = [price * tokens / 1e6 for price, tokens in sold if price is not None and tokens is not None]
        return sum(priced) if len(priced) == len(sold) else None


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
