"""Files that a reply writes in the tags of an agent's tools: each call becomes a fenced block with the file's name.

Lines keep their numbers, as far as a tag and code do not share one.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence

_OPENS = re.compile(
    r"[ \t]{0,20}<(?P<tag>write_to_file|create_file|write_file|new_file|replace_in_file|apply_diff|edit_file|"
    r"str_replace|"
    r"tool_call|execute_command|read_file|list_files|search_files|file|document|(?:antml:)?invoke)\b(?P<about>[^<>]{0,300})>",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"<(?:(?P<tag>(?:antml:)?parameter) name=[\"'](?P<named>\w{1,40})[\"']|(?P<field>\w{1,40}))>", re.IGNORECASE
)
_PATHS = ("path", "file_path", "filepath", "filename", "target_file", "file", "name", "source")
_CONTENTS = ("content", "contents", "file_text", "code", "file_content", "document_content", "document_contents")
_OLD = ("old_str", "old_string", "search")
_NEW = ("new_str", "new_string", "replace")
_DIFFS = ("diff", "patch")
_COMMANDS = ("command", "cmd", "script")
_READS = re.compile(r"view|read|list|search|grep|glob|open|find|think|fetch", re.IGNORECASE)
_WRAPPER = re.compile(r"[ \t]{0,20}</?(?:antml:)?function_calls>[ \t]*$", re.IGNORECASE)
_DATA = re.compile(r"\s*<!\[CDATA\[(?P<text>.*?)\]\]>\s*", re.DOTALL)
_MOST = 20
"""Calls that write no file, after which no more are read."""
_LONGEST = 20_000
"""Lines of a call that are read."""
_FENCE = re.compile(r"`{3,}")


def without_tags(text: str) -> str:
    """A reply with each call that writes or changes a file as a fenced block; other calls stay as they are."""
    if "<" not in text or not _OPENS.search(text):
        return text
    return "\n".join(_lines(text.replace("\r\n", "\n").split("\n")))


def _lines(lines: Sequence[str]) -> Iterator[str]:
    at, within, unclear = 0, "", 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line.strip())
        if fence and (not within or line.strip() == within):
            within = "" if within else fence[0]
        if not within and _WRAPPER.match(line):
            line = ""
        found = None if within else _OPENS.match(line)
        last = _last(lines, at, found["tag"]) if found and unclear < _MOST else -1
        block = _block(found, "\n".join(lines[at : last + 1])) if found and last >= 0 else None
        if block is None:
            unclear += found is not None
            yield line
            at += 1
            continue
        yield from block
        yield from [""] * (last + 1 - at - len(block))
        at = last + 1


def _last(lines: Sequence[str], first: int, tag: str) -> int:
    """The line of the closing tag; -1 where there is none."""
    end = f"</{tag.lower()}>"
    return next((at for at in range(first, min(len(lines), first + _LONGEST)) if end in lines[at].lower()), -1)


def _block(opened: re.Match[str], call: str) -> list[str] | None:
    """The lines of the fenced block that a call amounts to, none of one that only reads; None where it is unclear."""
    body = call[opened.end() : call.rfind("</")]
    if opened["tag"].lower() == "tool_call":
        return ["```json", *body.strip().split("\n"), "```"] if body.strip()[:1] in ("{", "[") else None
    fields = _fields(call, opened.end())
    path, command = _first(fields, _PATHS), _first(fields, _COMMANDS)
    written = _written(fields, path.strip()) if path and "\n" not in path.strip() else None
    if written is not None:
        return written
    if _READS.search(opened["tag"]) or _READS.search(opened["about"]) or (path and _READS.match(command or "")):
        return []
    return ["```bash", *_trimmed(command).split("\n"), "```"] if command is not None else None


def _written(fields: Mapping[str, str], path: str) -> list[str] | None:
    """The lines of the block that writes or changes a file; None where the call gives neither text nor change."""
    info, text = f'title="{path}"', _first(fields, _CONTENTS)
    old, new = _first(fields, _OLD), _first(fields, _NEW)
    if text is None and old is not None and new is not None:
        info = f"diff {info}"
        text = f"<<<<<<< SEARCH\n{_trimmed(old)}\n=======\n{_trimmed(new)}\n>>>>>>> REPLACE"
    elif text is None and (text := _first(fields, _DIFFS)) is not None:
        info = f"diff {info}"
    if text is None:
        return None
    if data := _DATA.fullmatch(text):
        text = data["text"]
    text = _trimmed(text)
    if re.search(r"&(?:lt|gt|amp|quot);", text) and not re.search(r"[<>]", text):
        text = html.unescape(text)
    fence = "`" * (max((len(ticks) for ticks in _FENCE.findall(text)), default=3) + 1)
    return [f"{fence} {info}", *text.split("\n"), fence]


def _fields(call: str, at: int) -> dict[str, str]:
    """The fields of a call from a place on, by their names."""
    fields = dict[str, str]()
    for _ in range(_MOST):
        found = _FIELD.search(call, at)
        end = call.find(f"</{found['tag'] or found['field']}>", found.end()) if found else -1
        if found is None or end < 0:
            break
        fields[(found["named"] or found["field"]).lower()] = call[found.end() : end]
        at = end
    return fields


def _first(fields: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((fields[name] for name in names if name in fields), None)


def _trimmed(text: str) -> str:
    """The text of a field without the line ends that set it off from its tags."""
    return text.removeprefix("\n").rstrip("\n")
