"""The lines of code that a finding speaks of, where the submission's files are at hand."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

AROUND = 3
"""Lines shown before and after the one that is meant."""
MOST_PLACES = 4
"""So many places are shown of one finding."""

_PLACE = re.compile(r"(\w[\w./+-]{0,199}):(\d{1,7})\b")


@dataclass(frozen=True)
class CodeLine:
    """A line, and whether it is the one that is meant."""

    number: int
    text: str
    meant: bool


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file around one of them."""

    path: str
    number: int
    lines: tuple[CodeLine, ...]


def excerpts(texts: Iterable[str], files: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """The places `path:line` that the texts name, each once, as far as `files` (text by path) have them."""
    places = dict.fromkeys(_places(texts, files))
    return tuple(_excerpt(path, number, files[path]) for path, number in list(places)[:MOST_PLACES])


def _places(texts: Iterable[str], files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for text in texts:
        for path, number in _PLACE.findall(text):
            if path in files and 0 < int(number) <= files[path].count("\n") + 1:
                yield path, int(number)


def _excerpt(path: str, number: int, text: str) -> Excerpt:
    lines = text.split("\n")
    shown = range(max(1, number - AROUND), min(len(lines), number + AROUND) + 1)
    return Excerpt(path, number, tuple(CodeLine(n, lines[n - 1], n == number) for n in shown))
