"""Lines of code at the locations of a finding, if the submission's files are present."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model import Location, Record

AROUND = 3
"""Lines of context before and after the location."""
MOST_PLACES = 4
"""Most locations excerpted per finding."""

MAX_BYTES = 1 << 20
"""Largest file that is read for excerpts."""

Sources = Mapping[str, Mapping[str, str]]
"""Texts of submissions' files, by `MODEL/CHALLENGE` and path."""


@dataclass(frozen=True)
class Excerpt:
    """Lines of a file around line `number`, from line `first` on."""

    path: str
    number: int
    first: int
    text: str


def excerpts(locations: Iterable[Location], files: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """Return the lines around each location once, as far as `files` (text by path) has them."""
    places = dict.fromkeys(
        (place.file, place.line)
        for place in locations
        if place.line and place.file in files and place.line <= files[place.file].count("\n") + 1
    )
    return tuple(_excerpt(path, number, files[path]) for path, number in list(places)[:MOST_PLACES])


def cited_files(folder_of: Callable[[Record], Path], records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return the files that findings cite, if they are present and quotable; see `Sources`.

    Args:
        folder_of: returns the folder of a record's submission.
        records: records with the findings.
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
    first = max(1, number - AROUND)
    return Excerpt(path, number, first, "\n".join(lines[first - 1 : number + AROUND]))
