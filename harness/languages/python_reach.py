"""What a guard of a planted fault can meet in Python: lines that run again in a call, values that are arrays."""

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping

from harness.languages.ast_operators import Offsets

_COMPUTING = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return
"""Statements that compute a value."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[Function | None, str]
"""A name and the function it belongs to; attributes begin with a dot and belong to none."""
Assigned = ast.expr | bool | None
"""What a name is given: an expression, True for any scalar, None where that is not known."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCALAR_CALLS = frozenset({"len", "int", "float", "bool", "str", "range", "isinstance", "round", "type", "hasattr"})
_OF_THEIR_ARGUMENTS = frozenset({"min", "max", "divmod"})
_SCALAR_ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype", "itemsize", "nbytes"})
_SCALAR_TYPES = frozenset({"int", "float", "bool", "str", "None"})
_NO_ARRAYS = (
    ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda, *_COMPREHENSIONS,
)  # fmt: skip
_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def only_serving(tree: ast.Module, spared: Collection[str], called: Collection[str] = ()) -> set[str]:
    """The names of a module that nothing outside the functions in `spared` uses; those functions are among them.

    Functions, and names that statements of the module are assigned to. Functions in `called` are used from outside.
    """
    defined = {name: statement for statement in tree.body for name in defined_names(statement)}
    serving = {name for name in defined if name in spared}
    while True:
        outside = [s for s in tree.body if not set(defined_names(s)) & serving]
        used = set(itertools.chain(called, *(_used(statement) for statement in outside)))
        by_spared = set(itertools.chain(*(_used(defined[name]) for name in serving)))
        more = {name for name in by_spared & set(defined) if name not in used} - serving
        if not more:
            return serving
        serving |= more


def defined_names(statement: ast.stmt) -> list[str]:
    """The function, or the name, that a statement of a module defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [statement.name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _used(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement reads; its own and its arguments do not count."""
    arguments = (node.arg for node in ast.walk(statement) if isinstance(node, ast.arg))
    own = {*defined_names(statement), *arguments}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            yield node.id


def computed_value(statement: ast.AST, start: int, end: int, offsets: Offsets) -> ast.expr | None:
    """What a span of a statement is part of: the value that the statement computes, or one of several; else None."""

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
    """Answers for the nodes of one module; where the source does not tell, both are possible."""

    def __init__(self, tree: ast.Module) -> None:
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
        self._uses = _uses(tree)
        self._repeating = self._repeating_functions()
        self._scalars = self._scalar_names(tree)

    def repeats(self, node: ast.AST) -> bool:
        """Whether a node may run more than once while a function of the contract does."""
        return self._looped(node) or self._function(node) in self._repeating

    def array(self, node: ast.expr) -> bool:
        """Whether an expression may give an array."""
        return not self._scalar(node, self._function(node))

    def _function(self, node: ast.AST) -> Function | None:
        while node in self._parents:
            node = self._parents[node]
            if isinstance(node, Function):
                return node
        return None

    def _looped(self, node: ast.AST) -> bool:
        """Whether a loop of its own function is around a node."""
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

    def _repeating_functions(self) -> set[Function | None]:
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
        return len(used) > 1 or any(self._looped(use) or self._function(use) in repeating for use in used)

    def _is_argument(self, node: ast.AST) -> bool:
        """Whether a name is an argument of a function around it."""
        function = self._function(node)
        while function is not None and isinstance(node, ast.Name):
            if node.id in {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}:
                return True
            function = self._function(function)
        return False

    def _scalar_names(self, tree: ast.Module) -> dict[Place, bool]:
        """For each name of a function, and each attribute of any, whether all that it is assigned is scalar."""
        found: dict[Place, bool] = {}
        self._scalars = found
        assigned = list(self._assigned(tree))
        for _ in range(4):  # names that depend on names
            now: dict[Place, bool] = {}
            for key, value, function in assigned:
                scalar = self._scalar(value, function) if isinstance(value, ast.expr) else bool(value)
                now[key] = now.get(key, True) and scalar
            if now == found:
                break
            found = self._scalars = now
        return found

    def _assigned(self, tree: ast.Module) -> Iterator[tuple[Place, Assigned, Function | None]]:
        """What is assigned to what, and in which function."""
        for node in ast.walk(tree):
            function = self._function(node)
            match node:
                case ast.Assign():
                    for target in node.targets:
                        for key, value in _pairs(target, node.value):
                            yield _key(key, function), value, function
                case ast.AugAssign() | ast.AnnAssign() | ast.NamedExpr():
                    yield _key(node.target, function), node.value, function
                case ast.For() | ast.AsyncFor() | ast.comprehension():
                    for key, value in _pairs(node.target, None):
                        counted = isinstance(node.iter, ast.Call) and _called(node.iter) == "range"
                        yield _key(key, function), counted or value, function
                case ast.arg():
                    owner = self._parents[self._parents[node]]
                    if isinstance(owner, Function):
                        yield (owner, node.arg), _annotated(node.annotation), owner
                case ast.withitem(optional_vars=ast.expr() as target):
                    for key, value in _pairs(target, None):
                        yield _key(key, function), value, function

    def _scalar(self, node: ast.expr, function: Function | None) -> bool:
        """Whether an expression surely gives no array."""
        if isinstance(node, _NO_ARRAYS):
            return True
        match node:
            case ast.Name(id=name):
                return self._known(function, name)
            case ast.Attribute(attr=name):
                return name in _SCALAR_ATTRIBUTES or self._scalars.get((None, f".{name}"), False)
            case ast.Subscript(value=value):
                return isinstance(value, ast.Attribute) and value.attr == "shape"
            case ast.Call():
                return self._scalar_call(node, function)
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.Compare(ops=ops) if all(isinstance(op, _TESTS) for op in ops):
                return True
            case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return all(self._scalar(part, function) for part in parts)
        return False

    def _scalar_call(self, call: ast.Call, function: Function | None) -> bool:
        name = _called(call)
        if isinstance(call.func, ast.Attribute):
            return name == "item" or (isinstance(call.func.value, ast.Name) and call.func.value.id == "math")
        if name in _OF_THEIR_ARGUMENTS:
            return len(call.args) > 1 and all(self._scalar(argument, function) for argument in call.args)
        own = [f for f in self._functions if f.name == name]
        return name in _SCALAR_CALLS or (bool(own) and all(_annotated(f.returns) for f in own))

    def _known(self, function: Function | None, name: str) -> bool:
        while function is not None:
            if (function, name) in self._scalars:
                return self._scalars[function, name]
            function = self._function(function)
        return self._scalars.get((None, name), False)


def _uses(tree: ast.Module) -> Mapping[str, list[ast.AST]]:
    """Where each name, or attribute of that name, is read."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
    return found


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, Assigned]]:
    """Each name or attribute of a target with what it gets."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for part, own in zip(target.elts, value.elts, strict=True):
            yield from _pairs(part, own)
        return
    shape = isinstance(value, ast.Attribute) and value.attr == "shape"
    counted = isinstance(value, ast.Call) and _called(value) == "divmod"
    for part in target.elts:
        yield part, value if counted else shape or None


def _key(target: ast.expr, function: Function | None) -> Place:
    match target:
        case ast.Name(id=name):
            return function, name
        case ast.Attribute(attr=name):
            return None, f".{name}"
    return None, "?"


def _annotated(annotation: ast.expr | None) -> bool:
    """Whether an annotation allows no array."""
    if annotation is None:
        return False
    named = {part.strip() for part in ast.unparse(annotation).split("|")}
    return named <= _SCALAR_TYPES
