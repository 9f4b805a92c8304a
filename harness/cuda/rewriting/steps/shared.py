"""`__shared__` variables become references into the running block's shared memory.

The declaration becomes a typedef, which suits any declarator, followed by the references. At file scope, these go into
the functions that name the variable.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Token, brackets, groups
from harness.cuda.rewriting.text.syntax import Qualified, name_of, walk

_NUMBER = re.compile(rb"[\d(]|sizeof|alignof")
"""Start of what can only be a number; a name may be a type."""
_ALIGNAS = frozenset((b"alignas",))


@dataclass(frozen=True)
class SharedVariable:
    """A variable in shared memory; `dynamic` if `extern`, the memory that a launch requests."""

    name: bytes
    dynamic: bool


def rewrite(fragment: Fragment, marked: Qualified) -> tuple[SharedVariable, ...]:
    """Rewrite one declaration; return file-scope variables, to be referenced in functions."""
    node = marked.node
    head = _find_head(fragment, marked)
    dynamic = any(token.text == b"extern" for token in head)
    local = fragment.is_macro or fragment.syntax.in_function(node.start_byte)
    _make_typedef(fragment, marked)
    behind = b""
    found = []
    for name in _find_names(node):
        spelled = fragment.text(name.start_byte, name.end_byte)
        fragment.edits.insert(name.end_byte, fragment.derive_name(spelled, b"type")[len(spelled) :])
        behind += b"" if dynamic else _make_slot(fragment, spelled)
        behind += _make_reference(fragment, spelled, dynamic) if local else b""
        found.append(SharedVariable(spelled, dynamic))
    fragment.follow(node.end_byte, behind)
    return () if local else tuple(found)


def refer(fragment: Fragment, functions: Iterable[Node], variables: Mapping[bytes, SharedVariable]) -> None:
    """Insert references to the variables that functions name without declaring them."""
    for function in functions:
        body = function.child_by_field_name("body")
        if body is None or not variables:
            continue
        used = {t.text: None for t in fragment.syntax.words(body.start_byte, body.end_byte) if t.text in variables}
        own = _find_declared(fragment, function) if used else set()
        references = [_make_reference(fragment, name, variables[name].dynamic) for name in used if name not in own]
        fragment.edits.insert(body.start_byte + 1, b"".join(references))


def _find_declared(fragment: Fragment, function: Node) -> set[bytes]:
    return {
        fragment.text(name.start_byte, name.end_byte)
        for node in walk(function)
        if node.type in ("declaration", "parameter_declaration", "optional_parameter_declaration")
        for name in _find_names(node)
    }


def _find_head(fragment: Fragment, marked: Qualified) -> list[Token]:
    start = min(marked.node.start_byte, marked.qualifiers[0].start)
    return list(fragment.syntax.words(start, marked.node.end_byte))


def _make_typedef(fragment: Fragment, marked: Qualified) -> None:
    tokens = _find_head(fragment, marked)
    first = True
    for token in tokens:
        if token.text == b"__shared__":
            fragment.edits.replace(token.start, token.end, b"typedef" if first else b"")
            first = False
        elif token.text in (b"static", b"extern"):
            fragment.edits.replace(token.start, token.end, b"")
    for start, end in groups(tokens, brackets(tokens), _ALIGNAS):
        inner = [token.text for token in tokens[start + 2 : end - 1]]
        is_number = b"?" in inner or any(map(_NUMBER.match, inner[:1]))
        opening, closing = (b"(", b")") if is_number else (b"(::emu::alignment<", b">())")
        # `alignas` is not allowed in a typedef
        fragment.edits.replace(tokens[start].start, tokens[start + 1].end, b"__attribute__((aligned" + opening)
        fragment.edits.replace(tokens[end - 1].start, tokens[end - 1].end, closing + b"))")


def _find_names(node: Node) -> list[Node]:
    declarators = node.children_by_field_name("declarator")
    return [name for name in map(name_of, declarators) if name is not None]


def _make_slot(fragment: Fragment, name: bytes) -> bytes:
    type_ = fragment.derive_name(name, b"type")
    slot = fragment.derive_name(name, b"slot")
    return b" static ::emu::SharedSlot %s{sizeof(%s), alignof(%s), %s};" % (slot, type_, type_, fragment.quote(name))


def _make_reference(fragment: Fragment, name: bytes, dynamic: bool) -> bytes:
    type_ = fragment.derive_name(name, b"type")
    place = b"dynamic_shared()" if dynamic else b"shared(" + fragment.derive_name(name, b"slot") + b")"
    return b" %s& %s = *static_cast<%s*>(::emu::%s);" % (type_, name, type_, place)
