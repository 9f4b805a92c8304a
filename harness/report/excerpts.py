"""The lines of code that a finding speaks of, where the submission's files are at hand."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model import Record

AROUND = 3
"""Lines shown before and after the one that is meant."""
MOST_PLACES = 4
"""So many places are shown of one finding."""

MAX_BYTES = 1 << 20
"""A larger file is not read for a few of its lines."""

Sources = Mapping[str, Mapping[str, str]]
"""Texts of submissions' files, by `MODEL/CHALLENGE` and path."""

_PLACE = re.compile(r"(\w[\w./+-]{0,199}):(\d{1,7})\b")


@dataclass(frozen=True)
class ExcerptLine:
    """A line, and whether it is the one that is meant."""

    number: int
    text: str
    meant: bool


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file around one of them."""

    path: str
    number: int
    lines: tuple[ExcerptLine, ...]


def excerpts(texts: Iterable[str], files: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """The places `path:line` that the texts name, each once, as far as `files` (text by path) have them."""
    places = dict.fromkeys(_places(texts, files))
    return tuple(_excerpt(path, number, files[path]) for path, number in list(places)[:MOST_PLACES])


def cited_files(submissions: Path, records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """The files that findings speak of, as far as they are there; see `Sources`.

    Args:
        submissions: the folder with a folder for each model, and in it one for each challenge.
        records: whose findings.
    """
    found = {}
    for record in records:
        folder = submissions / record.model / record.challenge
        texts = (text for f in record.findings for text in (f.title, f.detail, *map(str, f.also), f.diagnosis or ""))
        paths = dict.fromkeys(path for text in texts for path, _ in _PLACE.findall(text))
        files = {path: text for path in paths if (text := _read(folder, path)) is not None}
        if files:
            found[record.name] = files
    return found


def _read(folder: Path, path: str) -> str | None:
    """The text of a regular file in the folder; None where it is anything else."""
    place = folder / path
    try:
        inside = place.resolve().is_relative_to(folder.resolve()) and place.is_file()
        if not inside or place.stat().st_size > MAX_BYTES:
            return None
        return place.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _places(texts: Iterable[str], files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for text in texts:
        for path, number in _PLACE.findall(text):
            if path in files and 0 < int(number) <= files[path].count("\n") + 1:
                yield path, int(number)


def _excerpt(path: str, number: int, text: str) -> Excerpt:
    lines = text.split("\n")
    shown = range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1)
    return Excerpt(path, number, tuple(ExcerptLine(n, lines[n - 1], n == number) for n in shown))
