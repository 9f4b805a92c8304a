"""What a source may include: files of its submission, the shims, and the C++ library; never another path."""

import itertools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from harness.cuda.rewriting.edits import Edits, blank_lines
from harness.cuda.rewriting.lexer import Directive, Macro, Token, brackets

SHIMS = Path(__file__).parents[1] / "include"
_OF_PROGRAMS = ("thrust/", "emu/thrust/")
"""What these headers bring moves other bytes than a GPU's version of it does: no answer is measured by them."""
_INCLUDING = (b"include", b"include_next", b"import")
_HOST_HEADERS = Path(__file__).with_name("host_headers.txt")


@dataclass(frozen=True)
class IncludeTarget:
    """What an include names.

    Attributes:
        name: as the author writes it.
        file: the submission's file, relative to its root; None when it is none.
        problem: why it is refused, empty when it is not.
        known: whether the compiler will find it.
        computed: whether it is made of macros that are not known, or not yet.
    """

    name: str
    file: str | None = None
    problem: str = ""
    known: bool = True
    computed: bool = False


@dataclass(frozen=True)
class SourceTree:
    """Where the files that a submission may include lie: in its folder, and in those searched for headers.

    Attributes:
        root: the submission's folder.
        searched: the folders of `-I` by the path that they have in the tree, in the order in which they are searched.
        program: whether it is a program of its own: what some headers bring runs, but is not what a GPU would measure.
        whole: whether it is all that this machine holds: nothing lies outside, and what no folder of `-I` has is left
            to the compiler.
    """

    root: Path
    searched: Mapping[str, Path] = field(default_factory=dict)
    whole: bool = False
    program: bool = False

    @classmethod
    def of(cls, root: Path, folders: Iterable[Path] = (), *, program: bool = False) -> "SourceTree":
        """A tree with these folders, which may lie outside `root`; each of those gets a name of its own beside it."""
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
        """All that this machine holds, with these folders searched for headers."""
        paths = dict.fromkeys(each.resolve() for each in folders)
        searched = {path.relative_to("/").as_posix(): path for path in paths}
        return cls(Path("/"), searched, whole=True, program=True)

    def told(self, path: str) -> str:
        """A file of the tree as reports and the compiler name it."""
        return f"/{path}" if self.whole else path

    def find(self, path: str) -> Path | None:
        """The file with this path in the tree, if there is one."""
        if self.whole:
            place = self.root / path
            return place if place.is_file() else None
        inside = (name for name in self.searched if path.startswith(f"{name}/"))
        name = max(inside, key=len, default=None)
        base = self.root if name is None else self.searched[name]
        place = base / (path if name is None else path[len(name) + 1 :])
        return place if place.is_file() and place.resolve().is_relative_to(base.resolve()) else None

    def search(self, name: str) -> str | None:
        """The path in the tree of the header that the folders of `-I` hold under `name`; never NVIDIA's own text of a
        library that the device has in another form, or not at all.
        """
        library = name.split("/")[0]
        if library in ("cub", "thrust") or (library == "cuda" and name in shims()):
            return None
        found = (posixpath.normpath(posixpath.join(folder, name)) for folder in self.searched)
        return next((path for path in found if not path.startswith("..") and self.find(path)), None)


@dataclass(frozen=True)
class Includes:
    """The includes of one file of a submission."""

    tree: SourceTree
    file: str
    macros: Mapping[bytes, Sequence[Macro]]

    def of(self, directive: Directive) -> Iterator[IncludeTarget]:
        """What an `#include` line names; more than one when a macro says it in several ways."""
        if directive.name == b"embed" or directive.name not in _INCLUDING:
            return
        yield from self._named(directive.tokens[1:])

    def asked(self, tokens: Sequence[Token]) -> Iterator[tuple[int, int, IncludeTarget]]:
        """Every `__has_include(...)` among tokens: byte offsets and what it names."""
        partners = brackets(tokens)
        for index, token in enumerate(tokens):
            if token.text in (b"__has_include", b"__has_include_next", b"__has_embed"):
                end = partners.get(index + 1)
                inner = [] if end is None else tokens[index + 2 : end]
                last = token if end is None else tokens[end]
                for target in self._named(inner):
                    yield token.start, last.end, target

    def _named(self, tokens: Sequence[Token]) -> Iterator[IncludeTarget]:
        if tokens and tokens[0].kind == "string":
            yield self._quoted(_text(tokens[0].text).strip('"'))
        elif tokens and tokens[0].text == b"<":
            yield self._angled(_angled_name(tokens))
        elif len(tokens) == 1 and (macros := self.macros.get(tokens[0].text)):
            for macro in macros:
                direct = macro.body and (macro.body[0].kind == "string" or macro.body[0].text == b"<")
                yield from self._named(macro.body) if direct else iter((_unknown(tokens),))
        else:
            yield _unknown(tokens)

    def _quoted(self, name: str) -> IncludeTarget:
        if _is_absolute(name):
            return self._outside(name)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self.file), name))
        at_root = None if self.tree.whole else posixpath.normpath(name)
        for path in (beside, self.tree.search(name), at_root):
            if path and not path.startswith("..") and self.tree.find(path):
                return IncludeTarget(name, path)
        if beside.startswith(".."):
            return self._outside(name)
        return IncludeTarget(name, known=True)

    def _angled(self, name: str) -> IncludeTarget:
        if _is_absolute(name) or (".." in name.split("/") and not self.tree.whole):
            return self._outside(name)
        if found := self.tree.search(name):
            return IncludeTarget(name, found)
        if name in host_headers() or (name in shims() and (self.tree.program or not name.startswith(_OF_PROGRAMS))):
            return IncludeTarget(name)
        path = posixpath.normpath(name)
        beside = not self.tree.whole and self.tree.find(path)
        return IncludeTarget(name, path) if beside else IncludeTarget(name, known=False)

    def _outside(self, name: str) -> IncludeTarget:
        return IncludeTarget(name, problem="" if self.tree.whole else "leaves the submission")


@cache
def shims() -> frozenset[str]:
    """The bundled headers that CUDA source may include."""
    return frozenset(p.relative_to(SHIMS).as_posix() for p in SHIMS.rglob("*") if p.is_file())


@cache
def host_headers() -> frozenset[str]:
    """Headers of the C and C++ libraries and of POSIX that host code asks for."""
    return frozenset(_HOST_HEADERS.read_text(encoding="utf-8").split())


def refuse(directive: Directive, what: str, text: bytes, edits: Edits) -> None:
    """An error in place of a line, raised only where the preprocessor comes by."""
    lines = b"\n" * blank_lines(text[directive.start : directive.end]).count(b"\n")
    edits.replace(directive.start, directive.end, b"#error " + what.encode() + lines)


def _angled_name(tokens: Sequence[Token]) -> str:
    closing = next((i for i, token in enumerate(tokens) if token.text in (b">", b">>>")), len(tokens))
    return _text(b"".join(token.text for token in tokens[1:closing]))


def _is_absolute(name: str) -> bool:
    return name.startswith(("/", "\\")) or name[1:2] == ":"


def _unknown(tokens: Sequence[Token]) -> IncludeTarget:
    name = _text(b" ".join(token.text for token in tokens))[:80]
    return IncludeTarget(name, problem="is computed: only the preprocessor knows what it names", computed=True)


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
