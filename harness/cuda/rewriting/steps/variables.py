"""`__device__`, `__constant__` and `__managed__` variables, registered as device memory."""

from tree_sitter import Node

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.syntax import Qualified, name_of


def rewrite(fragment: Fragment, marked: Qualified) -> None:
    """Register every variable that a declaration defines."""
    node = marked.node
    if node.type != "declaration" or (node.parent is not None and node.parent.type == "template_declaration"):
        return
    start = min(node.start_byte, marked.qualifiers[0].start)
    declarators = node.children_by_field_name("declarator")
    words = {token.text for token in fragment.syntax.words(start, declarators[0].start_byte if declarators else start)}
    registrations = b""
    space = b"Constant" if marked.has(b"__constant__") else b"Managed" if marked.has(b"__managed__") else b"Global"
    for declarator in declarators:
        name = name_of(declarator)
        if name is None or _is_function(declarator):
            continue
        if b"extern" in words and declarator.type != "init_declarator":
            continue
        spelled = fragment.text(name.start_byte, name.end_byte)
        symbol = fragment.derive_name(spelled.replace(b"::", b"_"), b"symbol")
        parts = (symbol, spelled, spelled, fragment.quote(spelled), space)
        registrations += b" static ::emu::Symbol %s{(void*)&%s, sizeof(%s), %s, ::emu::Space::%s};" % parts
    if registrations:
        fragment.follow(node.end_byte, registrations)


def _is_function(declarator: Node) -> bool:
    for _ in range(8):
        if declarator.type == "function_declarator":
            inner = declarator.child_by_field_name("declarator")
            # a parenthesised inner declarator makes it a pointer to a function
            return inner is None or inner.type != "parenthesized_declarator"
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            return False
        declarator = inner
    return False
