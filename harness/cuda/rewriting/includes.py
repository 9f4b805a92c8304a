"""What a source may include: files of its submission, the shims, and the C++ library; never another path."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.cuda.rewriting.edits import Edits, blank_lines
from harness.cuda.rewriting.lexer import Directive, Macro, Token, brackets

SHIMS = Path(__file__).parents[1] / "include"
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
    """

    name: str
    file: str | None = None
    problem: str = ""
    known: bool = True


@dataclass(frozen=True)
class Includes:
    """The includes of one file of a submission."""

    root: Path
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
            return IncludeTarget(name, problem="leaves the submission")
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self.file), name))
        for path in (beside, posixpath.normpath(name)):
            if not path.startswith("..") and self._is_file(path):
                return IncludeTarget(name, path)
        if beside.startswith(".."):
            return IncludeTarget(name, problem="leaves the submission")
        return IncludeTarget(name, known=True)

    def _angled(self, name: str) -> IncludeTarget:
        if _is_absolute(name) or ".." in name.split("/"):
            return IncludeTarget(name, problem="leaves the submission")
        if name in host_headers() or name in shims():
            return IncludeTarget(name)
        path = posixpath.normpath(name)
        return IncludeTarget(name, path) if self._is_file(path) else IncludeTarget(name, known=False)

    def _is_file(self, path: str) -> bool:
        place = self.root / path
        return place.is_file() and place.resolve().is_relative_to(self.root.resolve())


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
    return IncludeTarget(name, problem="is computed: only the preprocessor knows what it names")


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
