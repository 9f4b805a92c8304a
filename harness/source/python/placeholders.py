"""Detection of Python functions with a placeholder body, by syntax alone."""

import ast
import itertools
from collections.abc import Iterator, Sequence

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_BELOW = 3
"""Lines below a function in which a comment belongs to its end."""


def is_placeholder(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> bool:
    """Return whether a function is still to be written.

    One kind returns nothing and ends by raising NotImplementedError. The other changes nothing and returns nothing; if
    it calls something, `pass` or a comment at its end must stand for the rest. A function annotated to return None,
    without a comment, may have nothing to do. One that returns a constant is written: it may be wrong, as any other.
    `lines` are those of the whole source.
    """
    inner = list(_iter_inner(node))
    returned = [each for each in inner if isinstance(each, ast.Return) and not _is_none(each.value)]
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in inner):
        return False
    if _raises_not_implemented(node.body[-1]):
        return not returned
    if returned or any(map(_has_effect, inner)):
        return False
    if isinstance(node.returns, ast.Constant) and node.returns.value is None and not _has_comment(node, lines):
        return False
    raised = {id(each.exc) for each in inner if isinstance(each, ast.Raise)}  # exceptions of guards are no calls
    calls = any(isinstance(each, ast.Call) and id(each) not in raised for each in inner)
    return not calls or _ends_in_pass(node.body[-1]) or _ends_in_comment(node, lines)


def _iter_inner(node: ast.AST) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [*getattr(node, "body", ())]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, _FUNCTION | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(each)


def _raises_not_implemented(node: ast.stmt) -> bool:
    match node:
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def _has_effect(node: ast.AST) -> bool:
    """Return whether a statement may change what outlives the call."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr() | ast.AugAssign() | ast.Global() | ast.Nonlocal() | ast.NamedExpr() | ast.Await():
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
    return False


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _ends_in_pass(node: ast.stmt) -> bool:
    match node:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant(value=value)):
            return value is ...
        case ast.For(body=body) | ast.AsyncFor(body=body) | ast.While(body=body) | ast.With(body=body):
            return _ends_in_pass(body[-1])
        case ast.If(body=body, orelse=other):
            return _ends_in_pass((other or body)[-1])
    return False


def _has_comment(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> bool:
    within = lines[node.lineno : node.end_lineno]
    return any(line.lstrip().startswith("#") for line in within) or _ends_in_comment(node, lines)


def _ends_in_comment(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> bool:
    last, end = node.body[-1], node.end_lineno or node.lineno
    if isinstance(last, ast.Return) and lines[last.lineno - 2].lstrip().startswith("#"):
        return True
    below = next((line for line in itertools.islice(lines, end, end + _BELOW) if line.strip()), "")
    return below.lstrip().startswith("#") and len(below) - len(below.lstrip()) > node.col_offset
