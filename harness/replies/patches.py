"""Changes of files: unified diffs, which unidiff reads, and SEARCH/REPLACE blocks.

A hunk is applied where its old lines stand exactly as it shows them: at the line that it states, or else in one place
alone. Any other fits nowhere, and so does a patch that renames or deletes a file.
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
"""Hunks of one block that are read."""


@dataclass(frozen=True)
class Hunk:
    """Lines of a file, and what stands there instead.

    Attributes:
        old: the lines, in order; none where the file is new.
        new: what they become.
        line: where they are said to stand, from 1; 0 where nothing says so.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True)
class FilePatch:
    """The changes of one file; one that creates it has a single hunk without old lines."""

    path: str
    hunks: tuple[Hunk, ...]

    @property
    def creates(self) -> bool:
        """Whether it gives all of a file."""
        return len(self.hunks) == 1 and not any(self.hunks[0].old)

    @property
    def new_text(self) -> str:
        """Return the text of the file that it creates."""
        return _text(self.hunks[0].new)

    def applied(self, text: str) -> str | None:
        """Return the file after the changes; None where one fits nowhere, or in several places."""
        return _applied(text, self.hunks)


def is_patch(block: CodeBlock) -> bool:
    """Return whether a block changes files instead of giving them."""
    return block.tongue in _TONGUES or bool(_UNIFIED.search(block.text) or _SEARCHES.search(block.text))


def patches_of(block: CodeBlock) -> list[FilePatch] | None:
    """Return what a patch changes, file by file; None where it cannot be read."""
    if _SEARCHES.search(block.text):
        named = name_of(block)
        return _searches(block.text, named.path if named else "")
    return _unified(block.text)


def _unified(text: str) -> list[FilePatch] | None:
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


def _searches(text: str, path: str) -> list[FilePatch] | None:
    """Return the patches of SEARCH/REPLACE blocks; the line before one names its file, or else the label above."""
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
            names = names_in(line)
            if len(names) != 1:
                return None
            path = names[0]
    return patches if patches and not part and len(patches) <= _MOST and all(each.path for each in patches) else None


def _applied(text: str, hunks: Sequence[Hunk]) -> str | None:
    lines = text.removesuffix("\n").split("\n")
    made, at = list[str](), 0
    for place, hunk in sorted(_placed(lines, hunks), key=lambda change: change[0]):
        if place < at:
            return None
        made += [*lines[at:place], *hunk.new]
        at = place + len(hunk.old)
    return _text([*made, *lines[at:]])


def _placed(lines: Sequence[str], hunks: Sequence[Hunk]) -> Iterator[tuple[int, Hunk]]:
    """Yield each hunk with the index of the line where it stands; -1 where that is none, or not one alone."""
    text = _framed(lines)
    for hunk in hunks:
        stated, wanted = hunk.line - 1, _framed(hunk.old)
        first = text.find(wanted)
        if not any(map(str.strip, hunk.old)):
            yield -1, hunk
        elif stated >= 0 and tuple(lines[stated : stated + len(hunk.old)]) == hunk.old:
            yield stated, hunk
        else:
            alone = first >= 0 and text.find(wanted, first + 1) < 0
            yield text.count("\n", 0, first + 1) - 1 if alone else -1, hunk


def _framed(lines: Sequence[str]) -> str:
    return "".join(["\n", *(f"{line}\n" for line in lines)])


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
