"""Mutation operators for Python."""

import ast
from collections.abc import Collection, Iterator, Mapping

from harness.mutation.operators.ast_operators import Offsets, get_call_name, replacements, sites
from harness.mutation.operators.changes import SourceChange
from harness.mutation.operators.python_reach import Reach, find_value, list_definitions, only_serving

_OTHER_FUNCTION: Mapping[str, str] = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "fmin": "fmax",
    "fmax": "fmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "rint": "floor",
    "zeros": "ones",
    "zeros_like": "ones_like",
    "cumsum": "cumprod",
    "sum": "max",
    "mean": "sum",
    "abs": "positive",
    "tril": "triu",
    "triu": "tril",
    "append": "insert",
}
_NARROWER: Mapping[str, str] = {"longdouble": "float64", "float64": "float32", "float32": "float16"}
_SUMS = frozenset({"sum", "mean", "einsum", "dot", "matmul", "cumsum", "vdot", "inner"})
_AXES = frozenset({"axis", "axes"})
Change = tuple[str, str]
"""Operator, and the text that replaces an expression."""


def python_changes(source: str, spared: Collection[str], called: Collection[str] = ()) -> list[SourceChange]:
    """Return all changes of a source in text order.

    Functions in `spared` stay unchanged, with everything that only they use (except `called`), and so do statements
    that call one and ignore its result, as checks of arguments do.
    """
    tree = ast.parse(source)
    offsets, reach = Offsets(source), Reach(tree)
    spared = {*spared, *only_serving(tree, spared, called)}
    inside = _collect_statements(tree)
    found: dict[tuple[int, int, str], SourceChange] = {}

    def keep(operator: str, node: ast.expr | ast.stmt, text: str, statement: ast.stmt) -> None:
        start, end = offsets.span(node)
        whole, guardable = isinstance(node, ast.stmt), statement in inside
        if (whole and not _is_alone(source, start, end)) or text == source[start:end]:
            return
        if not guardable and operator != "constant":
            return
        if not whole and " " in text:
            text = f"({text})"
        array = isinstance(node, ast.expr) and reach.array(find_value(statement, start, end, offsets) or node)
        change = SourceChange(operator, node.lineno, start, end, text, whole, guardable, reach.repeats(node), array)
        found.setdefault((start, end, text), change)

    module = [statement for statement in tree.body if not spared & set(list_definitions(statement))]
    for site, statement in sites(module, spared.__contains__):
        if _calls_alone(statement, spared):
            continue
        for operator, text in _change_site(site, statement, source, offsets):
            keep(operator, site, text, statement)
        for operator, part, text in _change_parts(site):
            keep(operator, part, text, statement)
    for function in _list_functions(tree, spared):
        for statement in _iter_droppable(function):
            if not _calls_alone(statement, spared):
                keep("dropped statement", statement, "pass", statement)
    return sorted(found.values(), key=lambda change: (change.start, change.end, change.text))


def _calls_alone(statement: ast.stmt, names: Collection[str]) -> bool:
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return get_call_name(call) in names
    return False


def _list_functions(tree: ast.AST, spared: Collection[str]) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name not in spared]


def _collect_statements(tree: ast.Module) -> set[ast.stmt]:
    bodies = [statement for function in _list_functions(tree, ()) for statement in function.body]
    return {node for statement in bodies for node in ast.walk(statement) if isinstance(node, ast.stmt)}


def _is_alone(source: str, start: int, end: int) -> bool:
    before = source[source.rfind("\n", 0, start) + 1 : start]
    stop = source.find("\n", end)
    after = source[end : stop if stop >= 0 else len(source)].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _change_site(
    site: ast.expr | ast.AugAssign, statement: ast.stmt, source: str, offsets: Offsets
) -> Iterator[Change]:
    if not isinstance(site, ast.Slice):
        for changed in replacements(site, statement):
            yield _name_operator(site, changed), ast.unparse(changed)
    match site:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield from (("constant", repr(other)) for other in (value - 1, 0, 2 * value))
        case ast.Constant(value=float()):
            yield "constant", "0.0"
        case ast.Constant(value=str(name)) if name in _NARROWER:
            yield "dtype", repr(_NARROWER[name])
        case ast.Attribute(attr=name) if name in _NARROWER:
            yield "dtype", ast.unparse(ast.Attribute(site.value, _NARROWER[name], ast.Load()))
        case ast.Call():
            yield from _change_call(site)
        case ast.BinOp(op=ast.MatMult()):
            both = (f"np.asarray({ast.unparse(side)}, np.float32)" for side in (site.left, site.right))
            yield "narrower accumulator", f"({' @ '.join(both)}).astype(({ast.unparse(site.left)}).dtype)"
        case ast.IfExp():
            yield "condition", ast.unparse(ast.IfExp(site.test, site.orelse, site.body))


def _name_operator(site: ast.expr | ast.AugAssign, changed: ast.expr | ast.AugAssign) -> str:
    match site:
        case ast.BinOp() if not isinstance(changed, ast.BinOp) or changed.op is site.op:
            return "removed term"
        case ast.Compare():
            return "comparison"
        case ast.Constant():
            return "flag" if isinstance(site.value, bool) else "constant"
        case ast.BoolOp():
            return "condition"
        case ast.UnaryOp():
            return "sign"
        case ast.Tuple():
            return "swapped results"
    return "arithmetic"


def _change_call(call: ast.Call) -> Iterator[Change]:
    name = get_call_name(call)
    if name in _OTHER_FUNCTION:
        yield "function", ast.unparse(ast.Call(_rename(call.func, _OTHER_FUNCTION[name]), call.args, call.keywords))
    for index in range(len(call.args) - 1):
        first, second = call.args[index : index + 2]
        if ast.dump(first) != ast.dump(second):
            swapped = [*call.args[:index], second, first, *call.args[index + 2 :]]
            yield "swapped arguments", ast.unparse(ast.Call(call.func, swapped, call.keywords))
    yield from _narrow(call, name)


def _rename(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, ast.Load())
    return ast.Name(name, ast.Load())


def _narrow(call: ast.Call, name: str) -> Iterator[Change]:
    """Yield a sum of terms rounded to float32 or float16, in its original type."""
    if name not in _SUMS or not isinstance(call.func, ast.Attribute):
        return
    method = not (isinstance(call.func.value, ast.Name) and call.func.value.id in ("np", "numpy"))
    terms = call.func.value if method else next((a for a in call.args if not _is_text(a)), None)
    if terms is None:
        return
    for dtype in ("float32", "float16"):
        narrowed = ast.parse(f"np.asarray({ast.unparse(terms)}).astype({dtype!r})", mode="eval").body
        if method:
            changed = ast.Call(ast.Attribute(narrowed, name, ast.Load()), call.args, call.keywords)
        else:
            arguments = [narrowed if argument is terms else argument for argument in call.args]
            changed = ast.Call(call.func, arguments, call.keywords)
        yield "narrower accumulator", f"np.asarray({ast.unparse(changed)}).astype(({ast.unparse(call)}).dtype)"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _change_parts(site: ast.expr | ast.AugAssign) -> Iterator[tuple[str, ast.expr, str]]:
    match site:
        case ast.Slice():
            for bound in (site.lower, site.upper):
                if bound is not None:
                    yield from (("slice", bound, text) for text in _move(bound))
                    yield "slice", bound, "None"
        case ast.Subscript():
            indices = site.slice.elts if isinstance(site.slice, ast.Tuple) else [site.slice]
            for index in indices:
                if isinstance(index, ast.Name | ast.Attribute | ast.BinOp) and "newaxis" not in ast.dump(index):
                    yield from (("index", index, text) for text in _move(index))
        case ast.Call():
            for keyword in site.keywords:
                if keyword.arg in _AXES:
                    yield from (("axis", keyword.value, text) for text in _change_axes(keyword.value))


def _move(bound: ast.expr) -> Iterator[str]:
    number = bound.operand if isinstance(bound, ast.UnaryOp) else bound
    if not isinstance(number, ast.Constant):
        yield from (f"{ast.unparse(bound)} {sign} 1" for sign in "-+")


def _change_axes(axis: ast.expr) -> Iterator[str]:
    match axis:
        case ast.Tuple():
            yield from (ast.unparse(part) for part in axis.elts)
        case ast.UnaryOp(operand=ast.Constant(value=1)):
            yield from ("0", "-2")
        case ast.Constant(value=int()):
            yield "-1"
        case _:
            return


def _iter_droppable(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield simple statements that can go, because their targets have an earlier value."""
    known = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    for statement in _walk_in_order(function.body):
        match statement:
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
                yield statement
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield statement
            case ast.Assign(targets=[ast.Name(id=name)]):
                if name in known:
                    yield statement
                known.add(name)


def _walk_in_order(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With):
            yield from _walk_in_order([*statement.body, *getattr(statement, "orelse", [])])
