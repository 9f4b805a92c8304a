"""Copies of an answer on which its own tests must fail: where they pass all the same, something else decides.

A suite can be made to end well whatever happens in it, by a hook, a plugin or a changed runner. No look at its text
finds them all, so it is run twice more: once with every check in its tests failing, once with every function of the
answer failing. What passes then depends on neither.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from harness.quality.assertions import Function
from harness.quality.sources import SourceFile

Changed = tuple[tuple[str, str], ...]
"""Path and text of the files that a copy has instead of the answer's own."""

_FAILS = "raise AssertionError('a control: this must fail')"
_WITHOUT_LINES = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
"""Statements that a tracer need not see, although they run."""


def with_failing_checks(files: Sequence[SourceFile], checks: Collection[tuple[str, int]]) -> Changed:
    """Make each function fail where its first check that can fail stands.

    Module level code is changed only where no function has a check: what fails while tests are collected runs no test.

    Args:
        files: all files of an answer.
        checks: path and line of each check that can fail.
    """
    copies = [_Checks({line for path, line in checks if path == file.path}, file) for file in files if file.tree]
    inside = any(copy.inside for copy in copies)
    return tuple((copy.path, copy.text(inside)) for copy in copies if (copy.inside if inside else copy.loose))


def with_failing_code(files: Sequence[SourceFile], entries: Collection[str]) -> Changed:
    """Make every function of the answer's own source fail when it is called; hooks of pytest stay as they are.

    Args:
        files: all files of an answer.
        entries: those that define the contract.
    """
    changed = []
    for file in files:
        if file.test or file.tree is None:
            continue
        tree = ast.parse(file.text)
        functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        hooks = [function for function in functions if function.name.startswith("pytest_")]
        failing = [] if hooks and file.path not in entries else [each for each in functions if each not in hooks]
        for function in failing:
            function.body = ast.parse(_FAILS).body
        if failing:
            changed.append((file.path, ast.unparse(tree)))
    return tuple(changed)


def with_failing_lines(files: Sequence[SourceFile], executed: Mapping[str, AbstractSet[int]]) -> Changed:
    """Make every statement of the answer's functions fail of which no line is said to be executed.

    Unlike the other copies this one must do the same as the answer, in whatever runs the lines that are said to be all.

    Args:
        files: all files of an answer.
        executed: those lines, by path.
    """
    changed = []
    for file in files:
        if file.test or file.tree is None:
            continue
        tree, lines = ast.parse(file.text), executed.get(file.path, frozenset())
        functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        if sum(_fail_elsewhere(function.body, lines) for function in functions):
            changed.append((file.path, ast.unparse(tree)))
    return tuple(changed)


def _fail_elsewhere(body: list[ast.stmt], lines: AbstractSet[int]) -> int:
    """Make the statements of a body that are on none of `lines` fail; return how many those are."""
    failing = 0
    for index, statement in enumerate(body):
        if not lines.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)):
            failing += sum(_fail_elsewhere(inner, lines) for inner in _bodies(statement))
        elif not isinstance(statement, _WITHOUT_LINES) and not _is_bare(statement):
            body[index : index + 1] = ast.parse(_FAILS).body
            failing += 1
    return failing


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The bodies of statements within a statement: what it repeats, chooses, tries or defines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ExceptHandler | ast.match_case):
            yield child.body
    for name in ("body", "orelse", "finalbody"):
        if body := getattr(node, name, None):
            yield body


def _is_bare(statement: ast.stmt) -> bool:
    """Whether a statement computes nothing: a docstring, or a name with a type and no value."""
    bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return bare or (isinstance(statement, ast.AnnAssign) and statement.value is None)


class _Checks:
    """One file with the statements that hold its checks."""

    def __init__(self, lines: Collection[int], file: SourceFile) -> None:
        self.path = file.path
        self._tree = ast.parse(file.text)
        functions = [node for node in ast.walk(self._tree) if isinstance(node, Function)]
        self.inside = [place for each in functions if (place := _first(each.body, lines))]
        self.loose = [place] if (place := _first(self._tree.body, lines)) else []

    def text(self, inside: bool) -> str:
        """Return the source in which the checks of functions fail, or those outside of them."""
        for body, index in self.inside if inside else self.loose:
            body[index : index + 1] = ast.parse(_FAILS).body
        return ast.unparse(ast.fix_missing_locations(self._tree))


def _first(body: list[ast.stmt], lines: Collection[int]) -> tuple[list[ast.stmt], int] | None:
    """Find the first statement of a body that holds a check, those of functions and classes inside it left out."""
    for index, statement in enumerate(body):
        if isinstance(statement, Function | ast.ClassDef):
            continue
        if any(statement.lineno <= line <= (statement.end_lineno or statement.lineno) for line in lines):
            return body, index
    return None
