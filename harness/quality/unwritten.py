"""Detection of entries left as templates."""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.quality.sources import read_sources
from harness.source.syntax import Outline


def unwritten_entry(folder: Path, entries: Collection[str], functions: Collection[str]) -> Iterator[str]:
    """Yield a remark for each entry whose functions are placeholders that another file implements."""
    files = [file for file in read_sources(folder, entries) if not file.test and not file.oversized]
    outlines = {file.path: file.syntax.outline(file.text) or Outline() for file in files}
    wanted = frozenset(functions)
    others = [path for path, outline in outlines.items() if path not in entries and _offers(outline, wanted)]
    for path in entries if others else ():
        if path in outlines and wanted <= outlines[path].unwritten.keys():
            named = ", ".join(sorted(others))
            yield f"{path}, the entry, is an unwritten template; beside it {named} has these functions"


def _offers(outline: Outline, wanted: frozenset[str]) -> bool:
    written = outline.defines - outline.unwritten.keys()
    return wanted <= written | outline.imported and not wanted.isdisjoint(written)
