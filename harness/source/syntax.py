"""The syntax of source files, on which source metrics and hints depend."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class SourceLine(NamedTuple):
    """A line with code: its number from 1, and its text without comment and outer blanks."""

    number: int
    text: str


class NamedLine(NamedTuple):
    """A line with a description."""

    line: int
    name: str


class DocumentedName(NamedTuple):
    """A public name: line from 1, whether it is documented, and for each parameter whether it has a type."""

    line: int
    name: str
    documented: bool
    annotated: tuple[bool, ...] = ()


class FunctionSpan(NamedTuple):
    """One function: name, line of the name, first and last line, and cyclomatic complexity."""

    name: str
    line: int
    first: int
    last: int
    complexity: int


@dataclass(frozen=True)
class Outline:
    """The outline of a source, read without running it.

    Attributes:
        fault: place and reason if the source is no code of the language, else None.
        defines: names bound at top level, without imports and stubs.
        stubs: top-level functions without a body.
        unwritten: top-level functions without a body, and those that only guard and return nothing, or end by raising
            NotImplementedError; with the line of each.
        functions: names of all functions, including nested ones and methods.
        imported: names that imports bind at top level; in C those of macros, types and constants.
        imports: names taken from each imported module or file; "*" stands for all.
        needs: names used but not bound, in C all words; None if unknown.
        gaps: lines that stand for omitted code.
        tests: true if it holds tests.
    """

    fault: NamedLine | None = None
    defines: frozenset[str] = frozenset()
    stubs: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    imports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needs: frozenset[str] | None = None
    gaps: tuple[int, ...] = ()
    tests: bool = False
    unwritten: Mapping[str, int] = field(default_factory=dict)


class Syntax(Protocol):
    """A reader for files of some suffixes.

    Attributes:
        linted: true if ruff reads them.
        binds_names: true if a source binds all names that it uses, by imports too.
    """

    suffixes: frozenset[str]
    linted: bool = False
    binds_names: bool = False

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """Yield the lines with code, without blank lines and comments."""
        ...

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """Yield the public names of a file and their documentation; `tree` is from `parse`."""
        ...

    def functions(self, tree: ast.Module) -> Iterator[FunctionSpan] | None:
        """Yield the functions of a file from its tree; None if lizard finds them in the text."""
        return None

    def encoding(self, data: bytes) -> str:
        """Return the encoding of a file.

        Raises:
            SyntaxError: it declares one that is not supported.
        """
        return "utf-8"

    def parse(self, text: str) -> ast.Module | None:
        """Return Python's syntax tree; None in any other language.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return None

    def foreign_line(self, text: str) -> NamedLine | None:
        """Return the first line that no compiler accepts as code, with the reason."""
        return None

    def outline(self, text: str) -> Outline | None:
        """Return the outline of a source, or None if the language has no reader. Never raises."""
        return None

    def is_code(self, text: str) -> bool:
        """Return whether a whole text is code, without prose."""
        return False

    def literals(self, text: str) -> Iterator[int]:
        """Yield the integers in a text, including constant expressions.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return iter(())

    def is_test(self, path: str) -> bool:
        """Return whether a file has the name of a test."""
        return False

    def imports(self, text: str, tree: ast.Module | None) -> Iterator[str]:
        """Yield names, without folder and suffix, of all files and modules that a file may import."""
        return iter(())

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """Yield mentions of things that a kernel rarely needs."""
        return iter(())


def filled_lines(text: str) -> Iterator[SourceLine]:
    """Yield all lines that are not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield SourceLine(number, stripped)


_COMMENT = re.compile(r"[ \t]{0,200}(?:#|//|/\*|\*|<!--)[-#/*!( \t\[]{0,9}(?P<said>[^\n]{0,200})")
_ELLIPSIS = re.compile(r"\.\.\.|\u2026")
_CLOSES = re.compile(r"[^\n]*(?:\.\.\.|\u2026)[ )\]*/>-]{0,9}$")
_BEGINS = re.compile(r"(?:def|class|async|@\w|template|__global__|__device__|static|extern|struct)\b|\}")


def find_omissions(text: str) -> Iterator[int]:
    """Yield lines with a comment for omitted code: an ellipsis alone, around its words, or above no code.

    A comment that begins with an ellipsis and explains the code below it does not count.
    """
    lines, below = text.split("\n"), ""
    for number in range(len(lines), 0, -1):
        line = lines[number - 1]
        comment = _COMMENT.match(line)
        if comment and _ELLIPSIS.match(comment["said"]):
            outer = len(below) - len(below.lstrip()) < len(line) - len(line.lstrip())
            if _CLOSES.match(comment["said"]) or not below or outer or _BEGINS.match(below.lstrip()):
                yield number
        below = line if line.strip() else below
