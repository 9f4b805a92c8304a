"""Static count of the checks in a submission's tests that can fail.

A check is an `assert`, a call of an assert function, `raises` and its kin, a conditional `raise`, or an exit with a
nonzero status. It does not count if its condition always holds (`vacuous`), a `try` swallows its failure, it is
unreachable, or its test is skipped or expected to fail.

In test files every function counts. In another file that the test command names, module-level code counts, and so do
functions named like a check or called as statements when the file runs. In the latter, and in functions that the
contract uses, a `raise` does not count, as it may just reject arguments.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from harness.mutation.operators.ast_operators import get_call_name
from harness.quality.sources import SourceFile
from harness.quality.vacuous_assertions import always_true, list_exception_types, vacuous_call

Function = ast.FunctionDef | ast.AsyncFunctionDef

_ASSERTING = re.compile(r"assert_\w*|assert[A-Z]\w*|fail|raises|warns|deprecated_call")
_CHECK_NAME = re.compile(r"_*(test|check|verify|validate|assert|main|demo|run)", re.IGNORECASE)
_CATCH_ALL = frozenset({"Exception", "BaseException", "AssertionError"})
_EXITS = frozenset({"exit", "_exit", "SystemExit"})
_OFF = frozenset({"skip", "xfail", "expectedFailure"})


@dataclass(frozen=True)
class SuiteFlaw:
    """A weak place in the tests, with the reason."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.reason}"


@dataclass(frozen=True)
class AssertionReport:
    """Checks of a suite.

    Attributes:
        real: number of checks that can fail.
        unchecked: test functions without a real check, in themselves or in functions they call.
        places: path and line of each real check.
    """

    real: int
    vacuous: tuple[SuiteFlaw, ...]
    tests: int
    unchecked: tuple[SuiteFlaw, ...]
    places: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class _Check:
    line: int
    vacuous: str | None


@dataclass(frozen=True)
class _Unit:
    """A function of the tests; module-level code if `name` is empty."""

    path: str
    line: int
    name: str
    checks: tuple[_Check, ...]
    calls: frozenset[str]
    off: str | None

    @property
    def is_test(self) -> bool:
        return self.name.startswith("test")

    @property
    def real(self) -> int:
        return sum(check.vacuous is None for check in self.checks)


def count_assertions(
    files: Iterable[SourceFile], command: Sequence[str] = (), served: Collection[tuple[str, int]] = ()
) -> AssertionReport:
    """Count the checks in the tests among `files`, and in those that the test command names."""
    units = [unit for file in files if file.tree for unit in _find_units(file, file.tree, command, served)]
    checked = {unit.name for unit in units if unit.real and unit.name}
    while more := {unit.name for unit in units if unit.name and unit.calls & checked} - checked:
        checked |= more
    tests = [unit for unit in units if unit.is_test]
    return AssertionReport(
        real=sum(unit.real for unit in units),
        vacuous=tuple(SuiteFlaw(unit.path, c.line, c.vacuous) for unit in units for c in unit.checks if c.vacuous),
        tests=len(tests),
        unchecked=tuple(
            SuiteFlaw(t.path, t.line, f"{t.name} {_describe_flaw(t)}") for t in tests if t.name not in checked
        ),
        places=tuple((unit.path, check.line) for unit in units for check in unit.checks if check.vacuous is None),
    )


def _describe_flaw(test: _Unit) -> str:
    if test.checks:
        return "asserts nothing that can be false"
    return "asserts nothing itself: only an exception fails it" if test.off is None else "is switched off"


def _find_units(
    file: SourceFile, tree: ast.Module, command: Sequence[str], served: Collection[tuple[str, int]]
) -> Iterator[_Unit]:
    named = any(PurePosixPath(word.partition("::")[0]).name == PurePosixPath(file.path).name for word in command)
    if not (file.test or named):
        return
    functions = list(_find_functions(tree.body))
    loose = [statement for statement in tree.body if not isinstance(statement, Function | ast.ClassDef)]
    yield _make_unit(file.path, "", 1, loose, None, functions)
    run = _find_run_by(loose, functions)
    for function in functions:
        named_check = _CHECK_NAME.match(function.name)
        if not (file.test or named_check or function.name in run):
            continue
        whole = _make_unit(file.path, function.name, function.lineno, function.body, _explain_skip(function), functions)
        if file.test or (named_check and (file.path, function.lineno) not in served):
            yield whole
        else:
            refused = {node.lineno for node in ast.walk(function) if isinstance(node, ast.Raise)}
            yield replace(whole, checks=tuple(check for check in whole.checks if check.line not in refused))


def _find_run_by(loose: Sequence[ast.stmt], functions: Sequence[Function]) -> frozenset[str]:
    """Return functions that module-level code calls as statements, directly or not."""
    bodies = {function.name: function.body for function in functions}
    found, new = frozenset[str](), _find_statement_calls(loose) & bodies.keys()
    while new:
        found |= new
        new = frozenset().union(*(_find_statement_calls(bodies[name]) for name in new)) & bodies.keys() - found
    return found


def _find_statement_calls(body: Sequence[ast.stmt]) -> frozenset[str]:
    statements = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Expr))
    return frozenset(get_call_name(node.value) for node in statements if isinstance(node.value, ast.Call))


def _make_unit(
    path: str, name: str, line: int, body: Sequence[ast.stmt], off: str | None, functions: Sequence[Function]
) -> _Unit:
    checks = tuple(_Check(c.line, off or c.vacuous) for c in _find_checks(body, None, functions))
    nodes = (node for statement in body for node in ast.walk(statement))
    calls = frozenset(get_call_name(node) for node in nodes if isinstance(node, ast.Call))
    return _Unit(path, line, name, checks, calls, off)


def _find_functions(body: Iterable[ast.stmt]) -> Iterator[Function]:
    for statement in body:
        if isinstance(statement, Function):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _find_functions(statement.body)


def _explain_skip(function: Function) -> str | None:
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        if (name := _get_last_name(node)) in _OFF:
            return f"is in a test marked {name}"
    return None


def _find_checks(
    body: Iterable[ast.stmt], dead: str | None, functions: Sequence[Function], conditional: bool = False
) -> Iterator[_Check]:
    """Yield checks in `body` and nested blocks; `dead` is the reason why they do not count."""
    used: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.Assert) and _get_what_is_not_none(statement.test) in used:
            yield _Check(statement.lineno, "asserts that a thing used just before is not None")
        elif conditional or not isinstance(statement, ast.Raise):
            yield from _find_own_checks(statement, dead, functions)
        used = used | _list_used(statement) if isinstance(statement, ast.Expr) else set()
        for block, why in _find_blocks(statement):
            yield from _find_checks(block, dead or why, functions, conditional=True)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            dead = dead or "is never reached"


def _get_what_is_not_none(test: ast.expr) -> str | None:
    match test:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return ast.dump(left)
    return None


def _list_used(statement: ast.Expr) -> set[str]:
    """Return what has an attribute, which None has not, or an entry taken of it."""
    return {ast.dump(n.value) for n in ast.walk(statement) if isinstance(n, ast.Attribute | ast.Subscript)}


def _find_own_checks(statement: ast.stmt, dead: str | None, functions: Sequence[Function]) -> Iterator[_Check]:
    if isinstance(statement, ast.Assert):
        yield _Check(statement.lineno, dead or always_true(statement.test))
        return
    if isinstance(statement, ast.Raise):
        if statement.exc is not None and not _is_harmless_exit(statement.exc, functions):
            yield _Check(statement.lineno, dead)
        return
    for call in _calls(statement):
        name = get_call_name(call)
        if _ASSERTING.fullmatch(name):
            yield _Check(call.lineno, dead or vacuous_call(call))
        elif name in _EXITS and not _is_harmless_exit(call, functions):
            yield _Check(call.lineno, dead)


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    for value in ast.iter_child_nodes(statement):
        roots = (
            [value.context_expr] if isinstance(value, ast.withitem) else [value] if isinstance(value, ast.expr) else []
        )
        for root in roots:
            yield from (node for node in ast.walk(root) if isinstance(node, ast.Call))


def _find_blocks(statement: ast.stmt) -> Iterator[tuple[Sequence[ast.stmt], str | None]]:
    match statement:
        case ast.If(test=ast.Constant(value=value)):
            yield statement.body, None if value else "is never reached"
            yield statement.orelse, "is never reached" if value else None
        case ast.While(test=ast.Constant(value=value)) if not value:
            yield statement.body, "is never reached"
        case ast.Try() | ast.TryStar():
            swallowed = any(map(_swallows, statement.handlers))
            yield statement.body, "is inside a try that swallows its failure" if swallowed else None
            for handler in statement.handlers:
                yield handler.body, None
            yield statement.orelse, None
            yield statement.finalbody, None
        case ast.With() | ast.AsyncWith():
            suppressed = any(_suppresses(item.context_expr) for item in statement.items)
            yield statement.body, "is inside a suppress() that swallows its failure" if suppressed else None
        case ast.Match():
            for case in statement.cases:
                yield case.body, None
        case _:
            for field in ("body", "orelse"):
                if block := getattr(statement, field, None):
                    yield block, None


def _swallows(handler: ast.ExceptHandler) -> bool:
    if not any(kind is None or _get_last_name(kind) in _CATCH_ALL for kind in list_exception_types(handler.type)):
        return False
    traces = (ast.Raise, ast.Assert, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
    for statement in handler.body:
        for node in ast.walk(statement):
            if isinstance(node, traces):
                return False
            # `failures.append(...)` keeps a trace, `print(...)` does not
            if isinstance(node, ast.Call) and (
                get_call_name(node) in _EXITS | {"append", "add"} or _ASSERTING.fullmatch(get_call_name(node))
            ):
                return False
    return True


def _suppresses(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.Call)
        and get_call_name(expression) == "suppress"
        and any(_get_last_name(kind) in _CATCH_ALL for kind in expression.args)
    )


def _get_last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_harmless_exit(node: ast.expr, functions: Sequence[Function]) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Name) and node.id == "SystemExit"
    if get_call_name(node) not in _EXITS:
        return False
    if not node.args:
        return True
    status = node.args[0]
    if isinstance(status, ast.Constant):
        return not status.value
    if isinstance(status, ast.Call):
        return any(function.name == get_call_name(status) and not _returns_a_status(function) for function in functions)
    return False


def _returns_a_status(function: Function) -> bool:
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    return any(not isinstance(value, ast.Constant) or value.value for value in values)
