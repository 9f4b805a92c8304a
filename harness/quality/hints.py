"""Static hints without a mark: names in a submission's source that a kernel rarely needs.

Honest code may have its reasons, and cheating code can hide the names. Tests and unparsable files are skipped.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.quality.sources import SourceFile, read_sources

MOST = 20
"""Most hints listed; the last one counts the rest."""


def hints(folder: Path, entries: Collection[str], adapters: Collection[str] = ()) -> tuple[str, ...]:
    """Return at most `MOST` hints such as `answer.py:12 imports gc`, once per file, by file and line."""
    found = [hint for file in read_sources(folder, entries, adapters) if not file.test for hint in _find_in_file(file)]
    if len(found) <= MOST:
        return tuple(found)
    return (*found[: MOST - 1], f"and {len(found) - MOST + 1} more hints of this kind")


def _find_in_file(file: SourceFile) -> Iterator[str]:
    if file.oversized:
        return
    first: dict[str, int] = {}
    for line, what in file.syntax.hints(file.path, file.text, file.tree):
        first[what] = min(line, first.get(what, line))
    yield from (f"{file.path}:{line} {what}" for what, line in sorted(first.items(), key=lambda item: item[::-1]))
