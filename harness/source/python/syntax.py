"""Python's syntax: encodings, code lines, public names, tests and imports."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from harness.source.python.functions import python_functions
from harness.source.python.hints import python_hints
from harness.source.python.literals import python_literals
from harness.source.python.outline import python_outline
from harness.source.syntax import DocumentedName, FunctionSpan, NamedLine, Outline, SourceLine, Syntax, filled_lines

_READ = frozenset({"utf-8", "utf-8-sig", "ascii", "iso-8859-1", "iso-8859-15", "cp1252"})
"""Encodings that a file may declare; some of the others take hours for a megabyte (punycode)."""
_TEST_NAME = re.compile(r"(test_.*|.*_test|tests|conftest)\.py")
_TEST_FOLDERS = frozenset({"test", "tests"})
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)
_TEXT = frozenset({tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})
"""Tokens of text, including f-strings from Python 3.12 on."""


class PythonSyntax(Syntax):
    """Files that Python imports."""

    suffixes = frozenset({".py"})
    linted = True
    binds_names = True

    def encoding(self, data: bytes) -> str:
        """See `Syntax.encoding`: the declared one."""
        declared = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        if declared not in _READ:
            raise SyntaxError(f"declares {declared}")
        return declared

    def parse(self, text: str) -> ast.Module:
        """See `Syntax.parse`."""
        return ast.parse(text)

    def outline(self, text: str) -> Outline:
        """See `Syntax.outline`."""
        return python_outline(text)

    def is_code(self, text: str) -> bool:
        """See `Syntax.is_code`: the text parses, which prose never does."""
        return python_outline(text).fault is None

    def literals(self, text: str) -> Iterator[int]:
        """See `Syntax.literals`."""
        return python_literals(text)

    def is_test(self, path: str) -> bool:
        """See `Syntax.is_test`."""
        *folders, name = path.split("/")
        return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(name) is not None

    def functions(self, tree: ast.Module) -> Iterator[FunctionSpan]:
        """See `Syntax.functions`."""
        return python_functions(tree)

    def imports(self, text: str, tree: ast.Module | None) -> Iterator[str]:
        """See `Syntax.imports`, including strings, which may feed `import_module`."""
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names]
                if isinstance(node, ast.ImportFrom) and node.module:
                    names.append(node.module)
                for name in names:
                    yield name.rpartition(".")[2]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.removesuffix(".py").rpartition(".")[2]

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """See `Syntax.code_lines`, without docstrings and the inner lines of other strings."""
        lines = text.split("\n")
        code: set[int] = set()
        statement: set[int] = set()
        only_strings = True
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    row, column = token.start
                    lines[row - 1] = lines[row - 1][:column]
                elif token.type not in _LAYOUT:
                    first, last = token.start[0], token.end[0]
                    statement |= {first, last} if token.type in _TEXT else set(range(first, last + 1))
                    only_strings = only_strings and token.type == tokenize.STRING
                elif token.type == tokenize.NEWLINE:
                    if not only_strings:
                        code |= statement
                    statement, only_strings = set(), True
        except (tokenize.TokenError, SyntaxError):
            code = {line.number for line in filled_lines(text) if not line.text.startswith("#")}
        for number in sorted(code):
            if stripped := lines[number - 1].strip():
                yield SourceLine(number, stripped)

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """See `Syntax.public_names`."""
        for node, name in _iter_public(tree) if tree else ():
            documented = ast.get_docstring(node, clean=False) is not None
            yield DocumentedName(node.lineno, name, documented, tuple(_iter_annotations(node, name)))

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """See `Syntax.hints`; none if the file does not parse."""
        return python_hints(path, tree) if tree else iter(())


def _iter_public(
    node: ast.Module | ast.ClassDef, within: str = ""
) -> Iterator[tuple[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and child.name[0] != "_":
            yield child, f"{within}{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from _iter_public(child, f"{within}{child.name}.")


def _iter_annotations(node: ast.AST, name: str) -> Iterator[bool]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        named = [*node.args.posonlyargs, *node.args.args]
        if "." in name and named and named[0].arg in ("self", "cls"):
            named = named[1:]
        rest = [argument for argument in (node.args.vararg, node.args.kwarg) if argument]
        for argument in (*named, *node.args.kwonlyargs, *rest):
            yield argument.annotation is not None


PYTHON_SYNTAX = PythonSyntax()
