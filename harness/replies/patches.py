"""Changes of files: unified diffs, parsed by unidiff, and SEARCH/REPLACE blocks.

A hunk applies where its old lines match exactly: at its stated line, or else at the only match.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from harness.replies.blocks import CodeBlock
from harness.replies.names import name_of, names_in

_TONGUES = frozenset({"diff", "patch", "udiff"})
_UNIFIED = re.compile(r"^@@ -\d{1,9}", re.MULTILINE)
_SEARCH = re.compile(r"<{5,9} ?(?:SEARCH|ORIGINAL)\b")
_SEARCHES = re.compile(rf"^{_SEARCH.pattern}", re.MULTILINE)
_DIVIDER = re.compile(r"={5,9}")
_REPLACE = re.compile(r">{5,9} ?(?:REPLACE|UPDATED)?")
_MOST = 500
"""Most hunks per block."""


@dataclass(frozen=True)
class Hunk:
    """Lines of a file, and their replacement.

    Attributes:
        old: empty for a new file.
        line: stated line of the first, from 1; 0 if unknown.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True)
class FilePatch:
    """The changes of one file. One that creates it has a single hunk without old lines."""

    path: str
    hunks: tuple[Hunk, ...]

    @property
    def creates(self) -> bool:
        """True if it gives a whole new file."""
        return len(self.hunks) == 1 and not any(self.hunks[0].old)

    @property
    def new_text(self) -> str:
        """Text of the file that it creates."""
        return _join_lines(self.hunks[0].new)

    def apply(self, text: str) -> str | None:
        """Return the text after the changes; None without a unique place for each."""
        return _apply(text, self.hunks)


def is_patch(block: CodeBlock) -> bool:
    """Return whether a block changes files instead of giving them."""
    return block.tongue in _TONGUES or bool(_UNIFIED.search(block.text) or _SEARCHES.search(block.text))


def patches_of(block: CodeBlock) -> list[FilePatch] | None:
    """Return the changes of a patch by file; None if it is malformed, or renames or deletes a file."""
    if _SEARCHES.search(block.text):
        named = name_of(block)
        return _parse_searches(block.text, named.path if named else "")
    return _parse_unified(block.text)


def _parse_unified(text: str) -> list[FilePatch] | None:
    try:
        files = list(PatchSet.from_string(text)) if text.count("\n@@") <= _MOST else []
    except UnidiffParseError:
        return None
    if not files or any(file.is_rename or file.is_removed_file for file in files):
        return None
    patches = []
    for file in files:
        hunks = [
            Hunk(
                tuple(line.value.rstrip("\n") for line in hunk if not line.is_added and line.line_type != "\\"),
                tuple(line.value.rstrip("\n") for line in hunk if not line.is_removed and line.line_type != "\\"),
                hunk.source_start,
            )
            for hunk in file
        ]
        patches.append(FilePatch(file.path, tuple(hunks)))
    return patches if all(patch.hunks for patch in patches) else None


def _parse_searches(text: str, path: str) -> list[FilePatch] | None:
    patches, parts, part = list[FilePatch](), dict[str, list[str]](), ""
    for line in text.split("\n"):
        if not part and _SEARCH.match(line):
            parts, part = {"old": [], "new": []}, "old"
        elif part == "old" and _DIVIDER.fullmatch(line):
            part = "new"
        elif part == "new" and _REPLACE.fullmatch(line):
            patches.append(FilePatch(path, (Hunk(tuple(parts["old"]), tuple(parts["new"])),)))
            part = ""
        elif part:
            parts[part].append(line)
        elif line.strip():
            # the line above a block names its file
            names = names_in(line)
            if len(names) != 1:
                return None
            path = names[0]
    return patches if patches and not part and len(patches) <= _MOST and all(each.path for each in patches) else None


def _apply(text: str, hunks: Sequence[Hunk]) -> str | None:
    lines = text.removesuffix("\n").split("\n")
    made, at = list[str](), 0
    for place, hunk in sorted(_locate_hunks(lines, hunks), key=lambda change: change[0]):
        if place < at:
            return None
        made += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    return _join_lines([*made, *lines[at:]])


def _locate_hunks(lines: Sequence[str], hunks: Sequence[Hunk]) -> Iterator[tuple[int, Hunk]]:
    """Yield each hunk with the index of its first line; -1 without a unique match."""
    text = _frame(lines)
    for hunk in hunks:
        stated, wanted = hunk.line - 1, _frame(hunk.old)
        first = text.find(wanted)
        if not any(map(str.strip, hunk.old)):
            yield -1, hunk
        elif stated >= 0 and tuple(lines[stated : stated + len(hunk.old)]) == hunk.old:
            yield stated, hunk
        else:
            alone = first >= 0 and text.find(wanted, first + 1) < 0
            yield text.count("\n", 0, first + 1) - 1 if alone else -1, hunk


def _frame(lines: Sequence[str]) -> str:
    return "".join(["\n", *(f"{line}\n" for line in lines)])


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
