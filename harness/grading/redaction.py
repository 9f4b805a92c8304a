"""Redaction of records whose submissions may not be redistributed: facts stay, the submission's text goes.

Compilers, tracebacks, exceptions and output quote that text, so the whole record is compared with the files.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import harness
from harness.model import Record

WITHHELD = "[withheld]"
SHORTEST = 20
"""Shortest withheld passage, in characters, longer than names and plain phrases."""
_GUTTER = re.compile(r"^\s*(?:\d+\s*)?\|\s?|^\s*>+\s")
"""Prefix that compilers and tracebacks print before a line of source."""
_MARKS = re.compile(r"[\s^~|+-]+")
"""Line of markers below a line of source."""
_NAME = re.compile(r"[\w./:-]*")
"""Name of a file, function or variable: a fact about the submission."""
_QUOTED = re.compile(r"`([^`\n]*)`")
_WORD = re.compile(r"\w+|[^\w\s]")
_CODE = re.compile(r"[^\w\s.]")
_FREE_TEXT = frozenset({"title", "detail", "words", "text", "where", "expected", "got", "error", "remarks"})
"""Fields of a record that hold sentences."""


class Withheld:
    """Redactor of the text of some files.

    Args:
        own: text of the harness, which is never redacted.
    """

    def __init__(self, texts: Iterable[str], own: str = "") -> None:
        self._own = " ".join(own.split())
        self._lines: set[str] = set()
        self._whole = ""
        for text in texts:
            self._lines |= {" ".join(line.split()) for line in text.splitlines()}
            self._whole += f"\n{' '.join(text.split())}"
        self._passages = {self._whole[at : at + SHORTEST] for at in range(len(self._whole) - SHORTEST + 1)}

    def of(self, text: str) -> str:
        """Remove excerpts of source, and replace passages of the files by `WITHHELD`."""
        lines = [line for line in text.split("\n") if not self._is_excerpt(line)]
        return _QUOTED.sub(self._redact_code, "\n".join(map(self._redact_passages, lines))).strip()

    def _redact_code(self, quoted: re.Match[str]) -> str:
        """Redact quoted expressions, but leave names, numbers and phrases of ours."""
        code = " ".join(quoted[1].split())
        known = WITHHELD in code or (_CODE.search(code) and code in self._whole)
        return f"`{WITHHELD}`" if known else quoted[0]

    def _is_excerpt(self, line: str) -> bool:
        source = " ".join(_GUTTER.sub("", line).split())
        framed = source != " ".join(line.split())
        marks = bool(line.strip()) and ("^" in line or "~" in line) and _MARKS.fullmatch(line) is not None
        return marks or (source in self._lines and (framed or len(source) >= SHORTEST))

    def _redact_passages(self, line: str) -> str:
        flat = " ".join(line.split())
        covered = bytearray(len(flat))
        for at in range(len(flat) - SHORTEST + 1):
            passage = flat[at : at + SHORTEST]
            if passage in self._passages and passage not in self._own:
                covered[at : at + SHORTEST] = b"\1" * SHORTEST
        parts, end = [], 0
        for run in re.finditer(b"\x01+", bytes(covered)):
            start, stop = _trim_to_words(flat, run.start(), run.end())
            if start < stop and not _NAME.fullmatch(flat[start:stop]):
                parts += [flat[end:start], WITHHELD]
                end = stop
        return "".join([*parts, flat[end:]]) if parts else line


def _trim_to_words(text: str, start: int, stop: int) -> tuple[int, int]:
    words = [word.span() for word in _WORD.finditer(text) if start <= word.start() and word.end() <= stop]
    return (words[0][0], words[-1][1]) if words else (start, start)


def without_quotes(record: Record, folder: Path, files: Iterable[str], ours: Iterable[Path]) -> Record:
    """Return the record without the submission's output and text, if these may not be redistributed.

    Args:
        files: names of the submission's own files in `folder`.
        ours: folders of the challenge, whose words may be repeated.
    """
    if record.quotable:
        return record
    theirs = {folder / name for name in files}
    added = [path for path in folder.rglob("*") if path.is_file() and path not in theirs]
    files_of_ours = [path for place in ours for path in place.glob("*.*")]
    own = "\n".join(map(_read_text, (*added, *files_of_ours))) + _read_package()
    held = Withheld(map(_read_text, sorted(theirs)), own)
    data = record.model_dump(mode="python")
    if data["build"]:
        data["build"]["output"] = ""
    for field in ("evidence", "build", "repaired", "signals", "remarks", "error"):
        data[field] = _clean(data[field], field, cache(held.of))
    return Record.model_validate(data)


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def _read_package() -> str:
    return "\n".join(map(_read_text, sorted(Path(harness.__file__).parent.rglob("*.py"))))


def _clean(value: Any, field: str, clean: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _clean(item, key, clean) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_clean(item, field, clean) for item in value)
    if isinstance(value, str) and field in _FREE_TEXT:
        return clean(value) or (WITHHELD if value else "")
    return value
