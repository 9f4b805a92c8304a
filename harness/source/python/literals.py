"""Integers in Python source: literals, and constant expressions of them and of constant names."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

LARGEST = 2**40
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}


def python_literals(text: str) -> Iterator[int]:
    """Yield the values of all constant integer expressions, including those of names assigned once.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
    """
    tree = ast.parse(text)
    names = _find_constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.BinOp):
            value = _evaluate(node, names)
            if value is not None:
                yield value


def _find_constants(tree: ast.Module) -> Mapping[str, int]:
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            assigned.setdefault(node.target.id, []).append(node.value)
    names: dict[str, int] = {}
    for name, values in assigned.items():
        value = _evaluate(values[0], names) if len(values) == 1 else None
        if value is not None:
            names[name] = value
    return names


def _evaluate(node: ast.expr, names: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and abs(node.value) <= LARGEST else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    left, right = _evaluate(node.left, names), _evaluate(node.right, names)
    if left is None or right is None or (isinstance(node.op, ast.LShift | ast.Pow) and not 0 <= right <= 40):
        return None
    if isinstance(node.op, ast.FloorDiv) and right == 0:
        return None
    value = _OPERATORS[type(node.op)](left, right)
    return value if abs(value) <= LARGEST else None
