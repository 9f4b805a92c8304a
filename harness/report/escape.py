"""Text from outside made safe to show: on a terminal, and in Markdown.

Everything a template prints goes through `markdown` unless it was made safe here before, so that nothing a submission
wrote can end a table cell, open a link or a tag, hide behind control characters or move the cursor of a terminal.
A bare web address stays what it is; it cannot hide behind other words.
"""

import re
from functools import lru_cache

from markupsafe import Markup

LIMIT = 600
"""Longest text shown on a line; the record keeps all of it."""
BLOCK_LINES = 30
"""Most lines shown of a block such as a compiler's output."""

_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {c: "\\" + c for c in "\\`*_{}[]|~$!"})
_INDEX = re.compile(r"(\[\d[\d., ]*\](?![(\[:]))")
"""Figures in brackets, such as `dx[0, 3]`, can be no link and read better bare."""
_CODE = re.compile(r"(?<!`)`([^`\s](?:[^`]*[^`\s])?)`(?!`)")
_INSIDE_WORD = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_BLOCK_START = re.compile(r"^([-+#=:](?=[-+#=:\s]|$)|\d{1,9}(?=[.)](?:\s|$)))(.?)", re.DOTALL)


def plain(text: object, limit: int = LIMIT) -> str:
    """The text on one line, without control, format or private characters, clipped at `limit` characters."""
    shown = str(text)
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in shown)
    line = " ".join(shown.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def markdown(value: object) -> Markup:
    """The value as text that Markdown shows as it is; what is safe already passes unchanged."""
    return value if isinstance(value, Markup) else _markdown(str(value))


# the same words stand in many cells: of two thousand records in a million
@lru_cache(1 << 16)
def _markdown(text: str) -> Markup:
    parts = _CODE.split(plain(text))
    parts[::2] = map(_words, parts[::2])
    parts[1::2] = map(code, parts[1::2])
    return Markup(_BLOCK_START.sub(_defused, "".join(parts)))


def _words(text: str) -> str:
    """Text without code in it."""
    parts = _INDEX.split(text)
    parts[::2] = [_INSIDE_WORD.sub("_", part.translate(_MARKS)) for part in parts[::2]]
    return "".join(parts)


def html(value: object) -> Markup:
    """Return the value as HTML shows it: what stands between backticks is code; what is safe already passes unchanged.

    No tag but `<code>` is in what comes back, so that it holds in an attribute, too.
    """
    if isinstance(value, Markup):
        return value
    parts = _CODE.split(plain(value))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def code(value: object) -> Markup:
    """The value as a code span that also holds in a table; backticks and bars are replaced by look-alikes."""
    return _code(str(value))


@lru_cache(1 << 12)
def _code(value: str) -> Markup:
    text = plain(value).replace("`", "'").replace("|", "¦")
    return Markup(f"`{text}`") if text else Markup("")


def fenced(text: object) -> Markup:
    """The text as a code block of its own, which must start a line."""
    lines = [_blockline(line) for line in str(text).splitlines()]
    if len(lines) > BLOCK_LINES:
        lines[BLOCK_LINES:] = [f"… {len(lines) - BLOCK_LINES} more lines in the record"]
    body = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{body}\n{fence}")


def _defused(match: re.Match[str]) -> str:
    start, after = match.groups()
    return f"{start}\\{after}" if start[0].isdigit() else f"\\{start}{after}"


def _blockline(line: str) -> str:
    shown = "".join(c if c.isprintable() or c in " \t" else "\ufffd" for c in line).expandtabs(4).rstrip()
    return shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"
