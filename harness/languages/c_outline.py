"""What a source in C, C++ or CUDA defines and leaves out, from its syntax tree."""

import re
from collections.abc import Iterator

from harness.cuda.rewriting import lexer
from harness.cuda.rewriting.syntax import SyntaxTree, name_of, parse
from harness.languages.syntax import NamedLine, Outline, lines_left_out

_INCLUDED = re.compile(r'^[ \t]{0,99}#[ \t]{0,99}include[ \t]{0,99}"([^"\n]{1,999})"', re.MULTILINE)
_ELLIPSIS = re.compile(r"[ \t]{0,200}(?:\.\.\.|\u2026)[ \t;]{0,9}$")
_NOT_A_NAME = frozenset({"", "operator"})


def c_outline(text: str, fault: NamedLine | None) -> Outline:
    """As `Syntax.outline`.

    Args:
        text: the source.
        fault: the first line that no compiler takes for code.
    """
    data = text.encode(errors="replace")
    try:
        tree = parse(data, lexer.lex(data))
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline(fault or NamedLine(1, type(error).__name__))
    named = dict(_bodies(tree))
    stubs = frozenset(name for name, empty in named.items() if empty)
    gaps = {*lines_left_out(text), *(n for n, line in enumerate(text.split("\n"), 1) if _ELLIPSIS.match(line))}
    return Outline(
        fault, frozenset(named) - stubs, stubs, frozenset(named),
        frozenset(), {name: frozenset("*") for name in _INCLUDED.findall(text)}, gaps=tuple(sorted(gaps)),
    )  # fmt: skip


def _bodies(tree: SyntaxTree) -> Iterator[tuple[str, bool]]:
    """The name of each function with a body, and whether that is empty."""
    for function in tree.functions:
        name, body = name_of(function.child_by_field_name("declarator")), function.child_by_field_name("body")
        if name is None or body is None:
            continue
        word = tree.text[name.start_byte : name.end_byte].decode(errors="replace")
        if word not in _NOT_A_NAME:
            yield word, not any(child.type != "comment" for child in body.named_children)
