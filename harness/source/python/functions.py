"""The functions of a Python file: their lines and complexity."""

import ast
from collections.abc import Iterator

from harness.source.syntax import FunctionSpan

Function = ast.FunctionDef | ast.AsyncFunctionDef

_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)


def python_functions(tree: ast.Module) -> Iterator[FunctionSpan]:
    """Yield all functions and methods in order of lines, including nested ones.

    A function begins at its first decorator. Its cyclomatic complexity (McCabe, 1976) is 1 plus one per branch, loop,
    handler, case, `and`, `or`, and loop or condition of a comprehension. Nested functions count on their own.
    """
    found = [node for node in ast.walk(tree) if isinstance(node, Function)]
    for node in sorted(found, key=lambda node: node.lineno):
        first = min((node.lineno, *(decorator.lineno for decorator in node.decorator_list)))
        complexity = 1 + sum(map(_count_branches, _iter_own_nodes(node)))
        yield FunctionSpan(node.name, node.lineno, first, node.end_lineno or node.lineno, complexity)


def _count_branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    return 1 + len(node.ifs) if isinstance(node, ast.comprehension) else isinstance(node, _BRANCHES)


def _iter_own_nodes(function: Function) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Function):
            yield node
            waiting.extend(ast.iter_child_nodes(node))
