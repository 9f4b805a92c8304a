"""Integers in a submission's source, at which its code may branch."""

from harness.languages.base import AnswerFiles, Language

LARGEST = 2**31
"""Largest size."""
MAX_BYTES = 1 << 20
"""Most bytes of source to read, file by file; the rest is left out."""


def literals(used: Language, files: AnswerFiles) -> frozenset[int]:
    """Return integers from 2 on in a submission's source, including constant expressions."""
    found: set[int] = set()
    left = MAX_BYTES
    for name in sorted(files.paths):
        path = files.folder / name
        if path.suffix not in used.syntax.suffixes or path.stat().st_size > left:
            continue
        text = path.read_bytes().decode(errors="replace")
        left -= len(text)
        try:
            found.update(n for n in used.syntax.literals(text) if 2 <= n <= LARGEST)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # a file that does not parse has no integers
            continue
    return frozenset(found)
