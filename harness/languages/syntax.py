"""How source files of one kind are read: the part of a language that source metrics and hints depend on."""

import ast
from collections.abc import Iterator, Sequence
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
    """A public name: its line from 1, the name, and whether it is documented."""

    line: int
    name: str
    documented: bool


class Syntax(Protocol):
    """How files of some suffixes are read; methods with a body have a default.

    Attributes:
        suffixes: of the files.
        linted: whether ruff reads them.
    """

    suffixes: frozenset[str]
    linted: bool = False

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """The lines that hold code: no blank ones, no comments."""
        ...

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """What a file offers, and whether it is documented.

        Args:
            text: the file's.
            tree: as `parse` gives it.
            functions: those that lizard finds in the file.
        """
        ...

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

    def page_line(self, text: str) -> int | None:
        """Where a file shows itself as a page with code blocks in it, and no source; None where it does not."""
        return None

    def literals(self, text: str) -> Iterator[int]:
        """Integers that the text names, constant expressions of them included.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return iter(())

    def is_test(self, path: str) -> bool:
        """Whether a file is called like a test."""
        return False

    def imports(self, tree: ast.Module | None) -> Iterator[str]:
        """Last parts of the names of all modules that a file may import."""
        return iter(())

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """What the file mentions that a kernel rarely needs."""
        return iter(())


def filled_lines(text: str) -> Iterator[SourceLine]:
    """All lines that are not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield SourceLine(number, stripped)
