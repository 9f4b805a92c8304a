"""Mutation operators on Python's syntax tree, for the expressions of statements that compute something."""

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_AS_ONE_MORE = {(ast.Lt, ast.LtE), (ast.GtE, ast.Gt)}
_DROPPED = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_LEFT_ALONE = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.Pass)
_SILENT_CALLS = re.compile(r"print|debug|info|warning|warn|error|log|format")

Site = tuple[ast.expr | ast.AugAssign, ast.stmt]
"""Node to change, and the statement that holds it."""


class Offsets:
    """Character offsets of the nodes of a tree in its text."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = list(itertools.accumulate((len(line) + 1 for line in self._lines), initial=0))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the offset of a node's first character, and that behind its last."""
        end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._compute_offset(node.lineno, node.col_offset), self._compute_offset(*end)

    def _compute_offset(self, line: int, column: int) -> int:
        # columns of the tree count bytes of UTF-8
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def get_call_name(call: ast.Call) -> str:
    """Return the last part of the called name, empty without one."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def sites(body: Iterable[ast.stmt], spared: Callable[[str], object]) -> Iterator[Site]:
    """Yield everything in `body` that may be changed, outermost first, except in functions that are `spared`."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if not spared(statement.name):
                defaults = [*statement.args.defaults, *(value for value in statement.args.kw_defaults if value)]
                yield from ((site, statement) for value in defaults for site in _find_within(value))
                yield from sites(statement.body, spared)
        elif isinstance(statement, ast.ClassDef):
            yield from sites(statement.body, spared)
        elif not isinstance(statement, _LEFT_ALONE) and not _is_main_block(statement):
            yield from _find_in_statement(statement, spared)


def _find_in_statement(statement: ast.stmt, spared: Callable[[str], object]) -> Iterator[Site]:
    if isinstance(statement, ast.AugAssign):
        yield statement, statement
    for name, value in ast.iter_fields(statement):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.withitem):
                child = child.context_expr
            if isinstance(child, ast.expr) and name != "annotation":
                yield from ((site, statement) for site in _find_within(child))
            elif isinstance(child, ast.stmt):
                yield from sites([child], spared)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from sites(child.body, spared)


def _find_within(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.JoinedStr):
        return
    if isinstance(expression, ast.Call) and _SILENT_CALLS.fullmatch(get_call_name(expression)):
        return
    yield expression
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from _find_within(child)
        elif isinstance(child, ast.keyword):
            yield from _find_within(child.value)
        elif isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _find_within(part)


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)


def replacements(site: ast.expr | ast.AugAssign, statement: ast.stmt) -> Iterator[ast.expr | ast.AugAssign]:
    """Yield a site's replacements."""
    match site:
        case ast.AugAssign() if swapped := _ARITHMETIC.get(type(site.op)):
            yield ast.AugAssign(site.target, swapped(), site.value)
        case ast.BinOp() if not _is_on_text(site):
            yield from _change_arithmetic(site)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield site.operand
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(site.op, ast.And) else ast.And(), site.values)
        case ast.Compare():
            yield from _change_comparisons(site)
        case ast.Constant():
            yield from _change_constant(site.value)
        case ast.Slice():
            yield from _move_bounds(site)
        case ast.Tuple() if isinstance(statement, ast.Return) and statement.value is site:
            for index in range(len(site.elts) - 1):
                first, second = site.elts[index : index + 2]
                yield ast.Tuple([*site.elts[:index], second, first, *site.elts[index + 2 :]], ast.Load())


def _change_comparisons(site: ast.Compare) -> Iterator[ast.Compare]:
    for index, op in enumerate(site.ops):
        for other in _COMPARISONS[type(op)]:
            if (type(op), other) in _AS_ONE_MORE and _is_integer(site.comparators[index]):
                continue  # equal to the planted fault of a number larger by one
            yield ast.Compare(site.left, [*site.ops[:index], other(), *site.ops[index + 1 :]], site.comparators)


def _change_arithmetic(site: ast.BinOp) -> Iterator[ast.expr]:
    if swapped := _ARITHMETIC.get(type(site.op)):
        yield ast.BinOp(site.left, swapped(), site.right)
    if isinstance(site.op, _DROPPED):
        yield site.left
    if isinstance(site.op, ast.Add | ast.Mult) and ast.dump(site.left) != ast.dump(site.right):
        yield site.right


def _is_on_text(site: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (site.left, site.right)
    )


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _change_constant(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int) and value < 1 << 62:
        yield ast.Constant(value + 1)
    elif isinstance(value, float) and math.isfinite(2 * value):
        yield ast.Constant(2 * value if value else 1.0)


def _move_bounds(site: ast.Slice) -> Iterator[ast.Slice]:
    """Yield slices with one bound moved by one, if it is not a plain number, which other operators change."""
    for bound in (site.lower, site.upper):
        number = bound.operand if isinstance(bound, ast.UnaryOp) else bound
        if bound is not None and not isinstance(number, ast.Constant):
            moved = ast.BinOp(bound, ast.Sub(), ast.Constant(1))
            lower, upper = (moved if part is bound else part for part in (site.lower, site.upper))
            yield ast.Slice(lower, upper, site.step)
