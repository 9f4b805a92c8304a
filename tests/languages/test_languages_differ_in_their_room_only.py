"""Nothing outside the rooms of languages and compilers depends on which language an answer is written in."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness
from harness.languages import every_language

PACKAGE = Path(harness.__file__).parent
ROOMS = ("languages", "cuda", "source", "mutation/operators", "mutation/planting")
"""Where a language may be named: its own module, and the compilers, devices, readers and operators that it calls."""
NAMES = frozenset(used.name for used in every_language())
OTHER_MEANING = {
    ("sandbox/session/command.py", "words[0] in ('python', 'python3')"),  # the interpreter, as a command line names it
    ("quality/inside/suite_server.py", "words[0].endswith('.py')"),  # what that interpreter is told to run
    ("serving/app.py", "'answer.py'"),  # the request shown as an example
    ("probing/speed.py", "'reference.py'"),  # the module that a timed answer is compared with, whatever it is in
}
LANGUAGE_MODULE = re.compile(
    r"harness\.(languages|mutation\.(operators|planting))\.(python|cuda)\w*|harness\.source\.(python|c)\b.*"
)
"""A module of one language."""
FILES = re.compile(r"(answer|reference|contract)\.(py|cuh?)")
SUFFIXES = frozenset({".py", ".cu", ".cuh", ".c", ".cpp"})


def sources() -> list[Path]:
    rooms = tuple(PACKAGE / room for room in ROOMS)
    return [p for p in sorted(PACKAGE.rglob("*.py")) if not any(p.is_relative_to(room) for room in rooms)]


def named(node: ast.AST) -> set[str]:
    """The languages among the strings of an expression."""
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in NAMES}


def suffixed(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Constant) and n.value in SUFFIXES for n in ast.walk(node))


def conditions(tree: ast.Module) -> Iterator[ast.AST]:
    """Whatever tells one language from another."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare() if named(node) or suffixed(node):
                yield node
            case ast.match_case() if named(node.pattern):
                yield node.pattern
            case ast.Subscript(value=ast.Name(id="Literal")) if named(node):
                yield node
            case ast.Dict() if len(named(ast.List([k for k in node.keys if k]))) > 1:
                yield node
            case ast.Dict() if any(suffixed(key) for key in node.keys if key):
                yield node
            case ast.Call(func=ast.Attribute(attr="endswith")) if suffixed(node):
                yield node
            case ast.Constant(value=str(text)) if FILES.fullmatch(text):
                yield node
            case ast.ImportFrom(module=str(module)) if LANGUAGE_MODULE.fullmatch(module):
                yield node


@pytest.mark.every_run
def test_no_condition_names_a_language() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), ast.unparse(node))
        for path in sources()
        for node in conditions(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found - OTHER_MEANING == set()


def test_no_template_asks_for_a_language() -> None:
    name = "|".join(NAMES)
    asked = re.compile(rf"language(?:\.name)?\s*(?:==|!=|in\b)|(?:==|!=)\s*[\"'](?:{name})[\"']")
    templates = [p for p in PACKAGE.rglob("*.j2") if asked.search(p.read_text(encoding="utf-8"))]
    assert not templates


@pytest.mark.parametrize(
    "text",
    [
        "if challenge.language == 'cuda': pass",
        "if language not in ('python', 'cuda'): pass",
        "x: Literal['python', 'cuda']",
        "SUFFIXES = {'python': 1, 'cuda': 2}",
        "suffix = {'.py': 1, '.cu': 2}[path.suffix]",
        "entry.endswith('.py')",
        "match language:\n    case 'cuda': pass",
        "name = 'reference.py'",
        "from harness.languages.cuda import CUDA",
    ],
)
def test_each_kind_of_condition_is_seen(text: str) -> None:
    assert list(conditions(ast.parse(text)))
