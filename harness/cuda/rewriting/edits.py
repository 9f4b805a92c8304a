"""Byte-range replacements: everything outside them stays byte for byte the author's."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


@dataclass
class Edits:
    """Replacements of one text, in any order; of two that overlap the first one given holds."""

    edits: list[Edit] = field(default_factory=list)

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Put `text` in place of a range."""
        self.edits.append(Edit(start, end, text))

    def insert(self, at: int, text: bytes) -> None:
        """Put `text` before the byte at `at`; what is inserted later at the same place follows."""
        self.edits.append(Edit(at, at, text))

    def apply(self, text: bytes) -> bytes:
        """The text with all replacements made."""
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
    """The line ends of `text`, with their backslashes where it continues a line: what keeps later lines in place."""
    lines = text.split(b"\n")[:-1]
    return b"".join(b" \\\n" if line.rstrip(b"\r").endswith(b"\\") else b"\n" for line in lines)
