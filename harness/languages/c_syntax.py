"""The syntax of C, C++ and CUDA: comments, functions documented by the comment above them, hints."""

import ast
import re
from collections.abc import Iterator, Sequence

from harness.languages.c_literals import integer_literals
from harness.languages.syntax import DocumentedName, NamedLine, SourceLine, Syntax, filled_lines

_LITERAL_OR_COMMENT = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?(?:\*/|\Z)""",
    re.DOTALL,
)
_LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'")
# what may repeat is bounded: an answer must not buy hours with a line of blanks
_MENTIONED = {
    "has inline assembly": re.compile(r"\b(?:asm|__asm|__asm__)\b\s{0,9}(?:volatile|__volatile__)?\s{0,9}\("),
    "runs code before it is called": re.compile(
        r"__attribute__\s{0,9}\(\([^)]{0,99}\bconstructor\b|\[\[\s{0,9}gnu::constructor\b"
    ),
    "names the emulated device's own parts": re.compile(r"\bEMU_\w|\bemu\s{0,9}::"),
} | {
    f"calls {name}": re.compile(rf"(?<![.\w])(?<!->){name}\s{{0,9}}\(")
    for name in (
        "dlopen", "dlsym", "execve", "fopen", "fork", "mmap", "mprotect", "popen", "pthread_create", "ptrace", "socket",
        "syscall", "system", "vfork",
    )
}  # fmt: skip
_EMBEDDED = re.compile(r"\.\s{0,9}incbin\b")


class CFamilySyntax(Syntax):
    """Files in C, C++ or CUDA."""

    suffixes = frozenset({".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inl"})

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """As `Syntax.code_lines`."""
        return filled_lines(without_comments(text))

    def page_line(self, text: str) -> int | None:
        """The first fence of a Markdown code block: no line of a program begins with three back quotes."""
        lines = enumerate(without_comments(text).split("\n"), 1)
        return next((number for number, line in lines if line.lstrip().startswith("```")), None)

    def literals(self, text: str) -> Iterator[int]:
        """As `Syntax.literals`."""
        return iter(integer_literals(text))

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """As `Syntax.public_names`: functions, by the comment above them."""
        lines = text.split("\n")
        for line, name in functions:
            before = lines[: line - 1]
            while before and before[-1].lstrip().startswith(("template", "extern")):
                before.pop()
            above = before[-1].strip() if before else ""
            yield DocumentedName(line, name, above.startswith(("//", "/*", "*")) or above.endswith("*/"))

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """As `Syntax.hints`."""
        uncommented = without_comments(text)
        bare = _LITERAL.sub('""', uncommented)
        embedded = (_EMBEDDED, uncommented, "embeds a file by .incbin")
        for pattern, where, what in (embedded, *((p, bare, what) for what, p in _MENTIONED.items())):
            if found := pattern.search(where):
                yield NamedLine(where.count("\n", 0, found.start()) + 1, what)


def without_comments(text: str) -> str:
    """C, C++ or CUDA text with every comment blanked out, line numbers kept."""
    return _LITERAL_OR_COMMENT.sub(
        lambda found: found["literal"] or " " + "\n" * found[0].count("\n"),
        text,
    )


C_FAMILY = CFamilySyntax()
