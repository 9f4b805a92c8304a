"""Source files of a submission as text.

A test is a file named `test_*`, `*_test` or `tests`, a `conftest.py`, or a file in a folder named `test` or `tests`,
unless it is an entry or an entry imports it, directly or not. All others are source, adapters included. Source that is
never imported (a leftover copy), or used only by tests and the test command (a demo), is not measured.
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
"""Length, in characters, beyond which a file is not analysed and every filled line counts."""

_SKIPPED_FOLDERS = frozenset({"__pycache__", "reviews"})


@dataclass(frozen=True)
class SourceFile:
    """One file of a submission.

    Attributes:
        path: relative path with forward slashes.
        text: decoded text with `\\n` line ends and replaced undecodable bytes.
        fault: reason why the bytes cannot be read properly, or None.
        unused: true if entries and tests never import it, even indirectly.
        commanded: true if the test command names it.
        for_tests: true if only tests or that command use it.
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
        """Shared syntax tree of a Python file; callers must not change it."""
        return self._parsed if isinstance(self._parsed, ast.Module) else None

    @property
    def problem(self) -> str | None:
        """Reason why the file cannot be analysed fully, or None."""
        return self._parsed if isinstance(self._parsed, str) else None

    @cached_property
    def code(self) -> tuple[SourceLine, ...]:
        """Lines of code, without blank lines, comments and docstrings (bare strings)."""
        if self.oversized:
            return tuple(filled_lines(self.text))
        return tuple(self.syntax.code_lines(self.text))

    @cached_property
    def code_beyond_imports(self) -> tuple[SourceLine, ...]:
        """Lines of code without imports and includes."""
        imports = [n for n in self.tree.body if isinstance(n, ast.Import | ast.ImportFrom)] if self.tree else []
        lines = {line for n in imports for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
        return tuple(line for line in self.code if line.number not in lines and not line.text.startswith("#include"))

    @property
    def oversized(self) -> bool:
        """True beyond `MAX_LENGTH`."""
        return len(self.text) > MAX_LENGTH

    @property
    def sloc(self) -> int:
        """Number of code lines."""
        return len(self.code)


@cache
def syntaxes() -> Mapping[str, Syntax]:
    """Return syntaxes by suffix; the first language by name wins."""
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
    """Read every regular file below `folder` with a suffix of some language, sorted by path.

    Args:
        entries: files of the `entry`, which are source whatever their names.
        adapters: files of the harness, which are left out.
        command: test command; files that it names count as used.
        programs: further files that run as programs.
    """
    run = {*entries, *adapters, *programs}
    found = _mark_tests([_read(folder, path) for path in _paths(folder)], entries, run)
    named = _match_command(found, command)
    tests = {file.path for file in found if file.test} | named
    used, served = (_find_reachable(found, entries, roots) for roots in (run | tests, run))
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


def _mark_tests(files: Sequence[SourceFile], entries: Collection[str], run: Collection[str]) -> tuple[SourceFile, ...]:
    named = {file.path for file in files if file.syntax.is_test(file.path)} - set(entries)
    others = {file.path for file in files} - named
    served = _find_imports(files, run if any(file.path in entries for file in files) else others)
    return tuple(replace(file, test=file.path in named - served) for file in files)


def _match_command(files: Sequence[SourceFile], command: Collection[str]) -> set[str]:
    words = {word.partition("::")[0].removeprefix("./") for word in command}
    return {file.path for file in files if not words.isdisjoint((file.path, PurePosixPath(file.path).stem))}


def _find_reachable(files: Sequence[SourceFile], entries: Collection[str], roots: Collection[str]) -> frozenset[str]:
    """Return `roots` and their imports, direct and indirect; all files if none is an entry."""
    if not any(file.path in entries for file in files):
        return frozenset(file.path for file in files)
    return _find_imports(files, roots)


def _find_imports(files: Sequence[SourceFile], roots: Collection[str]) -> frozenset[str]:
    used = {file.path for file in files if file.path in roots}
    while True:
        wanted = {name for file in files if file.path in used for name in file.syntax.imports(file.text, file.tree)}
        packages = {str(folder) for path in used for folder in PurePosixPath(path).parents}
        more = {file.path for file in files if _matches_import(PurePosixPath(file.path), wanted, packages)} - used
        if not more:
            return frozenset(used)
        used |= more


def _matches_import(path: PurePosixPath, wanted: Collection[str], packages: Collection[str]) -> bool:
    return path.stem in wanted or (path.stem == "__init__" and str(path.parent) in packages)
