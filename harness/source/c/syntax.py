"""The syntax of C, C++ and CUDA: comments, documented functions, hints."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from harness.source.c.literals import integer_literals
from harness.source.syntax import DocumentedName, NamedLine, Outline, SourceLine, Syntax, filled_lines

_RAW = r'\bR"(?P<raw>[^()\\\s]{0,16})\((?s:.*?)(?:\)(?P=raw)"|\Z)'
_QUOTED = r"""(?s:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_LITERAL_OR_COMMENT = re.compile(rf"(?P<literal>{_RAW}|{_QUOTED})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LITERAL = re.compile(f"{_RAW}|{_QUOTED}")
# repetitions are bounded: a line of blanks must not cost hours
_MENTIONED = {
    "has inline assembly": re.compile(r"\b(?:asm|__asm|__asm__)\b\s{0,9}(?:volatile|__volatile__)?\s{0,9}\("),
    "runs code before it is called": re.compile(
        r"__attribute__\s{0,9}\(\([^)]{0,99}\bconstructor\b|\[\[\s{0,9}gnu::constructor\b"
    ),
    "names the emulated device's own parts": re.compile(r"\bEMU_\w|\bemu\s{0,9}::"),
} | {
    f"calls {name}": re.compile(rf"(?<![.\w])(?<!->){name}\s{{0,9}}\(")
    for name in (
        "dlopen",
        "dlsym",
        "execve",
        "fopen",
        "fork",
        "mmap",
        "mprotect",
        "popen",
        "pthread_create",
        "ptrace",
        "socket",
        "syscall",
        "system",
        "vfork",
    )
}
_INCLUDED = re.compile(r'^[ \t]{0,99}#[ \t]{0,99}include[ \t]{0,99}["<]([^">\n]{1,999})[">]', re.MULTILINE)
_BEGINS = ("#include", "#pragma", "#define", "#if", "//", "/*", "extern", "template", "__", "namespace", "using")
_ENDS = ("}", ";", "*/", "#endif")
_TEST_NAME = re.compile(r"tests?|test_.*|.*_test")
_TEST_FOLDERS = frozenset({"test", "tests"})
_EMBEDDED = re.compile(r"\.\s{0,9}incbin\b")


class CFamilySyntax(Syntax):
    """Files in C, C++ or CUDA."""

    suffixes = frozenset({".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inl"})

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """See `Syntax.code_lines`."""
        return filled_lines(without_comments(text))

    def foreign_line(self, text: str) -> NamedLine | None:
        """Return the first Markdown fence, or character of no token, outside comments and strings."""
        bare = _blank_literals(without_comments(text))
        for number, line in enumerate(bare.split("\n"), 1):
            code = line.strip()
            if code.startswith("```"):
                return NamedLine(number, "a Markdown code block begins or ends there")
            # any text may follow the name of a directive
            if not code.isascii() and not code.startswith("#") and any(map(_is_in_no_token, code)):
                return NamedLine(number, "a character outside comments and strings is in no token of the language")
        return None

    def outline(self, text: str) -> Outline:
        """See `Syntax.outline`."""
        from harness.source.c.outline import c_outline

        return c_outline(text, self.foreign_line(text))

    def is_code(self, text: str) -> bool:
        """See `Syntax.is_code`."""
        lines = [line.strip() for line in text.strip().split("\n")]
        ends = lines[-1].startswith("//") or lines[-1].endswith(_ENDS)
        return lines[0].startswith(_BEGINS) and ends and self.foreign_line(text) is None

    def is_test(self, path: str) -> bool:
        """See `Syntax.is_test`."""
        *folders, name = path.split("/")
        return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(PurePosixPath(name).stem) is not None

    def imports(self, text: str, tree: ast.Module | None) -> Iterator[str]:
        """See `Syntax.imports`: the included files."""
        return (PurePosixPath(found[1]).stem for found in _INCLUDED.finditer(text))

    def literals(self, text: str) -> Iterator[int]:
        """See `Syntax.literals`."""
        return iter(integer_literals(text))

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """See `Syntax.public_names`: functions, documented by a comment above."""
        lines = text.split("\n")
        for line, name in functions:
            before = lines[: line - 1]
            while before and before[-1].lstrip().startswith(("template", "extern")):
                before.pop()
            above = before[-1].strip() if before else ""
            yield DocumentedName(line, name, above.startswith(("//", "/*", "*")) or above.endswith("*/"))

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """See `Syntax.hints`."""
        uncommented = without_comments(text)
        bare = _blank_literals(uncommented)
        embedded = (_EMBEDDED, uncommented, "embeds a file by .incbin")
        for pattern, where, what in (embedded, *((p, bare, what) for what, p in _MENTIONED.items())):
            if found := pattern.search(where):
                yield NamedLine(where.count("\n", 0, found.start()) + 1, what)


def _blank_literals(text: str) -> str:
    return _LITERAL.sub(lambda found: '""' + "\n" * found[0].count("\n"), text)


def _is_in_no_token(character: str) -> bool:
    return not character.isascii() and not f"a{character}".isidentifier()


def without_comments(text: str) -> str:
    """Return the text with comments blanked out and line numbers kept."""
    return _LITERAL_OR_COMMENT.sub(lambda found: found["literal"] or " " + "\n" * found[0].count("\n"), text)


C_FAMILY = CFamilySyntax()
