"""JSON around a reply: chats, tool calls that write files, and maps of files."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_DEPTH = 8
_HOLDERS = (
    "choices",
    "candidates",
    "output",
    "messages",
    "message",
    "content",
    "tool_calls",
    "parts",
    "text",
    "response",
    "completion",
    "answer",
    "solution",
    "code",
    "refusal",
)
"""Keys that hold a model's words in chats, their exports and replies in JSON."""
_CONTAINERS = ("choices", "candidates", "output", "messages", "message", "tool_calls")
"""Those of the keys that hold messages."""
_MODELS = (None, "assistant", "model", "ai", "bot")
_NOT_SAID = ("thinking", "reasoning", "thought", "redacted_thinking", "tool_result", "function_call_output")
_CALLS = ("tool_use", "function_call", "function")
_PATHS = ("path", "file_path", "filepath", "filename", "file_name", "file", "target_file", "name")
_CONTENTS = ("content", "contents", "file_text", "code", "source", "text", "new_content")
_OLD = ("old_str", "old_string", "old_text", "search")
_NEW = ("new_str", "new_string", "new_text", "replace")
_FILE = re.compile(r"[^\s\"'`{}]{1,300}\.[A-Za-z]\w{0,9}|Makefile|Dockerfile")
_TICKS = re.compile(r"`{3,}")
_FENCED = re.compile(r"```json[ \t\r]*\n(?P<json>.*)\n```", re.DOTALL | re.IGNORECASE)
_SHOWN = 8
"""Most fields that an error names."""
UNREAD_CHANGE = "@@ a change that is not read @@\n"
"""Text of a patch that fits no file."""


class EnvelopeError(Exception):
    """JSON that holds several replies, or none.

    Attributes:
        message: the problem, to follow the word `it`.
    """

    def __init__(self, message: str, hint: str, *, several: bool) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.several = several


def open_envelope(text: str) -> str:
    """Return the Markdown of a reply in JSON, or other text unchanged.

    Raises:
        EnvelopeError: the JSON holds several replies, or none.
    """
    wrapped = _FENCED.fullmatch(text.strip())
    inner = wrapped["json"] if wrapped else text
    value = _parse_json(inner) if inner.lstrip()[:1] in ("{", "[", '"') else None
    if value is None:
        return text
    for name in ("choices", "candidates"):
        several = value.get(name) if isinstance(value, dict) else None
        if isinstance(several, list) and len(several) > 1:
            raise EnvelopeError(
                f"is JSON whose {name!r} holds {len(several)} replies",
                f"import each alone:  jq '.{name}[0]' FILE | harness import reply - --model NAME --challenge ID",
                several=True,
            )
    said = "\n\n".join(_extract_words(value, _DEPTH, {}))
    if said.strip() or _is_silent(value, _DEPTH):
        return said
    fields = f": its fields are {', '.join(list(value)[:_SHOWN])}" if isinstance(value, dict) and value else ""
    raise EnvelopeError(
        f"is JSON in which no reply was found{fields}",
        "take the reply out of it:  jq -r .FIELD FILE | harness import reply - --model NAME --challenge ID",
        several=False,
    )


def files_of(text: str) -> dict[str, str]:
    """Return the files by path that a block of JSON holds; empty for other JSON."""
    value = _parse_json(text)
    if isinstance(value, dict) and isinstance(value.get("files"), list):
        found = [_read_files(each) if isinstance(each, dict) else {} for each in value["files"]]
        joined = {path: content for each in found for path, content in each.items()}
        return joined if all(found) and len(joined) == sum(map(len, found)) else {}
    if isinstance(value, dict) and isinstance(value.get("files"), dict):
        value = value["files"]
    return _read_files(value) if isinstance(value, dict) else {}


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _extract_words(value: Any, depth: int, written: dict[str, str]) -> Iterator[str]:
    """Yield the model's words, and a block per file. `written` collects the files of its tool calls."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            yield from _extract_words(item, depth - 1, written)
    elif depth and isinstance(value, dict) and _is_said(value):
        if value.get("type") in _CALLS or "function" in value:
            yield from _render_call(_read_arguments(value), written)
        elif files := _read_files(value):
            yield from (_render_block(f'title="{path}"', text) for path, text in files.items())
        else:
            held = next((name for name in _HOLDERS if value.get(name)), "")
            for name in dict.fromkeys((held, "files", "tool_calls")):
                yield from _extract_words(value.get(name), depth - 1, written)


def _is_said(value: Mapping[str, Any]) -> bool:
    # questions, reasoning and tool results are not the model's words
    return value.get("role") in _MODELS and value.get("type") not in _NOT_SAID and not value.get("thought")


def _is_silent(value: Any, depth: int) -> bool:
    # a chat without words may still hold a message of the model
    if isinstance(value, list):
        return depth > 0 and any(_is_silent(item, depth - 1) for item in value)
    if not isinstance(value, dict) or not depth or not _is_said(value):
        return isinstance(value, str)
    return any(name not in _CONTAINERS or _is_silent(value[name], depth - 1) for name in _HOLDERS if name in value)


def _read_arguments(value: Mapping[str, Any]) -> Mapping[str, Any]:
    function = value.get("function")
    call: Mapping[str, Any] = function if isinstance(function, dict) else value
    given = next((call[name] for name in ("input", "arguments", "args", "parameters") if name in call), None)
    given = _parse_json(given) if isinstance(given, str) else given
    return given if isinstance(given, dict) else {}


def _render_call(given: Mapping[str, Any], written: dict[str, str]) -> Iterator[str]:
    """Yield the block that a tool call stands for: the file after it, or a patch that fits no file."""
    path, old, new, text = (_find_first(given, names) for names in (_PATHS, _OLD, _NEW, _CONTENTS))
    if path is None:
        return
    if old and new is not None and written.get(path, "").count(old) == 1:
        text = written[path].replace(old, new)
    elif old is not None or new is not None or "insert_line" in given:
        yield _render_block(f'diff title="{path}"', UNREAD_CHANGE)
        return
    if text is not None:
        written[path] = text
        yield _render_block(f'title="{path}"', text)


def _find_first(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def _read_files(value: Mapping[str, Any]) -> dict[str, str]:
    """Return {path: text} of an object that is a file or maps names to files; else {}."""
    path, text = _find_first(value, _PATHS), _find_first(value, _CONTENTS)
    if path is not None and text is not None and _FILE.fullmatch(path):
        return {path: text}
    if all(_FILE.fullmatch(name) and isinstance(text, str) for name, text in value.items()):
        return dict(value)
    return {}


def _render_block(info: str, text: str) -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence} {info}\n{text.removesuffix(chr(10))}\n{fence}"
