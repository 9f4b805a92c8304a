"""Allowed includes: files of the submission, the shims, and the C++ library."""

import itertools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from harness.cuda.rewriting.text.edits import Edits, blank_lines
from harness.cuda.rewriting.text.lexer import Directive, Macro, Token, brackets

SHIMS = Path(__file__).parents[1] / "include"
_OF_PROGRAMS = ("thrust/", "emu/thrust/")
"""Headers for programs only: they move other bytes than a GPU's version, which would falsify measurements."""
_INCLUDING = (b"include", b"include_next", b"import")
_HOST_HEADERS = Path(__file__).with_name("host_headers.txt")


@dataclass(frozen=True)
class IncludeTarget:
    """The target of an include.

    Attributes:
        file: the submission's file, relative to its root, or None.
        problem: reason for refusal, or empty.
        known: True if the compiler will find it.
        computed: True if it consists of macros unknown so far.
    """

    name: str
    file: str | None = None
    problem: str = ""
    known: bool = True
    computed: bool = False


@dataclass(frozen=True)
class SourceTree:
    """The files that a submission may include.

    Attributes:
        searched: folders of `-I` by their path in the tree, in search order.
        program: True for a program, which may use headers unfit for measurements.
        whole: True for the whole machine: nothing lies outside, and the compiler finds other headers.
    """

    root: Path
    searched: Mapping[str, Path] = field(default_factory=dict)
    whole: bool = False
    program: bool = False

    @classmethod
    def of(cls, root: Path, folders: Iterable[Path] = (), *, program: bool = False) -> "SourceTree":
        """Create a tree; outside header folders get names of their own."""
        searched: dict[str, Path] = {}
        for folder in dict.fromkeys(each.resolve() for each in folders):
            if folder.is_relative_to(root.resolve()):
                name = folder.relative_to(root.resolve()).as_posix()
            else:
                names = (folder.name if n == 1 else f"{folder.name}-{n}" for n in itertools.count(1))
                name = next(each for each in names if each and each not in searched and not (root / each).exists())
            searched[name] = folder
        return cls(root, searched, program=program)

    @classmethod
    def of_machine(cls, folders: Iterable[Path]) -> "SourceTree":
        """Create a tree of the whole machine."""
        paths = dict.fromkeys(each.resolve() for each in folders)
        searched = {path.relative_to("/").as_posix(): path for path in paths}
        return cls(Path("/"), searched, whole=True, program=True)

    def format_path(self, path: str) -> str:
        """Return a file's name in reports and for the compiler."""
        return f"/{path}" if self.whole else path

    def find(self, path: str) -> Path | None:
        """Return the file with this path, or None."""
        if self.whole:
            place = self.root / path
            return place if place.is_file() else None
        inside = (name for name in self.searched if path.startswith(f"{name}/"))
        name = max(inside, key=len, default=None)
        base = self.root if name is None else self.searched[name]
        place = base / (path if name is None else path[len(name) + 1 :])
        return place if place.is_file() and place.resolve().is_relative_to(base.resolve()) else None

    def search(self, name: str) -> str | None:
        """Return the path of a header in the `-I` folders, or None.

        NVIDIA's text of libraries that the device replaces or lacks is skipped.
        """
        library = name.split("/")[0]
        if library in ("cub", "thrust") or (library == "cuda" and name in shims()):
            return None
        found = (posixpath.normpath(posixpath.join(folder, name)) for folder in self.searched)
        return next((path for path in found if not path.startswith("..") and self.find(path)), None)


@dataclass(frozen=True)
class Includes:
    """The includes of one file."""

    tree: SourceTree
    file: str
    macros: Mapping[bytes, Sequence[Macro]]

    def of(self, directive: Directive) -> Iterator[IncludeTarget]:
        """Yield the targets of an `#include` line, several if macros name it."""
        if directive.name == b"embed" or directive.name not in _INCLUDING:
            return
        yield from self._resolve(directive.tokens[1:])

    def find_has_include(self, tokens: Sequence[Token]) -> Iterator[tuple[int, int, IncludeTarget]]:
        """Yield start, end and target of every `__has_include(...)`."""
        partners = brackets(tokens)
        for index, token in enumerate(tokens):
            if token.text in (b"__has_include", b"__has_include_next", b"__has_embed"):
                end = partners.get(index + 1)
                inner = [] if end is None else tokens[index + 2 : end]
                last = token if end is None else tokens[end]
                for target in self._resolve(inner):
                    yield token.start, last.end, target

    def _resolve(self, tokens: Sequence[Token]) -> Iterator[IncludeTarget]:
        if tokens and tokens[0].kind == "string":
            yield self._resolve_quoted(_decode(tokens[0].text).strip('"'))
        elif tokens and tokens[0].text == b"<":
            yield self._resolve_angled(_read_angled_name(tokens))
        elif len(tokens) == 1 and (macros := self.macros.get(tokens[0].text)):
            for macro in macros:
                direct = macro.body and (macro.body[0].kind == "string" or macro.body[0].text == b"<")
                yield from self._resolve(macro.body) if direct else iter((_make_unknown(tokens),))
        else:
            yield _make_unknown(tokens)

    def _resolve_quoted(self, name: str) -> IncludeTarget:
        if _is_absolute(name):
            return self._make_outside(name)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self.file), name))
        at_root = None if self.tree.whole else posixpath.normpath(name)
        for path in (beside, self.tree.search(name), at_root):
            if path and not path.startswith("..") and self.tree.find(path):
                return IncludeTarget(name, path)
        if beside.startswith(".."):
            return self._make_outside(name)
        return IncludeTarget(name, known=True)

    def _resolve_angled(self, name: str) -> IncludeTarget:
        if _is_absolute(name) or (".." in name.split("/") and not self.tree.whole):
            return self._make_outside(name)
        if found := self.tree.search(name):
            return IncludeTarget(name, found)
        if name in host_headers() or (name in shims() and (self.tree.program or not name.startswith(_OF_PROGRAMS))):
            return IncludeTarget(name)
        path = posixpath.normpath(name)
        beside = not self.tree.whole and self.tree.find(path)
        return IncludeTarget(name, path) if beside else IncludeTarget(name, known=False)

    def _make_outside(self, name: str) -> IncludeTarget:
        return IncludeTarget(name, problem="" if self.tree.whole else "leaves the submission")


@cache
def shims() -> frozenset[str]:
    """Return the bundled headers that CUDA source may include."""
    return frozenset(p.relative_to(SHIMS).as_posix() for p in SHIMS.rglob("*") if p.is_file())


@cache
def host_headers() -> frozenset[str]:
    """Return the headers of C, C++ and POSIX that host code may include."""
    return frozenset(_HOST_HEADERS.read_text(encoding="utf-8").split())


def refuse(directive: Directive, what: str, text: bytes, edits: Edits) -> None:
    """Replace a line by an error for the preprocessor, if reached."""
    lines = b"\n" * blank_lines(text[directive.start : directive.end]).count(b"\n")
    edits.replace(directive.start, directive.end, b"#error " + what.encode() + lines)


def _read_angled_name(tokens: Sequence[Token]) -> str:
    closing = next((i for i, token in enumerate(tokens) if token.text in (b">", b">>>")), len(tokens))
    return _decode(b"".join(token.text for token in tokens[1:closing]))


def _is_absolute(name: str) -> bool:
    return name.startswith(("/", "\\")) or name[1:2] == ":"


def _make_unknown(tokens: Sequence[Token]) -> IncludeTarget:
    name = _decode(b" ".join(token.text for token in tokens))[:80]
    return IncludeTarget(name, problem="is computed: only the preprocessor knows what it names", computed=True)


def _decode(name: bytes) -> str:
    return name.decode(errors="replace")
