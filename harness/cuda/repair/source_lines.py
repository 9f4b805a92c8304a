"""Source files line by line: code, and comments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.cuda.check.sources import TOKEN

_OPENS_SCOPE = re.compile(r"(?:\bnamespace\b[\w\s:]*|\bextern\s*)$")

_REMEMBERED = 300
"""Characters remembered before a brace."""


@dataclass(frozen=True)
class SourceLines:
    """The lines of a file.

    Attributes:
        code: lines with comments and quoted text blanked.
        inside: indices of lines that begin inside a comment or raw string.
    """

    lines: Sequence[str]
    code: Sequence[str]
    inside: frozenset[int]

    @classmethod
    def of(cls, text: str) -> "SourceLines":
        """Split a file's text."""
        inside: set[int] = set()
        line, counted = 0, 0

        def blank(found: re.Match[str]) -> str:
            nonlocal line, counted
            if found["word"] is not None or found["number"] is not None:
                return found[0]
            if "\n" in found[0]:
                line, counted = line + text.count("\n", counted, found.start()), found.start()
                inside.update(range(line + 1, line + 1 + found[0].count("\n")))
            return re.sub(r"[^\n]", " ", found[0])

        code = TOKEN.sub(blank, text)
        return cls(text.split("\n"), code.split("\n"), frozenset(inside))

    def depths(self) -> list[tuple[int, int]]:
        """Return the braces open at the start of each line: all, and those of neither namespaces nor `extern`."""
        found, scopes, before = [], list[bool](), ""
        for line in self.code:
            found.append((len(scopes), scopes.count(False)))
            if line.lstrip().startswith("#"):
                continue
            for part in re.split(r"([{};])", line):
                if part == "{":
                    scopes.append(_OPENS_SCOPE.search(before) is not None)
                elif part == "}" and scopes:
                    scopes.pop()
                before = "" if part in ("{", "}", ";") else f"{before} {part}"[-_REMEMBERED:].rstrip()
        return found

    def only_a_comment(self, index: int) -> bool:
        """Return whether a line holds only a comment or part of one."""
        line = self.lines[index].strip()
        return bool(line) and not self.code[index].strip()
