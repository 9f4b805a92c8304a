"""Control copies of a submission on which its own tests must fail.

A hook, a plugin or a changed runner can make a suite end well whatever happens in it.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from harness.quality.assertions import Function
from harness.quality.sources import SourceFile

Changed = tuple[tuple[str, str], ...]
"""Path and text of a copy's changed files."""

_FAILS = "raise AssertionError('a control: this must fail')"
_WITHOUT_LINES = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
"""Statements that run without a trace event."""


def with_failing_checks(files: Sequence[SourceFile], checks: Collection[tuple[str, int]]) -> Changed:
    """Return a copy with a failure in place of each function's first check that can fail.

    A module-level check fails only if functions have none, as a failure during collection would run no test.
    """
    copies = [_Checks({line for path, line in checks if path == file.path}, file) for file in files if file.tree]
    inside = any(copy.inside for copy in copies)
    return tuple((copy.path, copy.text(inside)) for copy in copies if (copy.inside if inside else copy.loose))


def with_failing_code(files: Sequence[SourceFile], entries: Collection[str]) -> Changed:
    """Return a copy in which every function fails, except pytest hooks."""
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
    """Return a copy that fails in functions outside `executed`; it must behave like the submission."""
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
    failing = 0
    for index, statement in enumerate(body):
        if not lines.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)):
            failing += sum(_fail_elsewhere(inner, lines) for inner in _find_bodies(statement))
        elif not isinstance(statement, _WITHOUT_LINES) and not _is_bare(statement):
            body[index : index + 1] = ast.parse(_FAILS).body
            failing += 1
    return failing


def _find_bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ExceptHandler | ast.match_case):
            yield child.body
    for name in ("body", "orelse", "finalbody"):
        if body := getattr(node, name, None):
            yield body


def _is_bare(statement: ast.stmt) -> bool:
    bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return bare or (isinstance(statement, ast.AnnAssign) and statement.value is None)


class _Checks:
    def __init__(self, lines: Collection[int], file: SourceFile) -> None:
        self.path = file.path
        self._tree = ast.parse(file.text)
        functions = [node for node in ast.walk(self._tree) if isinstance(node, Function)]
        self.inside = [place for each in functions if (place := _find_first_check(each.body, lines))]
        self.loose = [place] if (place := _find_first_check(self._tree.body, lines)) else []

    def text(self, inside: bool) -> str:
        for body, index in self.inside if inside else self.loose:
            body[index : index + 1] = ast.parse(_FAILS).body
        return ast.unparse(ast.fix_missing_locations(self._tree))


def _find_first_check(body: list[ast.stmt], lines: Collection[int]) -> tuple[list[ast.stmt], int] | None:
    for index, statement in enumerate(body):
        if isinstance(statement, Function | ast.ClassDef):
            continue
        if any(statement.lineno <= line <= (statement.end_lineno or statement.lineno) for line in lines):
            return body, index
    return None
