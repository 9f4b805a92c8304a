"""Functions and classes of one Python source put in place of those of another, where names leave one way to do it."""

import ast
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.languages.python_outline import python_outline

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_CANNOT = (SyntaxError, ValueError, RecursionError, MemoryError)

_Body = Sequence[ast.stmt]


class _Unclear(Exception):
    """There is no way to put a part into a text, or several."""


@dataclass
class _Splice:
    """Changes of the lines of a text, as they are found.

    Attributes:
        lines: of the text.
        part: lines of the source whose functions replace those of the text.
        gaps: lines of the part, from 1, that stand for code left out.
        changes: first line from 1, last line, and what stands there instead.
    """

    lines: list[str]
    part: list[str]
    gaps: frozenset[int]
    changes: list[tuple[int, int, list[str]]]


def python_splice(text: str, part: str) -> str | None:
    """As `Syntax.spliced`."""
    part = textwrap.dedent(part)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole, given = ast.parse(text), ast.parse(part)
            outline = python_outline(part)
            splice = _Splice(text.split("\n"), part.split("\n"), frozenset(outline.gaps), [])
            if method := _method_body(whole, given):
                _merge(splice, method, given.body, len(splice.part))
            else:
                _merge(splice, whole.body, given.body, len(splice.part))
            made = _text(splice)
            ast.parse(made)
    except (*_CANNOT, _Unclear):
        return None
    if outline.stubs:
        return None
    before, after = python_outline(text), python_outline(made)
    if after.fault or before.needs is None or not (after.needs or frozenset()) <= before.needs:
        return None
    return made if before.defines <= after.defines | after.stubs else None


def _method_body(whole: ast.Module, given: ast.Module) -> _Body | None:
    """The body of the one class whose methods a part of nothing but methods replaces."""
    names = {node.name for node in given.body if isinstance(node, _FUNCTION)}
    first = [node.args.args[:1] for node in given.body if isinstance(node, _FUNCTION)]
    if not names or not all(found and found[0].arg in ("self", "cls") for found in first):
        return None
    classes = [node for node in ast.walk(whole) if isinstance(node, ast.ClassDef)]
    holding = [node.body for node in classes if names & {n.name for n in node.body if isinstance(n, _FUNCTION)}]
    if len(holding) > 1:
        raise _Unclear
    return holding[0] if holding else None


def _merge(splice: _Splice, body: _Body, given: _Body, end: int) -> None:
    """Note the changes that put each statement of `given`, up to line `end`, in place of its namesake in `body`."""
    known = defaultdict[str, list[ast.stmt]](list)
    for node in body:
        for name in _names(node):
            known[name].append(node)
    before = len(splice.changes)
    ends = [*(_first(node) - 1 for node in given[1:]), end]
    added = list[ast.stmt]()
    for node, until in zip(given, ends, strict=True):
        names = list(_names(node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            added += [] if _is_known(node, body) else [node]
            if added[-1:] == [node] and any(known[name] for name in names):
                raise _Unclear
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring, or an ellipsis for what is left out
        elif len(names) != 1 or len(known[names[0]]) > 1:
            raise _Unclear
        elif not known[names[0]]:
            if _has_gap(splice, node, until):
                raise _Unclear
            added.append(node)
        else:
            _replace(splice, known[names[0]][0], node, until)
    if len(splice.changes) == before:
        raise _Unclear
    if added:
        _add(splice, added, min(splice.changes[before:]))


def _has_gap(splice: _Splice, node: ast.stmt, until: int) -> bool:
    """Whether code is left out within a statement, or below it in what its indentation says is its body."""
    last = node.end_lineno or node.lineno
    return any(
        _first(node) <= line <= last or (last < line <= until and _indent(splice.part[line - 1]) > node.col_offset)
        for line in splice.gaps
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _replace(splice: _Splice, old: ast.stmt, new: ast.stmt, until: int) -> None:
    """Note the change of one statement, member by member where the new one is a class with code left out."""
    gaps = _has_gap(splice, new, until)
    if isinstance(new, ast.ClassDef) and isinstance(old, ast.ClassDef):
        if gaps:
            _merge(splice, old.body, new.body, until)
            return
        if {name for n in old.body for name in _names(n)} - {name for n in new.body for name in _names(n)}:
            raise _Unclear  # a part of the class, or one that has lost some of its members
    if gaps or type(new) is not type(old):
        raise _Unclear
    splice.changes.append((_first(old), old.end_lineno or old.lineno, _lines(splice, new, old.col_offset)))


def _add(splice: _Splice, added: _Body, change: tuple[int, int, list[str]]) -> None:
    """Note that statements, of whose names the text has none, stand above a change."""
    first, last, lines = change
    indent = _indent(splice.lines[first - 1])
    above = list[str]()
    for node in added:
        above += [*_lines(splice, node, indent), *([""] * (1 if indent else 2))]
    splice.changes[splice.changes.index(change)] = (first, last, [*above, *lines])


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)


def _is_known(node: ast.stmt, body: _Body) -> bool:
    """Whether each name of an import is imported in the same way in the text."""
    known = {found for other in body for found in _imported(other)}
    return {*_imported(node)} <= known


def _imported(node: ast.stmt) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(node, ast.Import):
        yield from (("", alias.name, alias.asname) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (("." * node.level + (node.module or ""), alias.name, alias.asname) for alias in node.names)


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, (*_FUNCTION, ast.ClassDef)) else []
    return min([node.lineno, *(found.lineno for found in decorators)])


def _lines(splice: _Splice, node: ast.stmt, indent: int) -> list[str]:
    """The lines of a statement of the part, indented as the text is."""
    lines = splice.part[_first(node) - 1 : node.end_lineno or node.lineno]
    shift = indent - node.col_offset
    documents = {id(found) for each in ast.walk(node) for found in _docstring(each)}
    if shift and any(_spans_lines(found) and id(found) not in documents for found in ast.walk(node)):
        raise _Unclear
    return [_shifted(line, shift) for line in lines]


def _docstring(node: ast.AST) -> list[ast.expr]:
    first = node.body[0] if isinstance(node, _FUNCTION) else None
    return [first.value] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else []


def _shifted(line: str, shift: int) -> str:
    return (" " * shift + line if shift > 0 else line[-shift:]) if line.strip() else line


def _spans_lines(node: ast.AST) -> bool:
    """Whether a string of several lines would change with its indentation."""
    return isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno


def _text(splice: _Splice) -> str:
    lines = [*splice.lines]
    for first, last, new in sorted(splice.changes, reverse=True):
        lines[first - 1 : last] = new
    return "\n".join(lines)
