"""Escaping of outside text for terminals, Markdown and HTML.

Writers pass every text through these functions. So a submission's text cannot end a table cell,
open a link or a tag, hide behind control characters or move a cursor. Bare web addresses stay unescaped.
"""

import re
from functools import lru_cache

from markupsafe import Markup, escape

LIMIT = 600
"""Most characters on a line; the record keeps all."""
BLOCK_LINES = 30
"""Most lines of a block such as a compiler's output."""

_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {c: "\\" + c for c in "\\`*_{}[]|~$!"})
_INDEX = re.compile(r"(\[\d[\d., ]*\](?![(\[:]))")
"""Figures in brackets, such as `dx[0, 3]`, which cannot be a link and read better unescaped."""
_CODE = re.compile(r"(?<!`)`([^`\s](?:[^`]*[^`\s])?)`(?!`)")
_INSIDE_WORD = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")
_BLOCK_START = re.compile(r"^([-+#=:](?=[-+#=:\s]|$)|\d{1,9}(?=[.)](?:\s|$)))(.?)", re.DOTALL)


def plain(text: object, limit: int = LIMIT) -> str:
    """Return one line of at most `limit` characters, without control, format or private characters."""
    shown = str(text)
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in shown)
    line = " ".join(shown.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def markdown(value: object) -> Markup:
    """Escape a value for Markdown; safe values pass as they are."""
    return value if isinstance(value, Markup) else _markdown(str(value))


def within(value: object) -> Markup:
    """Escape a value for Markdown that goes on with a line; safe values pass as they are."""
    return value if isinstance(value, Markup) else _within(str(value))


def _markdown(text: str) -> Markup:
    return Markup(_BLOCK_START.sub(_defused, _within(text)))


# the same words stand in many cells: of two thousand records in a million
@lru_cache(1 << 16)
def _within(text: str) -> Markup:
    parts = _CODE.split(plain(text))
    parts[::2] = map(_words, parts[::2])
    parts[1::2] = map(code, parts[1::2])
    return Markup("".join(parts))


def _words(text: str) -> str:
    parts = _INDEX.split(text)
    parts[::2] = [_INSIDE_WORD.sub("_", part.translate(_MARKS)) for part in parts[::2]]
    return "".join(parts)


def html(value: object) -> Markup:
    """Escape a value for HTML, with text between backticks as `<code>`, the only tag; safe values pass as they are."""
    return value if isinstance(value, Markup) else _html(str(value))


@lru_cache(1 << 16)
def _html(text: str) -> Markup:
    parts = map(escape, _CODE.split(plain(text)))
    return Markup("".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)))


def code(value: object) -> Markup:
    """Return a code span, valid in a table too: look-alikes replace backticks and bars."""
    return _code(str(value))


@lru_cache(1 << 12)
def _code(value: str) -> Markup:
    text = plain(value).replace("`", "'").replace("|", "¦")
    return Markup(f"`{text}`") if text else Markup("")


def fenced(text: object) -> Markup:
    """Return a code block, which must start a line."""
    body = "\n".join(block_lines(str(text).removesuffix("\n")))
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{body}\n{fence}")


def block_lines(text: str, wide: int = LIMIT) -> list[str]:
    """Return the lines of a block without control characters, limited in number and width."""
    lines = [_blockline(line, wide) for line in text.split("\n")]
    if len(lines) > BLOCK_LINES:
        lines[BLOCK_LINES:] = [f"… {len(lines) - BLOCK_LINES} more lines in the record"]
    return lines


def _defused(match: re.Match[str]) -> str:
    start, after = match.groups()
    return f"{start}\\{after}" if start[0].isdigit() else f"\\{start}{after}"


def _blockline(line: str, wide: int) -> str:
    shown = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line.rstrip()).expandtabs(4)
    return shown if len(shown) <= wide else shown[: wide - 1] + "…"
