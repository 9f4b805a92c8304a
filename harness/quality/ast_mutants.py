"""Small faults planted in the code a suite exercises: does the suite notice?

A mutant replaces one span of one file by the changed expression; the rest of the text stays as it is. Planted:

* arithmetic: `+` with `-`, `*` with `/`, `//` by `/`, `%` by `*`, `**` by `*`, also in `+=` and its kin;
* an operand dropped: `a + b`, `a * b`, `a / b` to `a`; `-a` and `not a` to `a`;
* a comparison turned round, a bound moved in or out by one (`<` and `<=`), `and` with `or`;
* a number changed: integers by one, others doubled, zero to one; True with False;
* a slice bound moved by one; two neighbouring returned values swapped.

Never planted: outside executed lines, in tests and `__main__` blocks, in functions and files that check, show or time
the code (`CHECKERS`), in docstrings, strings, annotations, `raise` and `assert`, in calls that print or log.
"""

import ast
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from harness.quality.sources import SourceFile
from harness.quality.vacuous_assertions import called_name

CHECKERS = re.compile(
    r"_*(test|check|verify|validate|demo|bench|main$|example|plot|print|show|report|numeric|finite_diff|grad_?check"
    r"|gradient_check|run_)",
    re.IGNORECASE,
)
"""Names of functions and files that say little about the kernel: a suite is not asked to notice a fault in them."""

_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_DROPPED = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_LEFT_ALONE = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.Pass)
_SILENT_CALLS = re.compile(r"print|debug|info|warning|warn|error|log|format")


_NOTHING = "__name__ or not (1 + 2 - 3 * 4 / 5 // 6 % 7) < 8.0 <= True"
"""A statement that does nothing: a module's name is never empty."""
_Body = TypeVar("_Body", ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class SourceMutant:
    """One planted fault.

    Attributes:
        path: file it is in.
        line: from 1.
        before: the expression as it was.
        after: what it becomes.
        start: first character of the span in the file's text.
        end: first character after it.
        text: what stands there instead.
    """

    path: str
    line: int
    before: str
    after: str
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} `{self.before}` -> `{self.after}`"

    def planted(self, text: str) -> str:
        """The text of the file with this fault in it."""
        return text[: self.start] + self.text + text[self.end :]


Site = tuple[ast.expr | ast.AugAssign, ast.stmt]
"""What may be changed, and the statement it stands in."""


def plan_mutants(
    files: Sequence[SourceFile], executed: Mapping[str, AbstractSet[int]], seed: int
) -> list[SourceMutant]:
    """Every mutant of the executed lines of `files`, in an order drawn from `seed`.

    Args:
        files: source files; tests among them are passed over.
        executed: by path, the lines the suite executes.
        seed: of the order, so that a list cut short is a fair sample.
    """
    mutants = [
        mutant
        for file in files
        if not file.test
        for mutant, statement in _in_file(file)
        if not executed.get(file.path, frozenset()).isdisjoint((mutant.line, statement.lineno))
    ]
    random.Random(seed).shuffle(mutants)
    return mutants


def equivalent(file: SourceFile) -> str:
    """The text of `file` written differently: it does the same, but its layout, operators and bytecode are others.

    A suite that fails on it judges the text, not what the code does.
    """
    try:
        text = ast.unparse(_Padding().visit(ast.parse(file.text)))
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{file.text}\n# the same code\n"
    return text


class _Padding(ast.NodeTransformer):
    """Puts a statement that does nothing into the module and into every function."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        return self._padded(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._padded(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._padded(node)

    def _padded(self, node: _Body) -> _Body:
        self.generic_visit(node)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        while first < len(node.body) and isinstance(node.body[first], ast.ImportFrom):
            first += 1  # what is imported from __future__ stays in front
        node.body.insert(first, ast.parse(_NOTHING).body[0])
        return node


def mutable_lines(file: SourceFile) -> frozenset[int]:
    """Lines of `file` on which a mutant can be planted when they are executed."""
    return frozenset(statement.lineno for _, statement in _in_file(file))


def _in_file(file: SourceFile) -> list[tuple[SourceMutant, ast.stmt]]:
    if file.tree is None or CHECKERS.match(PurePosixPath(file.path).stem) or not _utf8(file.text):
        return []
    try:
        return list(_planted(file, file.tree))
    except RecursionError:
        return []


def _utf8(text: str) -> bool:
    """Whether the text may be written back as UTF-8: no other encoding is declared."""
    head = "\n".join(text.split("\n", 2)[:2])
    declared = re.search(r"coding[:=]\s*([-\w.]+)", head)
    return text.isascii() or declared is None or declared[1].lower().replace("_", "-") in ("utf-8", "utf8")


def _planted(file: SourceFile, tree: ast.Module) -> Iterator[tuple[SourceMutant, ast.stmt]]:
    lines = file.text.split("\n")
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

    def offset(line: int, column: int) -> int:
        # columns of the tree count bytes of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for site, statement in _sites(tree.body):
        start = offset(site.lineno, site.col_offset)
        end = offset(site.end_lineno or site.lineno, site.end_col_offset or site.col_offset)
        before = ast.unparse(site)
        for changed in _changes(site, statement):
            after = ast.unparse(changed)
            text = after if isinstance(changed, ast.stmt | ast.Slice) else f"({after})"
            yield SourceMutant(file.path, site.lineno, *_brief(before, after), start, end, text), statement


def _brief(before: str, after: str) -> tuple[str, str]:
    """Both texts without the long parts they share at either end."""
    if max(len(before), len(after)) <= 60:
        return before, after
    head = max(0, _shared(before, after) - 12)
    tail = max(0, _shared(before[head:][::-1], after[head:][::-1]) - 12)

    def cut(text: str) -> str:
        return f"{'...' * (head > 0)}{text[head : len(text) - tail][:80]}{'...' * (tail > 0)}"

    return cut(before), cut(after)


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _sites(body: Iterable[ast.stmt]) -> Iterator[Site]:
    """Everything in `body` that may be changed, outermost first."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if not CHECKERS.match(statement.name):
                defaults = [*statement.args.defaults, *(value for value in statement.args.kw_defaults if value)]
                yield from ((site, statement) for value in defaults for site in _within(value))
                yield from _sites(statement.body)
        elif isinstance(statement, ast.ClassDef):
            yield from _sites(statement.body)
        elif not isinstance(statement, _LEFT_ALONE) and not _is_main_block(statement):
            yield from _in_statement(statement)


def _in_statement(statement: ast.stmt) -> Iterator[Site]:
    if isinstance(statement, ast.AugAssign):
        yield statement, statement
    for name, value in ast.iter_fields(statement):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.withitem):
                child = child.context_expr
            if isinstance(child, ast.expr) and name != "annotation":
                yield from ((site, statement) for site in _within(child))
            elif isinstance(child, ast.stmt):
                yield from _sites([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _sites(child.body)


def _within(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, ast.JoinedStr):
        return
    if isinstance(expression, ast.Call) and _SILENT_CALLS.fullmatch(called_name(expression)):
        return
    yield expression
    for child in ast.iter_child_nodes(expression):
        if isinstance(child, ast.expr):
            yield from _within(child)
        elif isinstance(child, ast.keyword):
            yield from _within(child.value)
        elif isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _within(part)


def _is_main_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)


def _changes(site: ast.expr | ast.AugAssign, statement: ast.stmt) -> Iterator[ast.expr | ast.AugAssign]:
    """What `site` is replaced by, one after the other."""
    match site:
        case ast.AugAssign() if swapped := _ARITHMETIC.get(type(site.op)):
            yield ast.AugAssign(site.target, swapped(), site.value)
        case ast.BinOp() if not _on_text(site):
            yield from _arithmetic(site)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield site.operand
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(site.op, ast.And) else ast.And(), site.values)
        case ast.Compare():
            for index, op in enumerate(site.ops):
                for other in _COMPARISONS[type(op)]:
                    yield ast.Compare(site.left, [*site.ops[:index], other(), *site.ops[index + 1 :]], site.comparators)
        case ast.Constant():
            yield from _other_constants(site.value)
        case ast.Slice():
            yield from _moved_bounds(site)
        case ast.Tuple() if isinstance(statement, ast.Return) and statement.value is site:
            for index in range(len(site.elts) - 1):
                first, second = site.elts[index : index + 2]
                yield ast.Tuple([*site.elts[:index], second, first, *site.elts[index + 2 :]], ast.Load())


def _arithmetic(site: ast.BinOp) -> Iterator[ast.expr]:
    if swapped := _ARITHMETIC.get(type(site.op)):
        yield ast.BinOp(site.left, swapped(), site.right)
    if isinstance(site.op, _DROPPED):
        yield site.left
    if isinstance(site.op, ast.Add | ast.Mult) and ast.dump(site.left) != ast.dump(site.right):
        yield site.right


def _on_text(site: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in (site.left, site.right)
    )


def _other_constants(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int) and value < 1 << 62:
        yield ast.Constant(value + 1)
    elif isinstance(value, float) and math.isfinite(2 * value):
        yield ast.Constant(2 * value if value else 1.0)


def _moved_bounds(site: ast.Slice) -> Iterator[ast.Slice]:
    """Bounds that are no plain number, which is changed as such, moved by one."""
    for bound in (site.lower, site.upper):
        number = bound.operand if isinstance(bound, ast.UnaryOp) else bound
        if bound is not None and not isinstance(number, ast.Constant):
            moved = ast.BinOp(bound, ast.Sub(), ast.Constant(1))
            lower, upper = (moved if part is bound else part for part in (site.lower, site.upper))
            yield ast.Slice(lower, upper, site.step)
