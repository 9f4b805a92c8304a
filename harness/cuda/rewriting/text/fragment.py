"""The unit of every rewriting step: a file, or one macro's body."""

from dataclasses import dataclass, field

from harness.cuda.rewriting.text.edits import Edits
from harness.cuda.rewriting.text.syntax import SyntaxTree, line_of

PREFIX = b"__emu_"
"""Part of every name that the rewriting adds; removed from compiler messages."""


@dataclass
class Fragment:
    """A text, its tree and its edits; `parameters` are the macro's, or None for a file."""

    syntax: SyntaxTree
    parameters: frozenset[bytes] | None = None
    edits: Edits = field(default_factory=Edits)

    @property
    def is_macro(self) -> bool:
        """True for the body of a macro."""
        return self.parameters is not None

    def text(self, start: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        return self.syntax.text[start:end]

    def follow(self, end: int, text: bytes) -> None:
        """Insert declarations after the one that ends at `end`; a macro may leave its semicolon to the use."""
        finished = self.text(end - 1, end) == b";"
        self.edits.insert(end, text if finished else b";" + text.rstrip(b";"))

    def derive_name(self, name: bytes, what: bytes) -> bytes:
        """Return a reserved name derived from an author's, by `##` if that is a macro parameter."""
        last = name.rpartition(b"##")[2].strip()
        paste = b"##" if last in (self.parameters or ()) else b""
        return name + paste + PREFIX + what

    def quote(self, name: bytes) -> bytes:
        """Return a name as a string literal."""
        return b"EMU_TEXT(" + name + b")" if self.is_macro else b'"' + name + b'"'

    def site(self, offset: int) -> bytes:
        """Return a byte's place as an `emu::Site`."""
        if self.is_macro:
            return b"EMU_HERE"
        return b"{__builtin_FILE(), %d}" % line_of(self.syntax.text, offset)
