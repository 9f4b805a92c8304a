"""Integers that an answer's source names: where its code may change its way of working."""

from harness.languages.base import AnswerFiles, Language

LARGEST = 2**31
"""No size is larger."""
MAX_BYTES = 1 << 20
"""Of source that are read, file by file; what comes after is left out."""


def literals(used: Language, files: AnswerFiles) -> frozenset[int]:
    """Integers from 2 on in the source of an answer, constant expressions such as `1 << 10` included.

    Args:
        used: the language, whose syntax finds them.
        files: the answer's.
    """
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
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # it says nothing then
            continue
    return frozenset(found)
