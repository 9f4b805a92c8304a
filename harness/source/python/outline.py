"""The outline of a Python source, from its syntax tree and symbol table, without running it."""

import ast
import builtins
import re
import symtable
import warnings
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from harness.source.python.placeholders import is_placeholder
from harness.source.syntax import NamedLine, Outline, find_omissions

_DEFINED = re.compile(r"^[ \t]{0,200}(?:async[ \t]{1,9})?def[ \t]{1,9}(\w{1,200})", re.MULTILINE)
_IMPLICIT = frozenset({"__file__", "__name__", "__doc__", "__spec__", "__path__", "__package__", "__class__"})
_CANNOT = (SyntaxError, ValueError, RecursionError, MemoryError)


def python_outline(text: str) -> Outline:
    """See `Syntax.outline`. If the text does not parse, functions are those with a visible head."""
    gaps = tuple(find_omissions(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a submission's invalid escapes concern only its author
            tree = ast.parse(text)
            needs = frozenset(_find_needs(text))
    except _CANNOT as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        said = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        return Outline(NamedLine(line, said), functions=frozenset(_DEFINED.findall(text)), gaps=gaps)
    stubs = frozenset(node.name for node in _iter_top(tree) if isinstance(node, _FUNCTION) and _is_stub(node))
    bound = frozenset(chain.from_iterable(map(_find_bound, _iter_top(tree))))
    functions = frozenset(node.name for node in ast.walk(tree) if isinstance(node, _FUNCTION))
    imports = _collect_imports(tree)
    lines = text.split("\n")
    return Outline(
        None,
        bound - stubs,
        stubs,
        functions,
        frozenset(chain.from_iterable(map(_find_import_names, _iter_top(tree)))),
        imports,
        None if any("*" in names for names in imports.values()) else needs,
        tuple(sorted({*gaps, *_find_ellipses(tree)})),
        any(map(_is_test, tree.body)),
        unwritten={
            node.name: node.lineno
            for node in _iter_top(tree)
            if isinstance(node, _FUNCTION) and (node.name in stubs or is_placeholder(node, lines))
        },
    )


_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def _iter_top(tree: ast.Module) -> Iterator[ast.stmt]:
    waiting: list[ast.stmt] = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for field in ("body", "orelse", "finalbody"):
                waiting += getattr(node, field, [])
            for handler in getattr(node, "handlers", []):
                waiting += handler.body


def _find_bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            for found in chain.from_iterable(map(ast.walk, targets)):
                if isinstance(found, ast.Name):
                    yield found.id
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            yield name


def _find_import_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_ellipsis(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = [statement for statement in node.body if not _is_docstring(statement)]
    return all(_is_ellipsis(statement) or isinstance(statement, ast.Pass) for statement in body) and any(
        map(_is_ellipsis, [*body, *node.body[len(body) :]])
    )


def _find_ellipses(tree: ast.Module) -> Iterator[int]:
    """Yield lines of `...` among other statements: code left out."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTION | ast.Module):
            body = [statement for statement in node.body if not _is_docstring(statement)]
            found = [statement.lineno for statement in body if _is_ellipsis(statement)]
            yield from found if len(body) > len(found) else ()


def _collect_imports(tree: ast.Module) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.name] |= set()
        elif isinstance(node, ast.ImportFrom) and node.module:
            found[node.module] |= {alias.name for alias in node.names}
    return {module: frozenset(names) for module, names in found.items()}


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, _FUNCTION | ast.ClassDef) and node.name.lower().startswith("test")


def _find_needs(text: str) -> Iterator[str]:
    """Yield global names that a scope uses and the module never binds."""
    top = symtable.symtable(text, "reply", "exec")
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known = bound | _IMPLICIT | {*dir(builtins)}
    waiting = [top]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        for symbol in table.get_symbols():
            name = symbol.get_name()
            outer = symbol.is_global() or table is top
            if symbol.is_referenced() and outer and name not in known:
                yield name
