"""Blocks of a reply that are JSON with files: calls of tools that write some, files with their paths, a notebook."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.importing.fences import FencedBlock
from harness.importing.reply_json import is_answer
from harness.importing.reply_names import file_name
from harness.importing.reply_tools import called, cells, tool_call

_TONGUES = ("json", "ipynb", "tool_code", "tool_call", "jsonc", "")
_CALLED = ("arguments", "args", "parameters", "input")
_NAMED = re.compile(r"[^\s\"'`{}]{1,300}\.[A-Za-z]\w{0,9}")
_DEPTH = 6
"""Levels of JSON that are looked through for files."""
_TOOLS = ("tool", "tool_name", "name")


def blocks_of_calls(blocks: Sequence[FencedBlock]) -> list[FencedBlock]:
    """The blocks, each that is JSON with files replaced by these."""
    written = dict[str, str]()
    return [each for block in blocks for each in _blocks(block, written)]


def _blocks(block: FencedBlock, written: dict[str, str]) -> Sequence[FencedBlock]:
    text = block.text.strip()
    named = file_name(block)
    if block.tongue not in _TONGUES or text[:1] not in ("{", "[") or (named and not named.path.endswith(".ipynb")):
        return [block]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return [block]
    found = list(_texts(value, written, _DEPTH))
    made = [
        replace(block, line=block.line + number, info=info, text=said.removesuffix("\n") + "\n", above=())
        for number, (info, said) in enumerate((info, said) for info, said in found if info)
    ]
    return made or [block]


def _texts(value: Any, written: dict[str, str], depth: int, beside: bool = False) -> Iterator[tuple[str, str]]:
    """The blocks that a value amounts to: what files and calls it is, or holds some levels below.

    Beside files of several lines, or `beside` them in a list, one line makes a file as well.
    """
    if isinstance(value, list) and depth:
        several = any(isinstance(one, dict) and _is_file(one) for one in value)
        for one in value:
            yield from _texts(one, written, depth - 1, several)
    if not isinstance(value, dict) or not depth or not is_answer(value):
        return
    if isinstance(value.get("cells"), list):
        yield from cells(value)
        return
    call = tool_call(value)
    given = next((value[name] for name in _CALLED if isinstance(value.get(name), dict)), None)
    if call is None and given is not None and any(isinstance(value.get(name), str) for name in _TOOLS):
        call = {"": next(value[name] for name in _TOOLS if isinstance(value.get(name), str)), **given}
    if call is None and _is_file(value, beside):
        name = next((value[key] for key in ("name", "title") if _NAMED.fullmatch(str(value.get(key)))), None)
        call = {"path": name, **value} if name else value
    if call is not None:
        yield from called(call, written)
        return
    several = any(_NAMED.fullmatch(name) and isinstance(text, str) and "\n" in text for name, text in value.items())
    for name, text in value.items():
        if several and _NAMED.fullmatch(name) and isinstance(text, str):
            yield from called({"path": name, "content": text}, written)
        elif isinstance(text, dict | list):
            yield from _texts(text, written, depth - 1)


def _is_file(value: Mapping[str, Any], beside: bool = False) -> bool:
    """Whether an object is a file: a path, and a content of several lines, or of any where it stands beside files."""
    content = next((value[name] for name in ("content", "contents", "code", "file_text") if name in value), None)
    return isinstance(content, str) and (beside or "\n" in content)
