"""Other initial values for local variables of `main`: how a program that has its sizes in its source is made small."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tree_sitter import Node

from harness.cuda.program import ProgramSource
from harness.cuda.rewriting import syntax
from harness.cuda.rewriting.lexer import lex
from harness.errors import NotFoundError

_ONE = r"-?[\w.]+(?:e[+-]?\d+\w*)?"
VALUE = re.compile(rf"{_ONE}(?: *, *{_ONE})*")
"""A number or a name; several, apart by commas, for a list in braces."""


def with_values(source: ProgramSource, values: Mapping[str, str], into: Path) -> tuple[ProgramSource, dict[str, str]]:
    """A copy of the program's sources with other initial values, and what each value was, with its place.

    Args:
        source: the program; its files stay as they are.
        values: by the name of a variable that `main` declares with an initial value.
        into: an empty folder for the copy.

    Raises:
        NotFoundError: `main` declares no such variable.
    """
    for file in dict.fromkeys((*source.files(), *source.entries)):
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.folder / file, into / file)
    told: dict[str, str] = {}
    names: set[str] = set()
    for entry in source.entries:
        text = (into / entry).read_bytes()
        edits = []
        for name, value in _declared(text):
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
    missing = next((name for name in values if name not in told), None)
    if missing is not None:
        known = f"; it declares {', '.join(sorted(names))}" if names else ""
        raise NotFoundError(f"--set {missing}: `main` declares no {missing} with an initial value{known}")
    return ProgramSource(into, source.entries), told


def _declared(text: bytes) -> Iterator[tuple[str, Node]]:
    """Each variable that `main` declares with `=`, and its initial value."""
    for function in syntax.parse(text, lex(text)).functions:
        declarator, body = function.child_by_field_name("declarator"), function.child_by_field_name("body")
        named = declarator and declarator.child_by_field_name("declarator")
        if named is None or named.text != b"main" or body is None:
            continue
        for node in syntax.walk(body):
            if node.type != "init_declarator":
                continue
            name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
            if name is None or value is None or value.type == "argument_list":
                continue
            if name.type == "identifier" and name.text:
                yield name.text.decode(errors="replace"), value
