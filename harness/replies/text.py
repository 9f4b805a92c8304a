"""The text of a model's raw reply."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.errors import NoAnswerError, NotFoundError, ReplyError
from harness.replies.envelopes import EnvelopeError, open_envelope

MAX_BYTES = 2 << 20
"""Bytes of the largest reply that is read."""
STANDARD_INPUT = "-"
_TAG = r"(?:think|thinking|thought|thoughts|reasoning|scratchpad|reflection|seed:think)"
_OPENS = re.compile(
    rf"[ \t>]{{0,20}}(?:<{_TAG}>|\[THINK\]|\u25c1think\u25b7|<\|(?:begin_of_thought|START_THINKING)\|>)", re.IGNORECASE
)
_CLOSES = re.compile(rf"</{_TAG}>|\[/THINK\]|\u25c1/think\u25b7|<\|(?:end_of_thought|END_THINKING)\|>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]{0,40}(?:`{3,}|~{3,})")
_WRAPPER = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*", re.IGNORECASE)
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class ReplyProblem(StrEnum):
    """Reason why a reply gives no submission."""

    TOO_LARGE = "too large"
    NOT_TEXT = "not text"
    EMPTY = "empty"
    SEVERAL_REPLIES = "several replies"
    ONLY_REASONING = "only reasoning"
    CUT_OFF = "cut off"
    NO_ENTRY = "no entry"
    AMBIGUOUS = "ambiguous"
    UNSAFE_NAME = "unsafe name"
    NAMES_CLASH = "names clash"
    NO_BLOCK = "no such block"


@dataclass(frozen=True)
class ReplyText:
    """A decoded reply.

    Attributes:
        path: name of its file in messages.
        lines: the model's words; lines of reasoning are empty.
    """

    path: str
    data: bytes
    lines: tuple[str, ...]


def read_bytes(path: str) -> tuple[str, bytes]:
    """Return the name and bytes of a file, or of standard input for `-`, cut one byte over the limit.

    Raises:
        NotFoundError: the file cannot be read.
    """
    try:
        if path == STANDARD_INPUT:
            return "standard input", sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return path, file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotFoundError(
            f"{path}: cannot be read: {error.strerror}\n  name a file with a model's reply, or - for standard input"
        ) from None


def reply_text(path: str, data: bytes) -> ReplyText:
    """Return the model's words, without its reasoning.

    Raises:
        ReplyError: it is too large, not text, or JSON without a single reply.
        NoAnswerError: it is empty, or holds only reasoning.
    """
    if len(data) > MAX_BYTES:
        raise ReplyError(
            path,
            ReplyProblem.TOO_LARGE,
            f"is larger than {MAX_BYTES >> 20} MiB, the largest reply that is read",
            hint="keep the reply itself, without logs and data, and import that",
        )
    try:
        said = open_envelope(_decode(path, data))
    except EnvelopeError as error:
        problem = ReplyProblem.SEVERAL_REPLIES if error.several else ReplyProblem.EMPTY
        raise ReplyError(path, problem, error.message, hint=error.hint) from None
    # escapes in JSON can smuggle in zero bytes and lone surrogates
    said = _decode(path, said.encode(errors="replace"))
    lines = _unwrap(said.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    if not any(map(str.strip, lines)):
        words = "holds no answer" if data.strip() else "is empty"
        raise NoAnswerError(path, ReplyProblem.EMPTY, words, hint="save the whole reply and import that")
    cut = frozenset(_find_reasoning(path, lines))
    return ReplyText(path, data, tuple("" if number in cut else line for number, line in enumerate(lines)))


def _decode(path: str, data: bytes) -> str:
    problem = next((f"is {name} and not UTF-8" for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if not problem and b"\0" in data:
        problem = f"is not text: byte {data.index(0)} is 0"
    try:
        text = "" if problem else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
    if problem:
        raise ReplyError(
            path, ReplyProblem.NOT_TEXT, problem, hint="save the reply as Markdown in UTF-8 and import that"
        )
    return text


def _unwrap(lines: list[str]) -> list[str]:
    # the whole reply may be one block of Markdown
    filled = [number for number, line in enumerate(lines) if line.strip()]
    found = _WRAPPER.fullmatch(lines[filled[0]]) if len(filled) > 1 else None
    if found is None or lines[filled[-1]].strip() != found["fence"]:
        return lines
    inner = sum(bool(_FENCE.match(line)) for line in lines[filled[0] + 1 : filled[-1]])
    if inner == 0 or inner % 2:
        return lines
    return ["" if number in (filled[0], filled[-1]) else line for number, line in enumerate(lines)]


def _find_reasoning(path: str, lines: list[str]) -> Iterator[int]:
    opened, fenced = -1, False
    for number, line in enumerate(lines):
        if opened < 0:
            fenced ^= bool(_FENCE.match(line))
            opened = number if not fenced and _OPENS.match(line) else -1
        if opened >= 0 and _CLOSES.search(line):
            yield from range(opened, number + 1)
            opened = -1
        elif opened < 0 and _CLOSES.fullmatch(line.strip()):
            yield from range(number + 1)  # a lone closing tag covers all lines before it
            fenced = False
    if opened >= 0:
        raise NoAnswerError(
            path,
            ReplyProblem.ONLY_REASONING,
            f"is cut off: the reasoning that begins in line {opened + 1} never ends",
            hint="ask the model again with room for a longer reply, and import that",
        )
