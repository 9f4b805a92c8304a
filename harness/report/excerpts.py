"""The lines of code at the locations of a finding, where the submission's files are at hand."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model import Location, Record

AROUND = 3
"""Lines shown before and after the one that is meant."""
MOST_PLACES = 4
"""So many places are shown of one finding."""

MAX_BYTES = 1 << 20
"""A larger file is not read for a few of its lines."""

Sources = Mapping[str, Mapping[str, str]]
"""Texts of submissions' files, by `MODEL/CHALLENGE` and path."""


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


def excerpts(locations: Iterable[Location], files: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """The lines around each location, once each, as far as `files` (text by path) have them."""
    places = dict.fromkeys(
        (place.file, place.line)
        for place in locations
        if place.line and place.file in files and place.line <= files[place.file].count("\n") + 1
    )
    return tuple(_excerpt(path, number, files[path]) for path, number in list(places)[:MOST_PLACES])


def cited_files(folder_of: Callable[[Record], Path], records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """The files at which findings point, as far as they are there and may be shown; see `Sources`.

    Args:
        folder_of: where the submission of a record lies.
        records: whose findings.
    """
    found = {}
    for record in records:
        if not record.quotable:
            continue
        folder = folder_of(record)
        paths = dict.fromkeys(place.file for f in record.findings for place in f.locations if place.line)
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


def _excerpt(path: str, number: int, text: str) -> Excerpt:
    lines = text.split("\n")
    shown = range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1)
    return Excerpt(path, number, tuple(ExcerptLine(n, lines[n - 1], n == number) for n in shown))
