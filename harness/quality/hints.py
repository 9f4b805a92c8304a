"""Static hints: what an answer's source mentions that a kernel rarely needs. Remarks for a reader, without a mark.

Nothing is run, and nothing follows from a hint alone: honest code may have its reasons, and a cheat can hide the words.
Files that are tests, and files that do not parse, bring none.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.quality.sources import SourceFile, read_sources

MOST = 20
"""How many hints are listed; if there are more, the last one counts them."""


def hints(folder: Path, entries: Collection[str], adapters: Collection[str] = ()) -> tuple[str, ...]:
    """Hints such as `answer.py:12 imports gc`, each once a file, by file and line; at most `MOST`.

    Args:
        folder: a submission or the snapshot of one.
        entries: files of the submission's `entry`; they are source whatever they are called.
        adapters: files that are the harness's own: passed over.
    """
    found = [hint for file in read_sources(folder, entries, adapters) if not file.test for hint in _of_file(file)]
    if len(found) <= MOST:
        return tuple(found)
    return (*found[: MOST - 1], f"and {len(found) - MOST + 1} more hints of this kind")


def _of_file(file: SourceFile) -> Iterator[str]:
    if file.oversized:
        return
    first: dict[str, int] = {}
    for line, what in file.syntax.hints(file.path, file.text, file.tree):
        first[what] = min(line, first.get(what, line))
    yield from (f"{file.path}:{line} {what}" for what, line in sorted(first.items(), key=lambda item: item[::-1]))
