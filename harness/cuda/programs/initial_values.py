"""New values for variables, constants and macros, which shrink programs with hard-coded sizes."""

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tree_sitter import Node

from harness.cuda.programs.program import ProgramSource
from harness.cuda.rewriting.text import syntax
from harness.cuda.rewriting.text.lexer import Directive, lex, macro
from harness.errors import NotFoundError

_ONE = r"-?[\w.]+(?:e[+-]?\d+\w*)?"
VALUE = re.compile(rf"{_ONE}(?: *, *{_ONE})*")
"""A number or a name, or several with commas for a list in braces."""


def with_values(source: ProgramSource, values: Mapping[str, str], into: Path) -> tuple[ProgramSource, dict[str, str]]:
    """Copy a program's sources with other values; return the copy and a description of each change.

    Args:
        values: by name: of a variable that `main` initialises, else one that a compiled file initialises outside
            functions, else a macro that the program's files define once, without parameters. Compiled files take
            precedence.
        into: an empty folder for the copy.

    Raises:
        NotFoundError: no such variable or macro, several definitions, or a list for a single value.
    """
    files = tuple(dict.fromkeys((*source.entries, *source.files())))
    for file in files:
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.folder / file, into / file)
    told: dict[str, str] = {}
    names: set[str] = set()
    for entry in source.entries:
        text = (into / entry).read_bytes()
        edits = []
        for name, value in _find_declared(text):
            names.add(name)
            if name in values and name not in told:
                braced = value.type == "initializer_list"
                if not braced and "," in values[name]:
                    raise NotFoundError(f"--set {name}: {name} is declared with one value, not with a list in braces")
                new = f"{{{values[name]}}}" if braced else values[name]
                old = text[value.start_byte : value.end_byte].decode(errors="replace")
                told[name] = f"{entry}:{value.start_point[0] + 1}: {name} = {new} in place of {' '.join(old.split())}"
                edits.append((value.start_byte, value.end_byte, new.encode()))
        for start, end, written in sorted(edits, reverse=True):
            text = text[:start] + written + b"\n" * text[start:end].count(b"\n") + text[end:]
        (into / entry).write_bytes(text)
    for name in [name for name in values if name not in told]:
        told[name] = _set_macro(into, (source.entries, files), name, values[name], names)
    return ProgramSource(into, source.entries), told


def _set_macro(folder: Path, groups: Sequence[Sequence[str]], name: str, value: str, declared: Collection[str]) -> str:
    in_groups = ([(file, one) for file in files for one in _find_definitions(folder / file, name)] for files in groups)
    found = next(filter(None, in_groups), [])
    if not found:
        known = f"; there are {', '.join(sorted(declared))}" if declared else ""
        raise NotFoundError(f"--set {name}: no variable {name} with an initial value in `main` or a file{known}")
    if len(found) > 1 or "," in value:
        why = "is a macro that stands for one value" if len(found) == 1 else f"is defined {len(found)} times"
        raise NotFoundError(f"--set {name}: {name} {why}")
    ((file, directive),) = found
    text, start = (folder / file).read_bytes(), directive.tokens[2].start
    end = directive.tokens[-1].end
    old = " ".join(text[start:end].decode(errors="replace").replace("\\\n", " ").split())
    written = f"({value})".encode() + b"\\\n" * text[start:end].count(b"\n")
    (folder / file).write_bytes(text[:start] + written + text[end:])
    line = text[: directive.start].count(b"\n") + 1
    return f"{file}:{line}: {name} = ({value}) in place of {old}"


def _find_definitions(file: Path, name: str) -> Iterator[Directive]:
    text = file.read_bytes()
    if name.encode() not in text:
        return
    for directive in lex(text).directives:
        found = macro(directive)
        if found and found.name == name.encode() and found.parameters is None and found.body:
            yield directive


def _find_declared(text: bytes) -> Iterator[tuple[str, Node]]:
    """Yield variables that `main` initialises with `=`, then those outside functions."""
    tree = syntax.parse(text, lex(text))
    for function in tree.functions:
        declarator, body = function.child_by_field_name("declarator"), function.child_by_field_name("body")
        named = declarator and declarator.child_by_field_name("declarator")
        if named is not None and named.text == b"main" and body is not None:
            yield from filter(None, map(_read_variable, syntax.walk(body)))
    for node in syntax.walk(tree.root):
        if not any(start <= node.start_byte < end for start, end in tree.bodies) and (found := _read_variable(node)):
            yield found


def _read_variable(node: Node) -> tuple[str, Node] | None:
    if node.type != "init_declarator":
        return None
    name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
    if name is None or value is None or value.type == "argument_list":
        return None
    return (name.text.decode(errors="replace"), value) if name.type == "identifier" and name.text else None
