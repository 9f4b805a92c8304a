"""Code of a submission without its tests.

Left out of a Python file are
* functions and classes named like a test, and those that only tests use;
* the block under `if __name__ == "__main__":` if the test command runs the file.

A function stays if code that runs at import, the contract, adapters, or a function that no test uses mentions its name.
Every function stays if this code computes names to look up, or if no function would be left.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.mutation.operators.ast_operators import get_call_name
from harness.quality.assertions import Function
from harness.quality.sources import SourceFile

Defined = Function | ast.ClassDef

_TEST_NAME = re.compile(r"_*test", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")
_AS_A_SCRIPT = ("__name__ == '__main__'", "'__main__' == __name__")
_LOOK_UP = frozenset({"globals", "locals", "vars", "eval", "exec", "__dict__", "__subclasses__", "getmembers"})
"""Names that give access to unmentioned functions, as a computed `getattr` does."""
_NOT_REGISTERING = "pytest unittest dataclass dataclasses contextmanager contextlib cache lru_cache functools"
_INERT = frozenset(_NOT_REGISTERING.split())
"""First names of decorators that do not register the function anywhere."""


@dataclass(frozen=True)
class ContractCode:
    """Code of a submission that its contract uses.

    Attributes:
        files: files with remaining code; line numbers are unchanged.
        files_left_out: files that only tests use.
        lines_left_out: removed code lines of other files.
    """

    files: tuple[SourceFile, ...]
    files_left_out: tuple[str, ...] = ()
    lines_left_out: Mapping[str, int] = field(default_factory=dict)


def contract_code(
    files: Sequence[SourceFile], functions: Collection[str], adapters: Collection[str] = ()
) -> ContractCode:
    """Remove tests from a submission's source."""
    source = [file for file in files if not (file.test or file.unused or file.path in adapters)]
    counted = [file for file in source if not file.for_tests]
    names = _find_test_names(files, functions, adapters) if functions else frozenset()
    kept = [_blank_out(file, names) if functions else file for file in counted]
    return ContractCode(
        files=tuple(after for before, after in zip(counted, kept, strict=True) if after.sloc or not before.sloc),
        files_left_out=tuple(file.path for file in source if file.for_tests),
        lines_left_out={a.path: lines for a, b in zip(counted, kept, strict=True) if (lines := a.sloc - b.sloc)},
    )


def find_contract_functions(
    files: Iterable[SourceFile], functions: Iterable[str], adapters: Collection[str] = ()
) -> frozenset[tuple[str, int]]:
    """Return path and line of every function that the contract mentions, directly or not."""
    bodies: dict[str, list[Defined]] = {}
    places: dict[Defined, str] = {}
    for file in files:
        for node in file.tree.body if file.tree and not file.test else ():
            if isinstance(node, Defined):
                bodies.setdefault(node.name, []).append(node)
                places[node] = file.path
    called = {*functions}.union(*(_find_words(file) for file in files if file.path in adapters))
    reached = [node for name in _reach(called, bodies) for node in bodies[name]]
    return frozenset(
        (places[node], inner.lineno) for node in reached for inner in ast.walk(node) if isinstance(inner, Function)
    )


def _find_test_names(
    files: Sequence[SourceFile], functions: Collection[str], adapters: Collection[str]
) -> frozenset[str]:
    used = [file for file in files if not file.unused]
    tests = [file for file in used if file.test or file.for_tests]
    served = [file for file in used if file not in tests]
    own = [file for file in served if file.path not in adapters]
    bodies: dict[str, list[Defined]] = {}
    for node in (node for file in own for node in _find_separable(file)):
        bodies.setdefault(node.name, []).append(node)
    called = _find_mentions(node for file in own for node in _find_test_blocks(file)).union(*map(_find_words, tests))
    tested = _reach({name for name in bodies if name in called or _TEST_NAME.match(name)}, bodies)
    running = [node for file in own for node in _find_running(file)]
    texts = [file for file in served if file.path in adapters or not file.tree]
    needed = _reach(
        {*functions, *(bodies.keys() - tested)} | _find_mentions(running).union(*map(_find_words, texts)), bodies
    )
    hidden = _looks_up([*running, *(node for name in needed for node in bodies[name])])
    return frozenset() if hidden or not needed else frozenset(tested - needed)


def _reach(roots: Iterable[str], bodies: dict[str, list[Defined]]) -> set[str]:
    """Return `roots` in `bodies`, and names that their code mentions, directly or not."""
    found: set[str] = set()
    new = {name for name in roots if name in bodies}
    while new:
        found |= new
        new = _find_mentions(node for name in new for node in bodies[name]) & bodies.keys() - found
    return found


def _find_separable(file: SourceFile) -> Iterator[Defined]:
    """Yield functions and classes that are inert until mentioned."""
    for node in file.tree.body if file.tree else ():
        if isinstance(node, Defined) and not node.name.startswith("__") and all(map(_is_inert, node.decorator_list)):
            bases = [*node.bases, *node.keywords] if isinstance(node, ast.ClassDef) else []
            if all(ast.unparse(base).endswith("TestCase") for base in bases):
                yield node


def _is_inert(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).partition("(")[0].partition(".")[0] in _INERT


def _find_test_blocks(file: SourceFile) -> Iterator[ast.If]:
    for node in file.tree.body if file.tree and file.commanded else ():
        if isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in _AS_A_SCRIPT:
            yield node


def _find_running(file: SourceFile) -> list[ast.stmt]:
    """Return statements that run at import or may be called unnamed."""
    aside: set[ast.stmt] = {*_find_separable(file), *_find_test_blocks(file)}
    return [node for node in file.tree.body if node not in aside] if file.tree else []


def _find_words(file: SourceFile) -> set[str]:
    return _find_mentions([file.tree]) if file.tree else set(_WORD.findall(file.text))


def _find_mentions(nodes: Iterable[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found |= {name, name.rpartition(".")[2]}
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
    return found


def _looks_up(nodes: Iterable[ast.AST]) -> bool:
    """Return whether code may reach functions that its text does not name."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            plain = isinstance(node, ast.Name) or name.startswith("__") or name == "getmembers"
            if name in _LOOK_UP and plain:
                return True
        if isinstance(node, ast.Call) and get_call_name(node) in ("getattr", "attrgetter", "methodcaller"):
            given = node.args[1:2] or node.args[:1]
            if not all(isinstance(argument, ast.Constant) for argument in given):
                return True
    return False


def _blank_out(file: SourceFile, names: Collection[str]) -> SourceFile:
    nodes = [*(node for node in _find_separable(file) if node.name in names), *_find_test_blocks(file)]
    lines = file.text.split("\n")
    for node in nodes:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    shorter = replace(file, text="\n".join(lines))
    return shorter if nodes and shorter.tree is not None else file
