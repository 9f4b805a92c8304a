"""The shape of the code that `make lint` holds: unique class names, short modules, short functions.

`python -m tests.code_shape` prints every violation and exits 1 when there is one.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import harness

PACKAGE = Path(harness.__file__).parent
MODULE_LINES = 400
FUNCTION_LINES = 50

Texts = Mapping[str, str]
"""Source texts by path."""


def sources() -> dict[str, str]:
    """Every module of the package."""
    return {str(path.relative_to(PACKAGE.parent)): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


def repeated_classes(texts: Texts) -> Iterator[str]:
    """Public class names that several modules define."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"class {name} is defined {len(found)} times: {', '.join(found)}"


def long_modules(texts: Texts) -> Iterator[str]:
    """Modules with more lines than allowed."""
    for path, text in texts.items():
        lines = len(text.splitlines())
        if lines > MODULE_LINES:
            yield f"{path} has {lines} lines, at most {MODULE_LINES} are allowed"


def long_functions(texts: Texts) -> Iterator[str]:
    """Functions and methods with more lines than allowed, decorators not counted."""
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{path}:{node.lineno} {node.name} has {lines} lines, at most {FUNCTION_LINES} are allowed"


def violations(texts: Texts) -> list[str]:
    """All of them."""
    checks: Iterable[Iterator[str]] = (repeated_classes(texts), long_modules(texts), long_functions(texts))
    return [line for check in checks for line in check]


if __name__ == "__main__":
    found = violations(sources())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
