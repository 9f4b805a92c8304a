"""Integers in Python source: literals, and what constant expressions of them and of constant names come to."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping

LARGEST = 2**40
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift, ast.Pow: operator.pow,
}  # fmt: skip


def python_literals(text: str) -> Iterator[int]:
    """Values of all constant integer expressions, those of names that are assigned once included.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
    """
    tree = ast.parse(text)
    names = _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.BinOp):
            value = _value(node, names)
            if value is not None:
                yield value


def _constants(tree: ast.Module) -> Mapping[str, int]:
    """Names that one statement assigns a constant integer to, and no other statement anything."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            assigned.setdefault(node.target.id, []).append(node.value)
    names: dict[str, int] = {}
    for name, values in assigned.items():
        value = _value(values[0], names) if len(values) == 1 else None
        if value is not None:
            names[name] = value
    return names


def _value(node: ast.expr, names: Mapping[str, int]) -> int | None:
    """What an expression comes to; None where it is no constant integer, or a very large one."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and abs(node.value) <= LARGEST else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
        return None
    left, right = _value(node.left, names), _value(node.right, names)
    if left is None or right is None or (isinstance(node.op, ast.LShift | ast.Pow) and not 0 <= right <= 40):
        return None
    if isinstance(node.op, ast.FloorDiv) and right == 0:
        return None
    value = _OPERATORS[type(node.op)](left, right)
    return value if abs(value) <= LARGEST else None
