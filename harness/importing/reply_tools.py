"""Files that a model wrote by calling tools: each call gives the whole file as it is then, or an unclear change."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

_PATHS = ("path", "file_path", "filepath", "filename", "file_name", "file", "target_file")
_CONTENTS = ("content", "contents", "file_text", "text", "code", "new_content")
_OLD = ("old_str", "old_string", "old_text", "search")
_NEW = ("new_str", "new_string", "new_text", "replace")
_PATCHES = ("patch", "input", "diff")
_COMMANDS = ("command", "cmd", "script")
_READS = ("view", "read", "list", "search", "grep", "glob", "open", "find")
UNCLEAR = "@@\n a call of a tool that changes a file in a way that is not read\n+"
"""A patch that fits no file."""


def tool_call(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a tool call as chat interfaces write it; empty where they cannot be read, None of no call."""
    function = value.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, dict) else value
    if value.get("type") not in ("tool_use", "function_call", "function") and "function" not in value:
        return None
    given = next((inner[name] for name in ("input", "arguments", "args", "parameters") if name in inner), None)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    name = str(inner.get("name", ""))
    return {"": name, **given} if isinstance(given, dict) else {}


def called(given: Mapping[str, Any], written: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The blocks that a call of a tool amounts to: an info string and a text of each.

    Args:
        given: the arguments, and under "" the tool's name.
        written: what earlier calls wrote, by path; this one's is added.
    """
    path, old, new = (_first(given, names) for names in (_PATHS, _OLD, _NEW))
    text = _first(given, _CONTENTS)
    reads = any(word in str(given.get(name, "")).lower() for word in _READS for name in ("", "command"))
    if path and old is not None and new is not None:
        now = written.get(path, "")
        several = given.get("replace_all") is True
        if old and (now.count(old) == 1 or (several and old in now)):
            written[path] = now.replace(old, new)
            yield f'title="{path}"', written[path]
        else:
            yield f'diff title="{path}"', UNCLEAR
    elif path and text is not None:
        written[path] = text
        yield f'title="{path}"', text
    elif patch := next(
        (given[name] for name in _PATCHES if "***" in str(given.get(name)) or "@@" in str(given.get(name))), ""
    ):
        yield "diff", str(patch)
    elif path and not reads:
        yield f'diff title="{path}"', UNCLEAR
    elif command := _first(given, _COMMANDS):
        yield "bash", command


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def cells(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The cells of a notebook: an info string and a text of each; prose has no info string, and "" is Markdown."""
    for cell in notebook.get("cells") or ():
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") != "code":
            yield "", text
        elif not text.startswith("%%") or text.startswith(("%%writefile", "%%file")):
            lines = text.split("\n")
            yield (
                "python",
                "\n".join(line for line in lines if not line.startswith(("!", "%")) or line.startswith("%%")),
            )
