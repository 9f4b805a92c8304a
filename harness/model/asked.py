"""How a model was asked for an answer, and what it replied: the file beside each answer that was asked for."""

from typing import ClassVar

from pydantic import AwareDatetime, Field

from harness.model.base import Identifier, Model, NonEmpty, Stored

ASKED_FILE = "asked.json"
"""In the folder of an answer that was asked for; as with reviews, the answer is the same without it."""


class AskSettings(Model):
    """What a model was asked, and how."""

    server: NonEmpty
    """URL of the API, without user, password and query."""
    model: NonEmpty
    """The model by the server's name."""
    prompt_sha256: NonEmpty
    """SHA-256 of the prompt, as `harness prompt` prints it."""
    turns: int = Field(default=1, ge=1, le=100)
    """Replies the model is allowed."""
    temperature: float | None = None
    """Of sampling; None where it was left to the server."""
    max_tokens: int | None = None
    """Longest reply; None where it was left to the server."""
    seed: int | None = None
    """Of sampling: that of the first attempt, one more for each next; None where none was sent."""


class Turn(Model):
    """One reply."""

    reply: str
    """The text."""
    refusal: str = ""
    """What the server says in place of a text, where it does."""
    finish: str = ""
    """Why the text ends, in the server's word."""
    model: str = ""
    """The model as the server named it; empty where it did not."""
    prompt_tokens: int | None = Field(default=None, ge=0)
    """As the server counts them."""
    completion_tokens: int | None = Field(default=None, ge=0)
    """As the server counts them."""
    seconds: float = Field(ge=0)
    """From the request to the reply's last byte."""
    tries: int = Field(default=1, ge=1)
    """Requests it took: those before failed at the server."""
    feedback: str | None = None
    """What the model was told of this reply; None where nothing followed."""


class Asked(Stored):
    """One attempt: how it was asked for, what came, and what that cost."""

    SCHEMA: ClassVar[int] = 1

    challenge: Identifier
    """What was asked."""
    attempt: int = Field(ge=1)
    """Number of the attempt."""
    began: AwareDatetime
    """When the first request was sent."""
    settings: AskSettings
    """How it was asked for."""
    turns: tuple[Turn, ...] = ()
    """What came."""
    answered_by: int | None = Field(default=None, ge=1)
    """The turn whose reply is the answer, from 1 on; None where no reply holds one."""
    unanswered: str | None = None
    """Why no reply holds an answer."""
    unread: str | None = None
    """Why the last reply could not be read with certainty; nothing of the attempt is graded then."""
    price_in: float | None = Field(default=None, ge=0)
    """Price of a million tokens of prompts, as the user stated it."""
    price_out: float | None = Field(default=None, ge=0)
    """Price of a million tokens of replies, as the user stated it."""

    @property
    def prompt_tokens(self) -> int | None:
        """Of all turns; None where the server did not count them."""
        return _sum([turn.prompt_tokens for turn in self.turns])

    @property
    def completion_tokens(self) -> int | None:
        """Of all turns; None where the server did not count them."""
        return _sum([turn.completion_tokens for turn in self.turns])

    @property
    def cost(self) -> float | None:
        """What all turns cost at the stated prices; None where a price or a count is missing."""
        sold = ((self.price_in, self.prompt_tokens), (self.price_out, self.completion_tokens))
        priced = [price * tokens / 1e6 for price, tokens in sold if price is not None and tokens is not None]
        return sum(priced) if len(priced) == len(sold) else None


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
