"""Byte-range replacements, outside which the author's text stays byte for byte."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


@dataclass
class Edits:
    """Replacements of one text, in any order; the one that starts first wins an overlap."""

    edits: list[Edit] = field(default_factory=list)

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Replace a range by `text`."""
        self.edits.append(Edit(start, end, text))

    def insert(self, at: int, text: bytes) -> None:
        """Insert `text` before the byte at `at`, after earlier insertions there."""
        self.edits.append(Edit(at, at, text))

    def apply(self, text: bytes) -> bytes:
        """Return the text with all replacements made."""
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
    """Return the line ends of `text` with continuation backslashes, which keep later lines in place."""
    lines = text.split(b"\n")[:-1]
    return b"".join(b" \\\n" if line.rstrip(b"\r").endswith(b"\\") else b"\n" for line in lines)
