"""What a model said in the JSON of a chat interface, or of a reply that was asked for in JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.importing.reply_tools import called, cells, tool_call

_DEPTH = 8
_HOLDERS = (
    "choices", "candidates", "output", "messages", "message", "content", "tool_calls", "parts", "text", "response",
    "completion", "answer", "solution", "code", "refusal",
)  # fmt: skip
"""Where chat interfaces, their exports and replies in JSON keep what a model said."""
_CONTAINERS = ("choices", "candidates", "output", "messages", "message", "tool_calls")
"""Those of them that hold messages, not words."""
_MODELS = (None, "assistant", "model", "ai", "bot")
_THOUGHTS = ("thinking", "reasoning", "thought", "redacted_thinking", "tool_result", "function_call_output")
_PATHS = ("path", "file", "filename", "file_name", "file_path", "filepath", "name")
_CONTENTS = ("content", "contents", "code", "source", "text")
_FILE = re.compile(r"[^\s\"'`{}]{1,300}\.[A-Za-z]\w{0,9}|Makefile|Dockerfile")
_TICKS = re.compile(r"`{3,}")


def words_of(value: Any) -> str:
    """The text that a model said, files in it as fenced blocks that bear their names; empty where none is found."""
    # half of a pair of escapes is no character, and no file can hold it
    return "\n\n".join(_words(value, _DEPTH, {})).encode(errors="replace").decode()


def _words(value: Any, depth: int, written: dict[str, str]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            yield from _words(item, depth - 1, written)
    elif depth and isinstance(value, dict) and is_answer(value):
        if isinstance(value.get("cells"), list):
            yield from (_fenced(info, text) if info else text for info, text in cells(value))
            return
        if (call := tool_call(value)) is not None:
            yield from (_fenced(info, text) for info, text in called(call, written))
            return
        if files := _files(value):
            yield from (_fenced(f'title="{path}"', text) for path, text in files.items())
            return
        held = next((name for name in _HOLDERS if value.get(name)), "")
        yield from _words(value.get(held), depth - 1, written)
        for also in ("files", "tool_calls"):
            if also != held:
                yield from _words(value.get(also), depth - 1, written)


def is_silent(value: Any, depth: int = _DEPTH) -> bool:
    """Return whether a chat in which no words were found holds a message of the model."""
    if isinstance(value, list):
        return depth > 0 and any(is_silent(item, depth - 1) for item in value)
    if not isinstance(value, dict):
        return isinstance(value, str)
    if not depth or not is_answer(value):
        return False
    return any(
        name not in _CONTAINERS or is_silent(value[name], depth - 1) for name in _HOLDERS if name in value
    )  # fmt: skip


def is_answer(value: Mapping[str, Any]) -> bool:
    """Whether a part of a chat is what the model answered: no question, no reasoning, no call of a tool."""
    return value.get("role") in _MODELS and value.get("type") not in _THOUGHTS and not value.get("thought")


def _files(value: Mapping[str, Any]) -> dict[str, str]:
    """The file that an object is, by its path, or the files that it maps names to; empty where it is neither."""
    path = next((value[name] for name in _PATHS if _is_file(value.get(name))), None)
    text = next((value[name] for name in _CONTENTS if isinstance(value.get(name), str)), None)
    if path is not None and text is not None:
        return {path: text}
    if all(_is_file(name) and isinstance(text, str) for name, text in value.items()):
        return dict(value)
    return {}


def _is_file(name: Any) -> bool:
    return isinstance(name, str) and _FILE.fullmatch(name) is not None


def _fenced(info: str, text: str) -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence} {info}\n{text.removesuffix(chr(10))}\n{fence}"
