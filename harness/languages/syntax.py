"""How source files of one kind are read: the part of a language that source metrics and hints depend on."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class SourceLine(NamedTuple):
    """One line that holds code: its number from 1 and its text without comment and outer blanks."""

    number: int
    text: str


class NamedLine(NamedTuple):
    """A line and what is there."""

    line: int
    name: str


class DocumentedName(NamedTuple):
    """A public name: its line from 1, whether it is documented, and of each parameter whether it has a type."""

    line: int
    name: str
    documented: bool
    annotated: tuple[bool, ...] = ()


class FunctionSpan(NamedTuple):
    """One function: its name, the line of its name, its first and last line, and its cyclomatic complexity."""

    name: str
    line: int
    first: int
    last: int
    complexity: int


@dataclass(frozen=True)
class Outline:
    """What a source defines, needs and leaves out, read without running it.

    Attributes:
        fault: where it is no code of the language, and why; None where it is.
        defines: names it gives a value at its top level, imports and stubs left out.
        stubs: functions at its top level that have no body.
        unwritten: functions at its top level whose body is a placeholder: it does no more than guard, and returns
            nothing or a constant, or it only ends by raising NotImplementedError.
        functions: names of all functions in it, those within classes and functions as well.
        imported: names that its imports bind at its top level; in C those of its macros, types and constants.
        imports: for each module or file it imports, the names it takes from there; "*" stands for all.
        needs: names it uses and gives no value, in C all words of it; None where that cannot be told.
        gaps: lines that stand for code left out.
        tests: whether it holds tests.
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
    unwritten: frozenset[str] = frozenset()


class Syntax(Protocol):
    """How files of some suffixes are read; methods with a body have a default.

    Attributes:
        suffixes: of the files.
        linted: whether ruff reads them.
        binds_names: whether a source binds each name that it uses, by its imports too.
    """

    suffixes: frozenset[str]
    linted: bool = False
    binds_names: bool = False

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """The lines that hold code: no blank ones, no comments."""
        ...

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """What a file offers, and how it is documented.

        Args:
            text: the file's.
            tree: as `parse` gives it.
            functions: those in the file.
        """
        ...

    def functions(self, tree: ast.Module) -> Iterator[FunctionSpan] | None:
        """The functions of a file, from its tree; None where lizard finds them, in text."""
        return None

    def encoding(self, data: bytes) -> str:
        """The encoding of a file.

        Raises:
            SyntaxError: it states none that is read.
        """
        return "utf-8"

    def parse(self, text: str) -> ast.Module | None:
        """Python's syntax tree; None in any other language.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return None

    def foreign_line(self, text: str) -> NamedLine | None:
        """The first line that no compiler takes for code, and why; None where there is none to be seen."""
        return None

    def outline(self, text: str) -> Outline | None:
        """What a source defines and needs; None where the language has no reader for it. Never raises."""
        return None

    def is_code(self, text: str) -> bool:
        """Whether a text is code from its first line to its last, and no prose."""
        return False

    def literals(self, text: str) -> Iterator[int]:
        """Integers that the text names, constant expressions of them included.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return iter(())

    def is_test(self, path: str) -> bool:
        """Whether a file is called like a test."""
        return False

    def imports(self, text: str, tree: ast.Module | None) -> Iterator[str]:
        """Names, without folder and suffix, of all files and modules that a file may import or include."""
        return iter(())

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """What the file mentions that a kernel rarely needs."""
        return iter(())


def filled_lines(text: str) -> Iterator[SourceLine]:
    """All lines that are not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield SourceLine(number, stripped)


_COMMENT = re.compile(r"[ \t]{0,200}(?:#|//|/\*|\*|<!--)[-#/*!( \t\[]{0,9}(?P<said>[^\n]{0,200})")
_ELLIPSIS = re.compile(r"\.\.\.|\u2026")
_CLOSES = re.compile(r"[^\n]*(?:\.\.\.|\u2026)[ )\]*/>-]{0,9}$")
_BEGINS = re.compile(r"(?:def|class|async|@\w|template|__global__|__device__|static|extern|struct)\b|\}")


def lines_left_out(text: str) -> Iterator[int]:
    """Lines whose comment stands for code: an ellipsis alone, on both sides of its words, or with no code below it.

    What the words say decides nothing. A comment that begins with an ellipsis and explains the code below it is none.
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
