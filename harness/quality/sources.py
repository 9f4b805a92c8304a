"""The source files of an answer as text: found, decoded, separated from its tests, reduced to code lines.

Nothing here runs or imports what it reads. A file that cannot be decoded or parsed is described by its `problem`.

What counts as a test: a file named `test_*`, `*_test` or `tests`, a `conftest.py`, or any under a folder named `test`
or `tests`, unless it is an entry of the submission or an entry leads to it by imports; a demo that imports its helpers
leaves it a test. Everything else, an adapter included, is source. A file that nothing imports (a copy left behind), or
that only tests and the test command lead to (a demo), is no part of what is measured.
"""

import ast
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from harness.languages import SourceLine, Syntax, every_language, filled_lines

MAX_LENGTH = 1 << 20
"""A longer file is not analysed: every line of it that is not blank counts as code."""

_SKIPPED_FOLDERS = frozenset({"__pycache__", "reviews"})


@dataclass(frozen=True)
class SourceFile:
    """One file of an answer.

    Attributes:
        path: relative to the submission, with forward slashes.
        text: decoded, line ends as `\\n`; undecodable bytes replaced.
        syntax: by suffix.
        fault: why the bytes could not be read as they should, or None.
        test: whether it is clearly a test.
        unused: whether nothing imports it: no entry, no test, and nothing that these import.
        commanded: whether the test command names it.
        for_tests: whether only tests or the test command lead to it: no entry, no program, nothing that these import.
    """

    path: str
    text: str
    syntax: Syntax
    fault: str | None = None
    test: bool = False
    unused: bool = False
    commanded: bool = False
    for_tests: bool = False

    @cached_property
    def _parsed(self) -> ast.Module | str | None:
        if self.fault is not None:
            return self.fault
        try:
            return self.syntax.parse(self.text)
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
        return self._parsed if isinstance(self._parsed, str) else None

    @cached_property
    def code(self) -> tuple[SourceLine, ...]:
        """Lines that hold code: no blank ones, no comments, no docstrings (bare string statements)."""
        if self.oversized:
            return tuple(filled_lines(self.text))
        return tuple(self.syntax.code_lines(self.text))

    @cached_property
    def code_beyond_imports(self) -> tuple[SourceLine, ...]:
        """Code lines without import statements and inclusions, which files that use the same things must repeat."""
        imports = [n for n in self.tree.body if isinstance(n, ast.Import | ast.ImportFrom)] if self.tree else []
        lines = {line for n in imports for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
        return tuple(line for line in self.code if line.number not in lines and not line.text.startswith("#include"))

    @property
    def oversized(self) -> bool:
        """Whether the file is too long to be analysed."""
        return len(self.text) > MAX_LENGTH

    @property
    def sloc(self) -> int:
        """Number of code lines."""
        return len(self.code)


@cache
def syntaxes() -> Mapping[str, Syntax]:
    """How files are read, by suffix; of two languages that share a suffix, the first by name says."""
    found: dict[str, Syntax] = {}
    for used in every_language():
        for suffix in used.syntax.suffixes:
            found.setdefault(suffix, used.syntax)
    return found


def read_sources(
    folder: Path,
    entries: Collection[str] = (),
    adapters: Collection[str] = (),
    command: Collection[str] = (),
    programs: Collection[str] = (),
) -> tuple[SourceFile, ...]:
    """Every file under `folder` whose suffix is one of a language, by path; links and special files are passed over.

    Args:
        folder: a submission or the snapshot of one.
        entries: files of the submission's `entry`; they are source whatever they are called.
        adapters: files that are the harness's own, not the answer's: left out.
        command: words of its test command; what they name is used.
        programs: further files of it that are run by themselves.
    """
    run = {*entries, *adapters, *programs}
    found = _told_apart([_read(folder, path) for path in _paths(folder)], entries, run)
    named = _named(found, command)
    tests = {file.path for file in found if file.test} | named
    used, served = (_reached(found, entries, roots) for roots in (run | tests, run))
    states = ((file, file.path in used, file.path in served) for file in found)
    return tuple(
        replace(file, unused=not is_used, for_tests=is_used and not is_served, commanded=file.path in named)
        for file, is_used, is_served in states
        if file.path not in adapters
    )


def _paths(folder: Path) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix in syntaxes() and stat.S_ISREG(path.lstat().st_mode):
                yield path.relative_to(folder).as_posix()


def _read(folder: Path, path: str) -> SourceFile:
    syntax = syntaxes()[PurePosixPath(path).suffix]
    try:
        data = (folder / path).read_bytes()
    except OSError as error:
        return SourceFile(path, "", syntax, f"cannot be read: {error.strerror}")
    fault = None
    try:
        text = data.decode(syntax.encoding(data))
    except (UnicodeError, SyntaxError):
        text = data.decode(errors="replace")
        fault = "is not UTF-8"
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_LENGTH:
        fault = f"is longer than {MAX_LENGTH >> 20} MiB"
    return SourceFile(path, text, syntax, fault)


def _told_apart(files: Sequence[SourceFile], entries: Collection[str], run: Collection[str]) -> tuple[SourceFile, ...]:
    """Return the files, those marked as tests that are named as such and that nothing which is run by itself needs."""
    named = {file.path for file in files if file.syntax.is_test(file.path)} - set(entries)
    others = {file.path for file in files} - named
    served = _imported(files, run if any(file.path in entries for file in files) else others)
    return tuple(replace(file, test=file.path in named - served) for file in files)


def _named(files: Sequence[SourceFile], command: Collection[str]) -> set[str]:
    """Paths of the files that words of a test command name, by path or as a module."""
    words = {word.partition("::")[0].removeprefix("./") for word in command}
    return {file.path for file in files if not words.isdisjoint((file.path, PurePosixPath(file.path).stem))}


def _reached(files: Sequence[SourceFile], entries: Collection[str], roots: Collection[str]) -> frozenset[str]:
    """Paths of `roots` and of what they import, directly or not; of all files where no entry is among them."""
    if not any(file.path in entries for file in files):
        return frozenset(file.path for file in files)
    return _imported(files, roots)


def _imported(files: Sequence[SourceFile], roots: Collection[str]) -> frozenset[str]:
    """Paths of `roots` and of what they import, directly or not."""
    used = {file.path for file in files if file.path in roots}
    while True:
        wanted = {name for file in files if file.path in used for name in file.syntax.imports(file.text, file.tree)}
        packages = {str(folder) for path in used for folder in PurePosixPath(path).parents}
        more = {file.path for file in files if _is_imported(PurePosixPath(file.path), wanted, packages)} - used
        if not more:
            return frozenset(used)
        used |= more


def _is_imported(path: PurePosixPath, wanted: Collection[str], packages: Collection[str]) -> bool:
    return path.stem in wanted or (path.stem == "__init__" and str(path.parent) in packages)
