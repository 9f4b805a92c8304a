"""What every rewriting step works on: a whole file, or the body of one macro."""

from dataclasses import dataclass, field

from harness.cuda.rewriting.edits import Edits
from harness.cuda.rewriting.syntax import SyntaxTree, line_of

PREFIX = b"__emu_"
"""In every name that the rewriting adds; compilers' messages are cleaned of it."""


@dataclass
class Fragment:
    """A text, its tree and the edits to it.

    Attributes:
        syntax: of the text.
        parameters: the macro's when the text is a macro's body, None for a file.
        edits: collected by the steps.
    """

    syntax: SyntaxTree
    parameters: frozenset[bytes] | None = None
    edits: Edits = field(default_factory=Edits)

    @property
    def is_macro(self) -> bool:
        """Whether this is the body of a macro: its lines are not the author's statements."""
        return self.parameters is not None

    def text(self, start: int, end: int) -> bytes:
        """The author's bytes from one offset to another."""
        return self.syntax.text[start:end]

    def follow(self, end: int, text: bytes) -> None:
        """Put declarations behind the one that ends at `end`; in a macro its semicolon may be left to the use."""
        finished = self.text(end - 1, end) == b";"
        self.edits.insert(end, text if finished else b";" + text.rstrip(b";"))

    def derived(self, name: bytes, what: bytes) -> bytes:
        """A reserved name derived from one of the author's; in a macro it may be a parameter, which is pasted."""
        last = name.rpartition(b"##")[2].strip()
        paste = b"##" if last in (self.parameters or ()) else b""
        return name + paste + PREFIX + what

    def quoted(self, name: bytes) -> bytes:
        """A name as a string literal."""
        return b"EMU_TEXT(" + name + b")" if self.is_macro else b'"' + name + b'"'

    def site(self, offset: int) -> bytes:
        """The place of a byte as an `emu::Site`."""
        if self.is_macro:
            return b"EMU_HERE"
        return b"{__builtin_FILE(), %d}" % line_of(self.syntax.text, offset)
