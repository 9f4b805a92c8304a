"""The code of an answer without its tests, by the names that its text mentions.

Left out of a Python file are

* functions and classes named like a test, and those that only tests lead to;
* where the test command runs the file, the block under `if __name__ == "__main__":`, which is a test then.

What a function is called decides nothing alone. One that other code mentions, by a name, an attribute or a string,
stays. Such code is what runs at import, functions of the contract, adapters, and functions that no test leads to. Where
it looks up names that the text does not show, every function stays; so it does where none would be left.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.languages.ast_operators import called_name
from harness.quality.assertions import Function
from harness.quality.sources import SourceFile

Defined = Function | ast.ClassDef

_TEST_NAME = re.compile(r"_*test", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")
_AS_A_SCRIPT = ("__name__ == '__main__'", "'__main__' == __name__")
_LOOK_UP = frozenset({"globals", "locals", "vars", "eval", "exec", "__dict__", "__subclasses__", "getmembers"})
"""Names of what reaches a function that no name leads to; `getattr` does with a name that is computed."""
_INERT = frozenset(
    {
        "pytest",
        "unittest",
        "dataclass",
        "dataclasses",
        "contextmanager",
        "contextlib",
        "cache",
        "lru_cache",
        "functools",
    }
)
"""First names of decorators that hand a function to nothing else."""


@dataclass(frozen=True)
class ContractCode:
    """Code of an answer's files to which its contract leads, and what was left out.

    Attributes:
        files: those that hold code still, without what was left out; lines keep their numbers.
        files_left_out: paths of the files that only tests lead to.
        lines_left_out: code lines that were left out, by the other files that held them.
    """

    files: tuple[SourceFile, ...]
    files_left_out: tuple[str, ...] = ()
    lines_left_out: Mapping[str, int] = field(default_factory=dict)


def contract_code(
    files: Sequence[SourceFile], functions: Collection[str], adapters: Collection[str] = ()
) -> ContractCode:
    """Leave tests out of an answer's source.

    Args:
        files: all of them, those of the harness included.
        functions: those of the contract; without any nothing within a file is left out.
        adapters: files that are the harness's own: what they mention stays.
    """
    source = [file for file in files if not (file.test or file.unused or file.path in adapters)]
    counted = [file for file in source if not file.for_tests]
    names = _names_left_out(files, functions, adapters) if functions else frozenset()
    kept = [_without(file, names) if functions else file for file in counted]
    return ContractCode(
        files=tuple(after for before, after in zip(counted, kept, strict=True) if after.sloc or not before.sloc),
        files_left_out=tuple(file.path for file in source if file.for_tests),
        lines_left_out={a.path: lines for a, b in zip(counted, kept, strict=True) if (lines := a.sloc - b.sloc)},
    )


def served_functions(
    files: Iterable[SourceFile], functions: Iterable[str], adapters: Collection[str] = ()
) -> frozenset[tuple[str, int]]:
    """Return path and line of every function to which a contract leads, by the names that its code mentions.

    Args:
        files: all files of an answer, those of the harness included.
        functions: those of the contract.
        adapters: files that are the harness's own: what they mention is reached.
    """
    bodies: dict[str, list[Defined]] = {}
    places: dict[Defined, str] = {}
    for file in files:
        for node in file.tree.body if file.tree and not file.test else ():
            if isinstance(node, Defined):
                bodies.setdefault(node.name, []).append(node)
                places[node] = file.path
    called = {*functions}.union(*(_words(file) for file in files if file.path in adapters))
    reached = [node for name in _reach(called, bodies) for node in bodies[name]]
    return frozenset(
        (places[node], inner.lineno) for node in reached for inner in ast.walk(node) if isinstance(inner, Function)
    )


def _names_left_out(
    files: Sequence[SourceFile], functions: Collection[str], adapters: Collection[str]
) -> frozenset[str]:
    """Name the functions and classes that only tests lead to."""
    used = [file for file in files if not file.unused]
    tests = [file for file in used if file.test or file.for_tests]
    served = [file for file in used if file not in tests]
    own = [file for file in served if file.path not in adapters]
    bodies: dict[str, list[Defined]] = {}
    for node in (node for file in own for node in _separable(file)):
        bodies.setdefault(node.name, []).append(node)
    called = _mentioned(node for file in own for node in _test_blocks(file)).union(*map(_words, tests))
    tested = _reach({name for name in bodies if name in called or _TEST_NAME.match(name)}, bodies)
    running = [node for file in own for node in _running(file)]
    texts = [file for file in served if file.path in adapters or not file.tree]
    needed = _reach({*functions, *(bodies.keys() - tested)} | _mentioned(running).union(*map(_words, texts)), bodies)
    hidden = _looks_up([*running, *(node for name in needed for node in bodies[name])])
    return frozenset() if hidden or not needed else frozenset(tested - needed)


def _reach(roots: Iterable[str], bodies: dict[str, list[Defined]]) -> set[str]:
    """Find those of `bodies` that `roots` name, and those that their code mentions, directly or not."""
    found: set[str] = set()
    new = {name for name in roots if name in bodies}
    while new:
        found |= new
        new = _mentioned(node for name in new for node in bodies[name]) & bodies.keys() - found
    return found


def _separable(file: SourceFile) -> Iterator[Defined]:
    """Yield the functions and classes of a module that do nothing until something mentions their name."""
    for node in file.tree.body if file.tree else ():
        if isinstance(node, Defined) and not node.name.startswith("__") and all(map(_is_inert, node.decorator_list)):
            bases = [*node.bases, *node.keywords] if isinstance(node, ast.ClassDef) else []
            if all(ast.unparse(base).endswith("TestCase") for base in bases):
                yield node


def _is_inert(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).partition("(")[0].partition(".")[0] in _INERT


def _test_blocks(file: SourceFile) -> Iterator[ast.If]:
    """Yield the blocks that run only where the test command runs the file."""
    for node in file.tree.body if file.tree and file.commanded else ():
        if isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in _AS_A_SCRIPT:
            yield node


def _running(file: SourceFile) -> list[ast.stmt]:
    """Return the statements of a module that run at import, or that something may call unnamed."""
    aside: set[ast.stmt] = {*_separable(file), *_test_blocks(file)}
    return [node for node in file.tree.body if node not in aside] if file.tree else []


def _words(file: SourceFile) -> set[str]:
    """Return all that a file mentions; of text without a Python tree, every word."""
    return _mentioned([file.tree]) if file.tree else set(_WORD.findall(file.text))


def _mentioned(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name, attribute and imported name in `nodes`, and every string that could be one."""
    found: set[str] = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found |= {name, name.rpartition(".")[2]}
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
    return found


def _looks_up(nodes: Iterable[ast.AST]) -> bool:
    """Return whether code may reach functions whose names its text does not show."""
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            plain = isinstance(node, ast.Name) or name.startswith("__") or name == "getmembers"
            if name in _LOOK_UP and plain:
                return True
        if isinstance(node, ast.Call) and called_name(node) in ("getattr", "attrgetter", "methodcaller"):
            given = node.args[1:2] or node.args[:1]
            if not all(isinstance(argument, ast.Constant) for argument in given):
                return True
    return False


def _without(file: SourceFile, names: Collection[str]) -> SourceFile:
    """Empty the lines of what is named `names`, and of blocks that are tests."""
    nodes = [*(node for node in _separable(file) if node.name in names), *_test_blocks(file)]
    lines = file.text.split("\n")
    for node in nodes:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    shorter = replace(file, text="\n".join(lines))
    return shorter if nodes and shorter.tree is not None else file
