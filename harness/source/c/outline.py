"""The outline of a source in C, C++ or CUDA, from its syntax tree."""

import re
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from harness.cuda.rewriting.text import lexer
from harness.cuda.rewriting.text.syntax import SyntaxTree, name_of, parse, walk
from harness.source.syntax import NamedLine, Outline, find_omissions

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
_IDLE = frozenset({"return_statement", "if_statement", "compound_statement"})
_ACTS = frozenset(
    {"call_expression", "assignment_expression", "update_expression", "new_expression", "delete_expression", "ERROR"}
)
_UNUSED = re.compile(rb"\(void\)[ ]?\w{1,200};|;")
_LAST_ERROR = re.compile(rb"cuda(?:GetLastError|PeekAtLastError)\(\)")
_WORD = re.compile(rb"[A-Za-z_]\w*")


def c_outline(text: str, fault: NamedLine | None) -> Outline:
    """See `Syntax.outline`; `fault` is the first line that no compiler accepts as code."""
    data = text.encode(errors="replace")
    try:
        tree = parse(data, lexer.lex(data))
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline(fault or NamedLine(1, type(error).__name__))
    named = dict(_iter_bodies(tree))
    stubs = frozenset(name for name, body in named.items() if _is_empty(body))
    gaps = {*find_omissions(text), *(n for n, line in enumerate(text.split("\n"), 1) if _ELLIPSIS.match(line))}
    found = [match for match in _NAMED.finditer(data) if not tree.in_function(match.start())]
    declared = frozenset(name.decode(errors="replace") for match in found for name in match.groups() if name)
    used = frozenset(word.text.decode(errors="replace") for word in tree.tokens if _WORD.fullmatch(word.text))
    return Outline(
        fault,
        frozenset(named) - stubs,
        stubs,
        frozenset(named),
        declared,
        {name: frozenset("*") for name in _INCLUDED.findall(text)},
        used - {*named} - declared,
        tuple(sorted(gaps)),
        unwritten=_find_unwritten(named, stubs, tree),
    )


def _iter_bodies(tree: SyntaxTree) -> Iterator[tuple[str, Node]]:
    for function in tree.functions:
        name, body = name_of(function.child_by_field_name("declarator")), function.child_by_field_name("body")
        if name is None or body is None:
            continue
        word = tree.text[name.start_byte : name.end_byte].decode(errors="replace")
        if word not in _NOT_A_NAME:
            yield word, body


def _is_empty(body: Node) -> bool:
    return not any(child.type != "comment" for child in body.named_children)


def _find_unwritten(named: Mapping[str, Node], stubs: frozenset[str], tree: SyntaxTree) -> dict[str, int]:
    """Return the lines of functions that do nothing with their arguments; all functions if every kernel is empty."""
    kernels = [
        body for each in tree.marked if each.has(b"__global__") if (body := each.node.child_by_field_name("body"))
    ]
    if kernels and all(map(_is_empty, kernels)):
        return dict.fromkeys(named, _get_line(kernels[0]))
    outermost = {start for start, _ in tree.bodies}
    return {
        name: _get_line(body)
        for name, body in named.items()
        if name in stubs or (body.start_byte in outermost and _does_nothing(body, tree))
    }


def _get_line(body: Node) -> int:
    return body.start_point[0] + 1


def _does_nothing(body: Node, tree: SyntaxTree) -> bool:
    """Return whether a function of pointers only guards, declares and returns."""
    head = body.parent
    if head is None or b"*" not in tree.text[head.start_byte : body.start_byte]:
        return False
    for node in walk(body):
        said = tree.text[node.start_byte : node.end_byte]
        if node.type.endswith("_statement") and node.type not in _IDLE and not _UNUSED.match(said):
            return False
        if node.type in _ACTS and not _LAST_ERROR.match(said):
            return False
    return True
