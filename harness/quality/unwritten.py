"""Whether the file that `entry` names was left unwritten while the answer lies beside it, which costs every mark."""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.languages.syntax import Outline
from harness.quality.sources import SourceFile, read_sources


def unwritten_entry(folder: Path, entries: Collection[str], functions: Collection[str]) -> Iterator[str]:
    """A remark for each entry whose functions are placeholders, where another file defines what the contract names.

    Args:
        folder: a submission or the snapshot of one.
        entries: files of the submission's `entry`.
        functions: those that the contract names.
    """
    files = [file for file in read_sources(folder, entries) if not file.test and not file.oversized]
    outlines = {file.path: _outline(file) for file in files}
    wanted = frozenset(functions)
    others = [path for path, outline in outlines.items() if path not in entries and _offers(outline, wanted)]
    for path in entries if others else ():
        if path in outlines and wanted <= outlines[path].unwritten:
            named = ", ".join(sorted(others))
            yield f"{path}, the entry, is an unwritten template; beside it {named} has these functions"


def _outline(file: SourceFile) -> Outline:
    return file.syntax.outline(file.text) or Outline()


def _offers(outline: Outline, wanted: frozenset[str]) -> bool:
    """Whether it brings all that is wanted and writes some of it itself."""
    written = outline.defines - outline.unwritten
    return wanted <= written | outline.imported and not wanted.isdisjoint(written)
