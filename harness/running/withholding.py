"""Records of answers that may not be passed on: they keep facts, and none of the answer's own words.

An answer's words come into a record in many ways: a compiler's excerpt, a traceback, the message of an exception, what
was printed. So a record is held against the answer's files as a whole: whatever stands in them is taken out, wherever
it is.
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
"""Characters of a passage that is withheld: names and plain phrases are shorter."""
_GUTTER = re.compile(r"^\s*(?:\d+\s*)?\|\s?|^\s*>+\s")
"""What compilers and tracebacks print before a line of source."""
_MARKS = re.compile(r"[\s^~|+-]+")
"""The line below, that points into it."""
_NAME = re.compile(r"[\w./:-]*")
"""A name of a file, a function or a variable: a fact about the answer."""
_QUOTED = re.compile(r"`([^`\n]*)`")
_WORD = re.compile(r"\w+|[^\w\s]")
_CODE = re.compile(r"[^\w\s.]")
_FREE_TEXT = frozenset({"title", "detail", "words", "text", "where", "expected", "got", "error", "remarks"})
"""Fields of a record that hold sentences; the others hold names, figures and enumerations."""


class Withheld:
    """Takes the words of some files out of texts.

    Args:
        texts: of the files.
        own: what the harness itself says; a passage of it stays, whoever else says it.
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
        """`text` without lines and passages of the files; each passage becomes `WITHHELD`."""
        lines = [line for line in text.split("\n") if not self._is_excerpt(line)]
        return _QUOTED.sub(self._without_code, "\n".join(map(self._without_passages, lines))).strip()

    def _without_code(self, quoted: re.Match[str]) -> str:
        """An expression of any length is a quotation; a name, a number or a phrase of ours is none."""
        code = " ".join(quoted[1].split())
        known = WITHHELD in code or (_CODE.search(code) and code in self._whole)
        return f"`{WITHHELD}`" if known else quoted[0]

    def _is_excerpt(self, line: str) -> bool:
        source = " ".join(_GUTTER.sub("", line).split())
        framed = source != " ".join(line.split())
        marks = bool(line.strip()) and ("^" in line or "~" in line) and _MARKS.fullmatch(line) is not None
        return marks or (source in self._lines and (framed or len(source) >= SHORTEST))

    def _without_passages(self, line: str) -> str:
        flat = " ".join(line.split())
        covered = bytearray(len(flat))
        for at in range(len(flat) - SHORTEST + 1):
            passage = flat[at : at + SHORTEST]
            if passage in self._passages and passage not in self._own:
                covered[at : at + SHORTEST] = b"\1" * SHORTEST
        parts, end = [], 0
        for run in re.finditer(b"\x01+", bytes(covered)):
            start, stop = _whole_words(flat, run.start(), run.end())
            if start < stop and not _NAME.fullmatch(flat[start:stop]):
                parts += [flat[end:start], WITHHELD]
                end = stop
        return "".join([*parts, flat[end:]]) if parts else line


def _whole_words(text: str, start: int, stop: int) -> tuple[int, int]:
    """The part of `text[start:stop]` without the words that reach out of it and the spaces at its ends."""
    words = [word.span() for word in _WORD.finditer(text) if start <= word.start() and word.end() <= stop]
    return (words[0][0], words[-1][1]) if words else (start, start)


def without_quotes(record: Record, folder: Path, files: Iterable[str], challenge: Path) -> Record:
    """The record, without what the answer printed and without its own words where they may not be passed on.

    Args:
        record: of an answer of a collection, or of any other.
        folder: the files that were graded.
        files: those of them that are the answer's; the others are our own.
        challenge: the folder with the code that judged it.
    """
    if record.quotable:
        return record
    theirs = {folder / name for name in files}
    ours = [path for path in folder.rglob("*") if path.is_file() and path not in theirs]
    own = "\n".join(_text(path) for path in (*ours, *challenge.glob("*.*"))) + _package()
    held = Withheld(map(_text, sorted(theirs)), own)
    data = record.model_dump(mode="python")
    if data["build"]:
        data["build"]["output"] = ""
    for field in ("evidence", "build", "repaired", "signals", "remarks", "error"):
        data[field] = _cleaned(data[field], field, cache(held.of))
    return Record.model_validate(data)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@cache
def _package() -> str:
    """The harness's own source, whose words its sentences are made of."""
    return "\n".join(map(_text, sorted(Path(harness.__file__).parent.rglob("*.py"))))


def _cleaned(value: Any, field: str, clean: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _cleaned(item, key, clean) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_cleaned(item, field, clean) for item in value)
    if isinstance(value, str) and field in _FREE_TEXT:
        return clean(value) or (WITHHELD if value else "")
    return value
