"""What a source in C, C++ or CUDA defines and leaves out, from its syntax tree."""

import re
from collections.abc import Iterator

from harness.cuda.rewriting import lexer
from harness.cuda.rewriting.syntax import SyntaxTree, name_of, parse
from harness.languages.syntax import NamedLine, Outline, lines_left_out

_INCLUDED = re.compile(r'^[ \t]{0,99}#[ \t]{0,99}include[ \t]{0,99}"([^"\n]{1,999})"', re.MULTILINE)
_ELLIPSIS = re.compile(r"[ \t]{0,200}(?:\.\.\.|\u2026)[ \t;]{0,9}$")
_NOT_A_NAME = frozenset({"", "operator"})
_NAMED = re.compile(
    rb"^[ \t]{0,99}(?:#[ \t]{0,99}define[ \t]{1,99}(\w{1,200})"
    rb"|(?:typedef[ \t]{1,9})?(?:struct|class|enum(?:[ \t]{1,9}class)?|union)[ \t]{1,9}"
    rb"(?:__align__\(\w{1,9}\)[ \t]{1,9})?(\w{1,200})[^;()]{0,99}\{"
    rb"|using[ \t]{1,9}(\w{1,200})[ \t]{0,9}="
    rb"|(?:(?:static|inline|const|constexpr|__device__|__constant__)[ \t]{1,9}){1,5}"
    rb"[\w:]{1,99}(?:[ \t]{1,9}\w{1,99})?[ \t]{1,9}(\w{1,200})[ \t]{0,9}[=\[])",
    re.MULTILINE,
)
_WORD = re.compile(rb"[A-Za-z_]\w*")


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
    found = [match for match in _NAMED.finditer(data) if not tree.in_function(match.start())]
    declared = frozenset(name.decode(errors="replace") for match in found for name in match.groups() if name)
    used = frozenset(word.text.decode(errors="replace") for word in tree.tokens if _WORD.fullmatch(word.text))
    return Outline(
        fault, frozenset(named) - stubs, stubs, frozenset(named), declared,
        {name: frozenset("*") for name in _INCLUDED.findall(text)}, used - {*named} - declared, tuple(sorted(gaps)),
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
