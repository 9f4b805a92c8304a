"""Small faults planted in the code a suite exercises: does the suite notice?

A mutant replaces one span of one file by the changed expression; the rest of the text stays as it is. Planted:

* arithmetic: `+` with `-`, `*` with `/`, `//` by `/`, `%` by `*`, `**` by `*`, also in `+=` and its kin;
* an operand dropped: `a + b`, `a * b`, `a / b` to `a`; `-a` and `not a` to `a`;
* a comparison turned round, a bound moved in or out by one (`<` and `<=`), `and` with `or`;
* a number changed: integers by one, others doubled, zero to one; True with False;
* a slice bound moved by one; two neighbouring returned values swapped.

Never planted: outside executed lines, in tests and `__main__` blocks, in docstrings, strings, annotations, `raise` and
`assert`, in calls that print or log, in assignments within functions to names that nothing reads. Where no calls
through the contract show which lines are the kernel, functions and files named as if they check, show or time it
(`CHECKERS`) are passed over as well.
"""

import ast
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from harness.languages.ast_operators import Offsets, replacements, sites
from harness.quality.sources import SourceFile

CHECKERS = re.compile(
    r"_*(test|check|verify|validate|demo|bench|main$|example|plot|print|show|report|numeric|finite_diff|grad_?check"
    r"|gradient_check|run_)",
    re.IGNORECASE,
)
"""Names of functions and files that are no kernel, where nothing else shows what is."""

_NOTHING = "__name__ or not (1 + 2 - 3 * 4 / 5 // 6 % 7) < 8.0 <= True"
"""A statement that does nothing: a module's name is never empty."""
_Body = TypeVar("_Body", ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class SourceMutant:
    """One planted fault.

    Attributes:
        path: file it is in.
        line: from 1.
        before: the expression as it was.
        after: what it becomes.
        start: first character of the span in the file's text.
        end: first character after it.
        text: what stands there instead.
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

    def planted(self, text: str) -> str:
        """The text of the file with this fault in it."""
        return text[: self.start] + self.text + text[self.end :]


def plan_mutants(
    files: Sequence[SourceFile], executed: Mapping[str, AbstractSet[int]], seed: int, *, by_name: bool = True
) -> list[SourceMutant]:
    """Every mutant of the executed lines of `files`, in an order drawn from `seed`.

    Args:
        files: source files; tests among them are passed over.
        executed: by path, the lines the suite executes.
        seed: of the order, so that a list cut short is a fair sample.
        by_name: whether functions and files named like checks are passed over.
    """
    mutants = [
        mutant
        for file in files
        if not file.test
        for mutant, statement in _in_file(file, by_name)
        if not executed.get(file.path, frozenset()).isdisjoint((mutant.line, statement.lineno))
    ]
    random.Random(seed).shuffle(mutants)
    return mutants


def equivalent(file: SourceFile) -> str:
    """The text of `file` written differently: it does the same, but its layout, operators and bytecode are others.

    A suite that fails on it judges the text, not what the code does.
    """
    try:
        text = ast.unparse(_Padding().visit(ast.parse(file.text)))
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{file.text}\n# the same code\n"
    return text


class _Padding(ast.NodeTransformer):
    """Puts a statement that does nothing into the module and into every function."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        return self._padded(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return self._padded(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return self._padded(node)

    def _padded(self, node: _Body) -> _Body:
        self.generic_visit(node)
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        while first < len(node.body) and isinstance(node.body[first], ast.ImportFrom):
            first += 1  # what is imported from __future__ stays in front
        node.body.insert(first, ast.parse(_NOTHING).body[0])
        return node


def mutable_lines(file: SourceFile, *, by_name: bool = True) -> frozenset[int]:
    """Return the lines of `file` on which a mutant can be planted when they are executed."""
    return frozenset(statement.lineno for _, statement in _in_file(file, by_name))


def _in_file(file: SourceFile, by_name: bool) -> list[tuple[SourceMutant, ast.stmt]]:
    spared = CHECKERS.match if by_name else _no_name
    if file.tree is None or spared(PurePosixPath(file.path).stem) or not _utf8(file.text):
        return []
    try:
        return list(_planted(file, file.tree, spared))
    except RecursionError:
        return []


def _utf8(text: str) -> bool:
    """Whether the text may be written back as UTF-8: no other encoding is declared."""
    head = "\n".join(text.split("\n", 2)[:2])
    declared = re.search(r"coding[:=]\s*([-\w.]+)", head)
    return text.isascii() or declared is None or declared[1].lower().replace("_", "-") in ("utf-8", "utf8")


def _no_name(name: str) -> bool:
    return False


def _planted(
    file: SourceFile, tree: ast.Module, spared: Callable[[str], object]
) -> Iterator[tuple[SourceMutant, ast.stmt]]:
    offsets, unread = Offsets(file.text), _unread(tree)
    for site, statement in sites(tree.body, spared):
        if statement in unread:
            continue
        start, end = offsets.span(site)
        before = ast.unparse(site)
        for changed in replacements(site, statement):
            after = ast.unparse(changed)
            text = after if isinstance(changed, ast.stmt | ast.Slice) else f"({after})"
            yield SourceMutant(file.path, site.lineno, *_brief(before, after), start, end, text), statement


def _unread(tree: ast.Module) -> frozenset[ast.stmt]:
    """Assignments within functions to names that nothing in the file reads: what is changed there shows nowhere."""
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


def _brief(before: str, after: str) -> tuple[str, str]:
    """Both texts without the long parts they share at either end."""
    if max(len(before), len(after)) <= 60:
        return before, after
    head = max(0, _shared(before, after) - 12)
    tail = max(0, _shared(before[head:][::-1], after[head:][::-1]) - 12)

    def cut(text: str) -> str:
        return f"{'...' * (head > 0)}{text[head : len(text) - tail][:80]}{'...' * (tail > 0)}"

    return cut(before), cut(after)


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
