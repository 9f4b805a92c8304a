"""A judge's reply: its form, and the checks that refuse it."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, FailFast, Field, ValidationError

from harness.model import Model

MAX_REPLY = 256 << 10
"""Most characters, for the longest remarks and quotes on thirty questions."""
MAX_REMARK = 500
MAX_QUOTE = 2_000
"""Most characters of a quote rather than a copy."""


class Refused(Exception):
    """An unusable reply; the message tells the judge why."""


def _check_sentence(text: str) -> str:
    text = " ".join(text.split())
    if not 0 < len(text) <= MAX_REMARK:
        raise ValueError(f"must hold 1 to {MAX_REMARK} characters")
    return text


def _check_quotable(text: str) -> str:
    if len(text.strip()) < 3 or len(text) > MAX_QUOTE:
        raise ValueError(f"must hold 3 to {MAX_QUOTE} characters")
    return text


Sentence = Annotated[str, AfterValidator(_check_sentence)]


class QuotedText(Model):
    """Words copied letter for letter from one file."""

    file: str
    """The file, named as it is shown."""
    text: Annotated[str, AfterValidator(_check_quotable)]
    """The words, at most a few lines."""


class JudgedMark(Model):
    """What is said of one question about one answer."""

    question: str
    """Id of the question."""
    remark: Sentence
    """Why, in one sentence."""
    quotes: Annotated[tuple[QuotedText, ...], Field(max_length=3)]
    """What in the files supports it."""
    mark: Annotated[float, Field(strict=True, ge=0, le=100, allow_inf_nan=False)]
    """0 to 100."""


class JudgedPair(Model):
    """What is said of one question about two answers."""

    question: str
    """Id of the question."""
    remark: Sentence
    """Why, in one sentence."""
    better: Literal["first", "second", "equal"]
    """The answer that meets it better."""


class MarksReply(Model):
    """A reply on one answer: every question once."""

    answers: Annotated[tuple[JudgedMark, ...], FailFast()]


class PairReply(Model):
    """A reply on two answers: every question once."""

    answers: Annotated[tuple[JudgedPair, ...], FailFast()]


Reply = TypeVar("Reply", MarksReply, PairReply)


def response_format(kind: type[MarksReply] | type[PairReply], questions: Sequence[str]) -> dict[str, Any]:
    """Return the `response_format` for servers that can enforce this form."""
    schema = kind.model_json_schema()
    for form in schema["$defs"].values():
        if "question" in form["properties"]:
            form["properties"]["question"]["enum"] = list(questions)
    return {"type": "json_schema", "json_schema": {"name": kind.__name__.lower(), "strict": True, "schema": schema}}


def parse(text: str, kind: type[Reply], questions: Sequence[str]) -> Reply:
    """Parse a reply: JSON, possibly with text around it, that answers every question once.

    Raises:
        Refused: the reply deviates from this.
    """
    text = text.rpartition("</think>")[2]  # some servers leave a model's thoughts in its reply
    begin, end = text.find("{"), text.rfind("}")
    if not 0 <= begin < end:
        raise Refused("it holds no JSON object")
    if end - begin > MAX_REPLY:
        raise Refused(f"its JSON object has more than {MAX_REPLY} characters")
    try:
        reply = kind.model_validate_json(text[begin : end + 1])
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Refused(f"{place or 'it'}: {first['msg']}"[:300]) from None
    answered = [answer.question for answer in reply.answers]
    for id in answered:
        if id not in questions:
            raise Refused(f"there is no question {id[:80]!r}")
        if answered.count(id) > 1:
            raise Refused(f"question {id!r} is answered twice")
    if missing := [id for id in questions if id not in answered]:
        raise Refused(f"question {missing[0]!r} is not answered")
    return reply
