"""The reach of a guard in Python: lines that run again in a call, and values that are arrays."""

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping

from harness.mutation.operators.ast_operators import Offsets, get_call_name

_COMPUTING = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return
"""Statements that compute a value."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[Function | None, str]
"""Name with the function that it belongs to; attributes begin with a dot and belong to no function."""
Assigned = ast.expr | bool | None
"""Assigned value: an expression, True for any scalar, None if unknown."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCALAR_CALLS = frozenset({"len", "int", "float", "bool", "str", "range", "isinstance", "round", "type", "hasattr"})
_OF_THEIR_ARGUMENTS = frozenset({"min", "max", "divmod"})
_SCALAR_ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
_SCALAR_TYPES = frozenset({"int", "float", "bool", "str", "None"})
_NO_ARRAYS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, *_COMPREHENSIONS)
_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def only_serving(tree: ast.Module, spared: Collection[str], called: Collection[str] = ()) -> set[str]:
    """Return the names of a module that only functions in `spared` use, and these functions.

    Functions in `called` have callers elsewhere.
    """
    defined = {name: statement for statement in tree.body for name in list_definitions(statement)}
    serving = {name for name in defined if name in spared}
    while True:
        outside = [s for s in tree.body if not set(list_definitions(s)) & serving]
        used = set(itertools.chain(called, *(_find_loads(statement) for statement in outside)))
        by_spared = set(itertools.chain(*(_find_loads(defined[name]) for name in serving)))
        more = {name for name in by_spared & set(defined) if name not in used} - serving
        if not more:
            return serving
        serving |= more


def list_definitions(statement: ast.stmt) -> list[str]:
    """Return the function or name that a statement of a module defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [statement.name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _find_loads(statement: ast.stmt) -> Iterator[str]:
    arguments = (node.arg for node in ast.walk(statement) if isinstance(node, ast.arg))
    own = {*list_definitions(statement), *arguments}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield node.id


def find_value(statement: ast.AST, start: int, end: int, offsets: Offsets) -> ast.expr | None:
    """Return the computed value, or the one of several, that a span of a statement is part of; else None."""

    def holds(node: ast.expr) -> bool:
        first, last = offsets.span(node)
        return first <= start and end <= last

    value = statement.value if isinstance(statement, _COMPUTING) else None
    if value is None or not holds(value):
        return None
    while isinstance(value, ast.Tuple | ast.List | ast.Dict):
        parts = value.values if isinstance(value, ast.Dict) else value.elts
        inner = next(filter(holds, parts), None)
        if inner is None:
            break
        value = inner
    return value


class Reach:
    """Properties of the nodes of one module; both answers are possible if the source does not tell."""

    def __init__(self, tree: ast.Module) -> None:
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        self._uses = _uses(tree)
        self._repeating = self._find_repeating_functions()
        self._scalars = self._find_scalar_names(tree)

    def repeats(self, node: ast.AST) -> bool:
        """Return whether a node may run more than once in one call of the contract."""
        return self._is_in_loop(node) or self._find_function(node) in self._repeating

    def array(self, node: ast.expr) -> bool:
        """Return whether an expression may give an array."""
        return not self._is_scalar(node, self._find_function(node))

    def _find_function(self, node: ast.AST) -> Function | None:
        while node in self._parents:
            node = self._parents[node]
            if isinstance(node, Function):
                return node
        return None

    def _is_in_loop(self, node: ast.AST) -> bool:
        while node in self._parents and not isinstance(node, Function):
            inner, node = node, self._parents[node]
            if isinstance(node, ast.Lambda):
                return True
            if isinstance(node, _LOOPS) and inner is not getattr(node, "iter", None) and inner not in node.orelse:
                return True
            if isinstance(node, _COMPREHENSIONS) and inner is not node.generators[0]:
                return True
            if isinstance(node, ast.comprehension) and inner is not node.iter:
                return True
        return False

    def _find_repeating_functions(self) -> set[Function | None]:
        repeating: set[Function | None] = set()
        while True:
            more = {f for f in self._functions if f not in repeating and self._runs_again(f, repeating)}
            if not more:
                return repeating
            repeating |= more

    def _runs_again(self, function: Function, repeating: Collection[Function | None]) -> bool:
        name = function.name
        if name == "__init__" and isinstance(owner := self._parents[function], ast.ClassDef):
            name = owner.name
        elif name.startswith("__"):
            return True
        used = [use for use in self._uses.get(name, ()) if not self._is_argument(use)]
        return len(used) > 1 or any(self._is_in_loop(use) or self._find_function(use) in repeating for use in used)

    def _is_argument(self, node: ast.AST) -> bool:
        function = self._find_function(node)
        while function is not None and isinstance(node, ast.Name):
            if node.id in {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}:
                return True
            function = self._find_function(function)
        return False

    def _find_scalar_names(self, tree: ast.Module) -> dict[Place, bool]:
        found: dict[Place, bool] = {}
        self._scalars = found
        assigned = list(self._iter_assignments(tree))
        for _ in range(4):  # repeat, because names depend on names
            now: dict[Place, bool] = {}
            for key, value, function in assigned:
                scalar = self._is_scalar(value, function) if isinstance(value, ast.expr) else bool(value)
                now[key] = now.get(key, True) and scalar
            if now == found:
                break
            found = self._scalars = now
        return found

    def _iter_assignments(self, tree: ast.Module) -> Iterator[tuple[Place, Assigned, Function | None]]:
        for node in ast.walk(tree):
            function = self._find_function(node)
            match node:
                case ast.Assign():
                    for target in node.targets:
                        for key, value in _pair(target, node.value):
                            yield _make_key(key, function), value, function
                case ast.AugAssign() | ast.AnnAssign() | ast.NamedExpr():
                    yield _make_key(node.target, function), node.value, function
                case ast.For() | ast.AsyncFor() | ast.comprehension():
                    for key, value in _pair(node.target, None):
                        counted = isinstance(node.iter, ast.Call) and get_call_name(node.iter) == "range"
                        yield _make_key(key, function), counted or value, function
                case ast.arg():
                    owner = self._parents[self._parents[node]]
                    if isinstance(owner, Function):
                        yield (owner, node.arg), _is_scalar_annotation(node.annotation), owner
                case ast.withitem(optional_vars=ast.expr() as target):
                    for key, value in _pair(target, None):
                        yield _make_key(key, function), value, function

    def _is_scalar(self, node: ast.expr, function: Function | None) -> bool:
        """Return whether an expression is certainly no array."""
        if isinstance(node, _NO_ARRAYS):
            return True
        match node:
            case ast.Name(id=name):
                return self._is_scalar_name(function, name)
            case ast.Attribute(attr=name):
                return name in _SCALAR_ATTRIBUTES or self._scalars.get((None, f".{name}"), False)
            case ast.Subscript(value=value):
                return isinstance(value, ast.Attribute) and value.attr == "shape"
            case ast.Call():
                return self._is_scalar_call(node, function)
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Compare(ops=ops) if all(isinstance(op, _TESTS) for op in ops):
                return True
            case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return all(self._is_scalar(part, function) for part in parts)
        return False

    def _is_scalar_call(self, call: ast.Call, function: Function | None) -> bool:
        name = get_call_name(call)
        if isinstance(call.func, ast.Attribute):
            return name == "item" or (isinstance(call.func.value, ast.Name) and call.func.value.id == "math")
        if name in _OF_THEIR_ARGUMENTS:
            return len(call.args) > 1 and all(self._is_scalar(argument, function) for argument in call.args)
        own = [f for f in self._functions if f.name == name]
        return name in _SCALAR_CALLS or (bool(own) and all(_is_scalar_annotation(f.returns) for f in own))

    def _is_scalar_name(self, function: Function | None, name: str) -> bool:
        while function is not None:
            if (function, name) in self._scalars:
                return self._scalars[function, name]
            function = self._find_function(function)
        return self._scalars.get((None, name), False)


def _uses(tree: ast.Module) -> Mapping[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
    return found


def _pair(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, Assigned]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for part, own in zip(target.elts, value.elts, strict=True):
            yield from _pair(part, own)
        return
    shape = isinstance(value, ast.Attribute) and value.attr == "shape"
    counted = isinstance(value, ast.Call) and get_call_name(value) == "divmod"
    for part in target.elts:
        yield part, value if counted else shape or None


def _make_key(target: ast.expr, function: Function | None) -> Place:
    match target:
        case ast.Name(id=name):
            return function, name
        case ast.Attribute(attr=name):
            return None, f".{name}"
    return None, "?"


def _is_scalar_annotation(annotation: ast.expr | None) -> bool:
    if annotation is None:
        return False
    named = {part.strip() for part in ast.unparse(annotation).split("|")}
    return named <= _SCALAR_TYPES
