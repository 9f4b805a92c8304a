"""Small faults planted in the code that a suite exercises, one replaced span each.

The operators are in `ast_operators`. Excluded are lines that are not executed, tests and `__main__` blocks, strings,
annotations, `raise` and `assert`, calls that print or log, and assignments in functions to names that are never read.
Without traced calls through the contract, `CHECKERS` are excluded, too.
"""

import ast
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.mutation.operators.ast_operators import Offsets, replacements, sites
from harness.quality.sources import SourceFile

CHECKERS = re.compile(
    r"_*(test|check|verify|validate|demo|bench|main$|example|plot|print|show|report|numeric|finite_diff|grad_?check"
    r"|gradient_check|run_)",
    re.IGNORECASE,
)
"""Names of functions and files outside the kernel, used without traced calls."""

_NOTHING = "__name__ or not (1 + 2 - 3 * 4 / 5 // 6 % 7) < 8.0 <= True"
"""An expression statement without effect, as a module's name is never empty."""


@dataclass(frozen=True)
class SourceMutant:
    """One planted fault.

    Attributes:
        before, after: shortened expressions, for display.
        start, end: span in characters.
        text: replacement of the span.
    """

    path: str
    line: int
    before: str
    after: str
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} `{self.before}` -> `{self.after}`"

    def plant_in(self, text: str) -> str:
        """Return a file's text with this fault."""
        return text[: self.start] + self.text + text[self.end :]


def plan_mutants(
    files: Sequence[SourceFile], executed: Mapping[str, AbstractSet[int]], seed: int, *, by_name: bool = True
) -> list[SourceMutant]:
    """Return every mutant of the executed lines, in an order drawn from `seed`, so that any head is a fair sample.

    Args:
        by_name: true to exclude `CHECKERS`.
    """
    mutants = [
        mutant
        for file in files
        if not file.test
        for mutant, statement in _find_mutants(file, by_name)
        if not executed.get(file.path, frozenset()).isdisjoint((mutant.line, statement.lineno))
    ]
    random.Random(seed).shuffle(mutants)
    return mutants


def equivalent(file: SourceFile) -> str:
    """Return equivalent text of `file` with a different layout, operators and bytecode."""
    try:
        text = ast.unparse(_Padding().visit(ast.parse(file.text)))
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{file.text}\n# the same code\n"
    return text


class _Padding(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            return node
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        while first < len(node.body) and isinstance(node.body[first], ast.ImportFrom):
            first += 1  # imports from __future__ must come first
        node.body.insert(first, ast.parse(_NOTHING).body[0])
        return node


def mutable_lines(file: SourceFile, *, by_name: bool = True) -> frozenset[int]:
    """Return the lines that can carry a mutant."""
    return frozenset(statement.lineno for _, statement in _find_mutants(file, by_name))


def _find_mutants(file: SourceFile, by_name: bool) -> list[tuple[SourceMutant, ast.stmt]]:
    spared: Callable[[str], object] = CHECKERS.match if by_name else lambda name: None
    if file.tree is None or spared(PurePosixPath(file.path).stem) or not _is_utf8(file.text):
        return []
    try:
        return list(_plant(file, file.tree, spared))
    except RecursionError:
        return []


def _is_utf8(text: str) -> bool:
    """Return whether the text declares no encoding but UTF-8, as mutants are saved in it."""
    head = "\n".join(text.split("\n", 2)[:2])
    declared = re.search(r"coding[:=]\s*([-\w.]+)", head)
    return text.isascii() or declared is None or declared[1].lower().replace("_", "-") in ("utf-8", "utf8")


def _plant(
    file: SourceFile, tree: ast.Module, spared: Callable[[str], object]
) -> Iterator[tuple[SourceMutant, ast.stmt]]:
    offsets, unread = Offsets(file.text), _find_unread(tree)
    for site, statement in sites(tree.body, spared):
        if statement in unread:
            continue
        start, end = offsets.span(site)
        before = ast.unparse(site)
        for changed in replacements(site, statement):
            after = ast.unparse(changed)
            text = after if isinstance(changed, ast.stmt | ast.Slice) else f"({after})"
            yield SourceMutant(file.path, site.lineno, *_shorten(before, after), start, end, text), statement


def _find_unread(tree: ast.Module) -> frozenset[ast.stmt]:
    nodes = list(ast.walk(tree))
    read = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    read |= {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assigned = {node for function in functions for node in ast.walk(function) if isinstance(node, ast.Assign)}
    stored = {node: [name for target in node.targets for name in ast.walk(target)] for node in assigned}
    return frozenset(
        node
        for node, parts in stored.items()
        if all(isinstance(part, ast.Name | ast.Tuple | ast.Store) for part in parts)
        and read.isdisjoint(part.id for part in parts if isinstance(part, ast.Name))
    )


def _shorten(before: str, after: str) -> tuple[str, str]:
    if max(len(before), len(after)) <= 60:
        return before, after
    head = max(0, _measure_common_prefix(before, after) - 12)
    tail = max(0, _measure_common_prefix(before[head:][::-1], after[head:][::-1]) - 12)

    def cut(text: str) -> str:
        return f"{'...' * (head > 0)}{text[head : len(text) - tail][:80]}{'...' * (tail > 0)}"

    return cut(before), cut(after)


def _measure_common_prefix(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
