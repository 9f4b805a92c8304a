"""Internal linkage as without nvcc's `-rdc=true`: `static` before device functions and variables."""

from tree_sitter import Node

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.syntax import name_of

_OTHERWISE = frozenset(
    b"static extern inline __inline __inline__ __forceinline__ constexpr friend template typedef using virtual "
    b"explicit operator __host__ __global__ __shared__".split()
)
"""Words that give a declaration another linkage, or more than device code."""


def rewrite(fragment: Fragment) -> None:
    """Rewrite declarations of namespaces; templates and members may be in several units anyway."""
    for marked in fragment.syntax.marked:
        start = min(marked.node.start_byte, marked.qualifiers[0].start)
        declares = marked.node.type in ("declaration", "function_definition")
        of_device = declares and marked.has(b"__device__", b"__constant__", b"__managed__")
        if of_device and _is_of_namespace(marked.node) and not _says_otherwise(fragment, marked.node, start):
            fragment.edits.insert(start, b"static ")


def _is_of_namespace(node: Node) -> bool:
    parent = node.parent
    for _ in range(64):
        if parent is None or parent.type == "translation_unit":
            return True
        if parent.type not in ("declaration_list", "namespace_definition"):
            return False
        parent = parent.parent
    return False


def _says_otherwise(fragment: Fragment, node: Node, start: int) -> bool:
    declarator = node.child_by_field_name("declarator")
    name = declarator and name_of(declarator)
    if declarator is None or name is None or b"::" in fragment.text(name.start_byte, name.end_byte):
        return True
    return any(token.text in _OTHERWISE for token in fragment.syntax.words(start, name.start_byte))
