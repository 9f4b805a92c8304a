"""A source file line by line as the compiler would see it: what is code and what is inside of a comment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.cuda.gate_sources import TOKEN

_OPENS_SCOPE = re.compile(r"(?:\bnamespace\b[\w\s:]*|\bextern\s*)$")

_REMEMBERED = 300
"""Characters kept of what stands before a brace."""


@dataclass(frozen=True)
class SourceLines:
    """A file's lines.

    Attributes:
        lines: as they stand there, without their ends.
        code: the same lines, comments and what stands in quotes as blanks.
        inside: lines, from 0 on, that begin inside of a comment.
    """

    lines: Sequence[str]
    code: Sequence[str]
    inside: frozenset[int]

    @classmethod
    def of(cls, text: str) -> "SourceLines":
        """The lines of a file."""
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
        """For each line the braces open where it begins: all of them, and those that are no namespace or `extern`."""
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
        """Whether a line holds a comment, or a part of one, and nothing else."""
        line = self.lines[index].strip()
        return bool(line) and not self.code[index].strip()
