"""The source files of an answer as text: found, decoded, told apart from its tests, reduced to code lines.

Nothing here runs or imports what it reads. A file that cannot be decoded or parsed is described by its `problem`.

What counts as a test: a Python file named `test_*.py`, `*_test.py`, `tests.py`, `conftest.py`, or any under a folder
named `test` or `tests`, unless it is an entry of the submission or a file that is not a test imports it. Everything
else, an adapter, a demo and a benchmark included, is source.
"""

import ast
import io
import os
import re
import stat
import tokenize
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

MAX_LENGTH = 1 << 20
"""A longer file is not analysed: every line of it that is not blank counts as code."""

_READ = frozenset({"utf-8", "utf-8-sig", "ascii", "iso-8859-1", "iso-8859-15", "cp1252"})
"""Encodings a Python file may declare; among the others are some that take hours over a megabyte (punycode)."""
_TEST_NAME = re.compile(r"(test_.*|.*_test|tests|conftest)\.py")
_TEST_FOLDERS = frozenset({"test", "tests"})
_SKIPPED_FOLDERS = frozenset({"__pycache__", "reviews"})
_LITERAL_OR_COMMENT = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?(?:\*/|\Z)""",
    re.DOTALL,
)
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


class Language(StrEnum):
    """What a file is written in, by its suffix."""

    PYTHON = "python"
    C = "c"
    """C, C++ or CUDA."""


_SUFFIXES = {".py": Language.PYTHON} | dict.fromkeys(
    (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inl"), Language.C
)


class SourceLine(NamedTuple):
    """One line that holds code: its number from 1 and its text without comment and outer blanks."""

    number: int
    text: str


@dataclass(frozen=True)
class SourceFile:
    """One file of an answer.

    Attributes:
        path: relative to the submission, with forward slashes.
        text: decoded, line ends as `\\n`; undecodable bytes replaced.
        language: by suffix.
        fault: why the bytes could not be read as they should, or None.
        test: whether it is clearly a test.
    """

    path: str
    text: str
    language: Language
    fault: str | None = None
    test: bool = False

    @cached_property
    def _parsed(self) -> ast.Module | str:
        if self.language is not Language.PYTHON:
            return "not Python"
        if self.fault is not None:
            return self.fault
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            return f"does not parse{f' at line {line}' if line else ''}: {getattr(error, 'msg', error)}"
        except (RecursionError, MemoryError):
            return "is nested too deeply to parse"

    @property
    def tree(self) -> ast.Module | None:
        """Syntax tree of a Python file, None where there is none. Not to be changed."""
        return self._parsed if isinstance(self._parsed, ast.Module) else None

    @property
    def problem(self) -> str | None:
        """Why the file cannot be analysed fully, None when it can."""
        if self.language is not Language.PYTHON:
            return self.fault
        return None if isinstance(self._parsed, ast.Module) else self._parsed

    @cached_property
    def code(self) -> tuple[SourceLine, ...]:
        """Lines that hold code: no blank ones, no comments, no docstrings (bare string statements)."""
        if self.oversized:
            return tuple(_filled_lines(self.text))
        return tuple(_c_code(self.text) if self.language is Language.C else _python_code(self.text))

    @property
    def oversized(self) -> bool:
        """Whether the file is too long to be analysed."""
        return len(self.text) > MAX_LENGTH

    @property
    def sloc(self) -> int:
        """Number of code lines."""
        return len(self.code)


def read_sources(folder: Path, entries: Collection[str] = ()) -> tuple[SourceFile, ...]:
    """Every Python, C, C++ and CUDA file under `folder`, by path; links and special files are passed over.

    Args:
        folder: a submission or the snapshot of one.
        entries: files of the submission's `entry`; they are source whatever they are called.
    """
    return _told_apart([_read(folder, path) for path in _paths(folder)], frozenset(entries))


def _paths(folder: Path) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix in _SUFFIXES and stat.S_ISREG(path.lstat().st_mode):
                yield path.relative_to(folder).as_posix()


def _read(folder: Path, path: str) -> SourceFile:
    language = _SUFFIXES[PurePosixPath(path).suffix]
    try:
        data = (folder / path).read_bytes()
    except OSError as error:
        return SourceFile(path, "", language, f"cannot be read: {error.strerror}")
    fault = None
    try:
        text = data.decode(_encoding(data, language))
    except (UnicodeError, SyntaxError):
        text = data.decode(errors="replace")
        fault = "is not UTF-8"
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_LENGTH:
        fault = f"is longer than {MAX_LENGTH >> 20} MiB"
    return SourceFile(path, text, language, fault)


def _encoding(data: bytes, language: Language) -> str:
    if language is not Language.PYTHON:
        return "utf-8"
    declared = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    if declared not in _READ:
        raise SyntaxError(f"declares {declared}")
    return declared


def _told_apart(files: Iterable[SourceFile], entries: frozenset[str]) -> tuple[SourceFile, ...]:
    marked = [
        replace(file, test=True) if _named_like_a_test(file.path) and file.path not in entries else file
        for file in files
    ]
    while True:
        wanted = {name for file in marked if not file.test for name in _imported(file)}
        taken = [
            replace(file, test=False) if file.test and PurePosixPath(file.path).stem in wanted else file
            for file in marked
        ]
        if taken == marked:
            return tuple(marked)
        marked = taken


def _named_like_a_test(path: str) -> bool:
    *folders, name = path.split("/")
    in_tests = name.endswith(".py") and not _TEST_FOLDERS.isdisjoint(folders)
    return in_tests or _TEST_NAME.fullmatch(name) is not None


def _imported(file: SourceFile) -> Iterator[str]:
    """Last parts of every name `file` imports, strings included: they may feed `import_module`."""
    for node in ast.walk(file.tree) if file.tree else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom) and node.module:
                names.append(node.module)
            for name in names:
                yield name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.removesuffix(".py").rpartition(".")[2]


def _python_code(text: str) -> Iterator[SourceLine]:
    lines = text.split("\n")
    code: set[int] = set()
    statement: set[int] = set()
    only_strings = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
            elif token.type not in _LAYOUT:
                statement.update(range(token.start[0], token.end[0] + 1))
                only_strings = only_strings and token.type == tokenize.STRING
            elif token.type == tokenize.NEWLINE:
                if not only_strings:
                    code |= statement
                statement, only_strings = set(), True
    except (tokenize.TokenError, SyntaxError):
        code = {line.number for line in _filled_lines(text) if not line.text.startswith("#")}
    for number in sorted(code):
        if stripped := lines[number - 1].strip():
            yield SourceLine(number, stripped)


def without_comments(text: str) -> str:
    """C, C++ or CUDA text with every comment blanked out, line numbers kept."""
    return _LITERAL_OR_COMMENT.sub(
        lambda found: found["literal"] or " " + "\n" * found[0].count("\n"),
        text,
    )


def _c_code(text: str) -> Iterator[SourceLine]:
    yield from _filled_lines(without_comments(text))


def _filled_lines(text: str) -> Iterator[SourceLine]:
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield SourceLine(number, stripped)
