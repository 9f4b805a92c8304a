"""Hints at Python code that a kernel rarely needs: the interpreter, its memory, other processes, the network."""

import ast
from collections.abc import Iterator, Mapping

from harness.source.syntax import NamedLine

MODULES = frozenset(
    {
        "_ctypes",
        "_posixsubprocess",
        "_socket",
        "_thread",
        "atexit",
        "cffi",
        "ctypes",
        "gc",
        "inspect",
        "multiprocessing",
        "numpy.ctypeslib",
        "socket",
        "subprocess",
        "threading",
    }
)
"""Modules that reach the interpreter, its memory, other processes or the network."""
USES = frozenset(
    {
        "os.execv",
        "os.execve",
        "os.execvp",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "sys._current_frames",
        "sys._getframe",
        "sys.setprofile",
        "sys.settrace",
    }
)
CALLS = frozenset({"eval", "exec"})
IMPORTERS = frozenset({"__import__", "importlib.__import__", "importlib.import_module"})
BUILTINS = CALLS | {"__import__", "getattr"}
LONGEST = 4
"""Steps of a dotted name to follow; names of interest have two."""


def python_hints(path: str, tree: ast.Module) -> Iterator[NamedLine]:
    """Yield the hints of one file, unordered and perhaps repeated."""
    names = _map_import_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _list_imports(node):
                yield from _find_mentions(name, node.lineno)
        elif isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
            yield from _find_mentions(_resolve_name(node, names), node.lineno)
        if isinstance(node, ast.Call) and (name := _resolve_name(node.func, names).removeprefix("builtins.")) in CALLS:
            yield NamedLine(node.lineno, f"calls {name}")
        if isinstance(node, ast.stmt) and _count_climbs(node) > path.count("/") + 1:
            yield NamedLine(node.lineno, "looks from __file__ beyond its own folder")


def _find_mentions(name: str, line: int) -> Iterator[NamedLine]:
    parts = name.split(".")
    for module in (".".join(parts[:length]) for length in range(1, len(parts) + 1)):
        if module in MODULES:
            yield NamedLine(line, f"imports {module}")
    if name in USES:
        yield NamedLine(line, f"uses {name}")


def _list_imports(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [] if node.level else [f"{node.module}.{alias.name}" for alias in node.names]


def _map_import_names(tree: ast.Module) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                names |= {alias.asname: alias.name} if alias.asname else {top: top}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _resolve_name(node: ast.expr, names: Mapping[str, str], steps: int = LONGEST) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id if node.id in BUILTINS else "")
    if steps == 0:
        return ""
    if isinstance(node, ast.Attribute):
        return _join(_resolve_name(node.value, names, steps - 1), node.attr)
    if isinstance(node, ast.Subscript) and _resolve_name(node.value, names, steps - 1) == "sys.modules":
        return _get_text(node.slice)
    if isinstance(node, ast.Call):
        called = _resolve_name(node.func, names, steps - 1)
        if called in IMPORTERS and node.args:
            return _get_text(node.args[0])
        if called == "getattr" and len(node.args) > 1:
            return _join(_resolve_name(node.args[0], names, steps - 1), _get_text(node.args[1]))
    return ""


def _join(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner and name else ""


def _get_text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _count_climbs(statement: ast.stmt) -> int:
    parts = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr | ast.withitem))
    return max((_count_climbs_of(list(ast.walk(part))) for part in parts), default=0)


def _count_climbs_of(nodes: list[ast.AST]) -> int:
    if not any(isinstance(node, ast.Name) and node.id == "__file__" for node in nodes):
        return 0
    up = 0
    for node in nodes:
        if isinstance(node, ast.Attribute):
            up += node.attr in ("dirname", "parent")
        elif isinstance(node, ast.Name):
            up += node.id == "dirname"
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
            up += 1 + (
                node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int) else 0
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            up += node.value.split("/").count("..")
    return up
