"""Byte-range replacements; the author's other text stays byte for byte."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


@dataclass
class Edits:
    """Replacements in any order; the one that starts first wins an overlap."""

    edits: list[Edit] = field(default_factory=list)

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Replace a range."""
        self.edits.append(Edit(start, end, text))

    def insert(self, at: int, text: bytes) -> None:
        """Insert `text` at a byte, after earlier insertions there."""
        self.edits.append(Edit(at, at, text))

    def apply(self, text: bytes) -> bytes:
        """Return the edited text."""
        pieces = []
        at = 0
        order = sorted(enumerate(self.edits), key=lambda item: (item[1].start, item[1].end, item[0]))
        for _, edit in order:
            if edit.start < at:
                continue
            pieces += [text[at : edit.start], edit.text]
            at = edit.end
        return b"".join((*pieces, text[at:]))


def blank_lines(text: bytes) -> bytes:
    """Return the line ends of `text` with continuation backslashes."""
    lines = text.split(b"\n")[:-1]
    return b"".join(b" \\\n" if line.rstrip(b"\r").endswith(b"\\") else b"\n" for line in lines)
