"""The text of a model's raw reply: its bytes read under a limit, taken out of JSON, its reasoning found."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.errors import NoAnswerError, NotFoundError, ReplyError
from harness.importing.reply_json import is_silent, words_of
from harness.importing.reply_markup import with_fences
from harness.importing.reply_tags import without_tags

MAX_BYTES = 2 << 20
"""A larger reply is not read."""
STANDARD_INPUT = "-"
_TAG = r"(?:think|thinking|thought|thoughts|reasoning|scratchpad|reflection|seed:think)"
_OPENS = re.compile(
    rf"[ \t>]{{0,20}}(?:<{_TAG}>|\[THINK\]|\u25c1think\u25b7|<\|(?:begin_of_thought|START_THINKING)\|>)", re.IGNORECASE
)
_CLOSES = re.compile(rf"</{_TAG}>|\[/THINK\]|\u25c1/think\u25b7|<\|(?:end_of_thought|END_THINKING)\|>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t>]{0,40}(?:`{3,}|~{3,})")
_JSON_FENCE = re.compile(r"```json[ \t\r]*\n(?P<json>.*)\n```", re.DOTALL | re.IGNORECASE)
_SHOWN = 8
"""Fields of JSON that an error names."""
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class ReplyProblem(StrEnum):
    """Why no submission can be taken from a reply."""

    TOO_LARGE = "too large"
    NOT_TEXT = "not text"
    EMPTY = "empty"
    SEVERAL_REPLIES = "several replies"
    ONLY_REASONING = "only reasoning"
    NO_CODE = "no code"
    CUT_OFF = "cut off"
    UNCLOSED = "fence not closed"
    UNSAFE_NAME = "unsafe name"
    NAMES_CLASH = "names clash"
    NO_ENTRY = "no entry"
    SEVERAL_ENTRIES = "several entries"
    UNFINISHED = "unfinished"
    HTML = "HTML"


@dataclass(frozen=True)
class ReplyText:
    """A reply as it was read.

    Attributes:
        path: as the user knows it.
        data: its bytes.
        lines: of what the model said.
        thoughts: numbers from 1 of the lines that are reasoning before the answer.
    """

    path: str
    data: bytes
    lines: tuple[str, ...]
    thoughts: frozenset[int] = frozenset()


def read_reply(path: str) -> ReplyText:
    """Read a file, or standard input for `-`.

    Raises:
        NotFoundError: there is no such file, or it cannot be read.
        ReplyError: it is too large, empty, no text, or holds no answer.
    """
    return reply_text(*read_bytes(path))


def read_bytes(path: str) -> tuple[str, bytes]:
    """Return the name and the bytes of a file, or of standard input for `-`; no more than show that it is too large.

    Raises:
        NotFoundError: there is no such file, or it cannot be read.
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
    """As `read_reply`, of bytes that are there already."""
    if len(data) > MAX_BYTES:
        raise ReplyError(
            path, ReplyProblem.TOO_LARGE, f"is larger than {MAX_BYTES >> 20} MiB, and replies are not",
            hint="keep the reply itself, without logs and data, and import that",
        )  # fmt: skip
    text = _decoded(path, data)
    # JSON can escape what no text file holds: zeros, and halves of pairs
    inner = _decoded(path, _said(path, text).encode(errors="replace"))
    said = with_fences(without_tags(inner.replace("\r\n", "\n")))
    lines = tuple(said.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    if not any(map(str.strip, lines)):
        raise NoAnswerError(path, ReplyProblem.EMPTY, "holds no answer", hint="save the whole reply and import that")
    return ReplyText(path, data, lines, frozenset(_thoughts(path, lines)))


def _decoded(path: str, data: bytes) -> str:
    problem = next((f"is {name} and not UTF-8" for mark, name in _MARKS.items() if data.startswith(mark)), "")
    if not problem and b"\0" in data:
        problem = f"is no text: byte {data.index(0)} is 0"
    try:
        text = "" if problem else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
    if problem:
        raise ReplyError(
            path, ReplyProblem.NOT_TEXT, problem, hint="save the reply as Markdown in UTF-8 and import that"
        )
    return text


def _said(path: str, text: str) -> str:
    """The text, or what the model said in it where it is JSON of a chat interface."""
    wrapped = _JSON_FENCE.fullmatch(text.strip())
    inner = wrapped["json"] if wrapped else text
    if inner.lstrip()[:1] not in ("{", "[", '"'):
        return text
    try:
        value = json.loads(inner)
    except (ValueError, RecursionError):
        return text
    for name in ("choices", "candidates"):
        several = value.get(name) if isinstance(value, dict) else None
        if isinstance(several, list) and len(several) > 1:
            raise ReplyError(
                path, ReplyProblem.SEVERAL_REPLIES, f"is JSON whose {name!r} holds {len(several)} replies",
                hint=f"import each alone:  jq '.{name}[0]' FILE | harness import reply - --model NAME --challenge ID",
            )  # fmt: skip
    said = words_of(value)
    if not said.strip():
        if is_silent(value):
            return ""
        fields = f": its fields are {', '.join(list(value)[:_SHOWN])}" if isinstance(value, dict) and value else ""
        raise ReplyError(
            path, ReplyProblem.EMPTY, f"is JSON in which no reply was found{fields}",
            hint="take the reply out of it:  jq -r .FIELD FILE | harness import reply - --model NAME --challenge ID",
        )  # fmt: skip
    return said


def _thoughts(path: str, lines: tuple[str, ...]) -> Iterator[int]:
    """The lines of reasoning: between tags, or all before a closing tag whose opening one the chat template kept."""
    opened, fenced = 0, False
    for number, line in enumerate(lines, 1):
        if not opened:
            fenced ^= bool(_FENCE.match(line))
            opened = number if not fenced and _OPENS.match(line) else 0
        if opened and _CLOSES.search(line):
            yield from range(opened, number + 1)
            opened = 0
        elif not opened and _CLOSES.fullmatch(line.strip()):
            yield from range(1, number + 1)
            fenced = False
    if opened:
        raise NoAnswerError(
            path, ReplyProblem.ONLY_REASONING, f"is cut off: the reasoning that begins in line {opened} never ends",
            hint="ask the model again with room for a longer reply, and import that",
        )  # fmt: skip
