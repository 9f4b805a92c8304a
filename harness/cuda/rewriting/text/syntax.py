"""Trees of texts with masked CUDA: the grammar knows plain C++ best.

Masks have the length of what they hide, so offsets in tree and text are the same.
"""

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from harness.cuda.rewriting.text import launches
from harness.cuda.rewriting.text.lexer import Lexed, Token, brackets, groups

QUALIFIERS = frozenset((b"__global__", b"__device__", b"__host__", b"__shared__", b"__constant__", b"__managed__"))
ASM = frozenset((b"asm", b"__asm", b"__asm__"))
_PLAIN = frozenset(
    b"__forceinline__ __noinline__ __inline__ __restrict__ __restrict __grid_constant__ __extension__".split()
)
_CALLED = frozenset(
    b"__launch_bounds__ __cluster_dims__ __maxnreg__ __block_size__ __align__ alignas __attribute__ __declspec".split()
)
_DECLARATIONS = frozenset(
    b"function_definition declaration field_declaration template_instantiation lambda_expression "
    b"friend_declaration alias_declaration type_definition".decode().split()
)
_FAR = 32
"""Most levels to follow from a node."""


@dataclass(frozen=True)
class Qualified:
    """A declaration, function or lambda with its CUDA qualifiers."""

    node: Node
    qualifiers: tuple[Token, ...]

    def has(self, *names: bytes) -> bool:
        """Return whether any of `names` is a qualifier."""
        return any(token.text in names for token in self.qualifiers)


@dataclass(frozen=True)
class SyntaxTree:
    """A parsed text.

    Attributes:
        tokens: those outside directives.
        partners: indices of matching brackets in `tokens`.
        functions: functions and lambdas with a body, by start.
        bodies: offsets of the outermost bodies.
        marked: declarations with CUDA qualifiers.
        lost: qualifiers without a known declaration.
    """

    text: bytes
    root: Node
    tokens: Sequence[Token]
    partners: dict[int, int]
    functions: tuple[Node, ...]
    bodies: tuple[tuple[int, int], ...]
    marked: tuple[Qualified, ...]
    lost: tuple[Token, ...]

    def words(self, start: int, end: int) -> Iterator[Token]:
        """Yield the tokens between two offsets."""
        index = bisect.bisect_left(self.tokens, start, key=lambda token: token.start)
        while index < len(self.tokens) and self.tokens[index].start < end:
            yield self.tokens[index]
            index += 1

    def in_function(self, offset: int) -> bool:
        """Return whether an offset is in the body of a function or lambda."""
        return within(self.bodies, offset)


def within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset is in one of some disjoint, sorted spans."""
    index = bisect.bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return index >= 0 and offset < spans[index][1]


def outer_spans(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the outermost of nested spans, in order."""
    outer: list[tuple[int, int]] = []
    for span in sorted(spans):
        if not outer or span[0] >= outer[-1][1]:
            outer.append(span)
    return tuple(outer)


@cache
def _make_parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def parse(text: bytes, lexed: Lexed) -> SyntaxTree:
    """Parse `text`; errors leave holes in the tree instead of raising."""
    tokens = lexed.tokens
    partners = brackets(tokens)
    hidden = list(_find_hidden(tokens, partners))
    tree = _make_parser().parse(_mask(text, lexed, hidden))
    nodes = [node for node in walk(tree.root_node) if node.type in _DECLARATIONS]
    functions = tuple(node for node in nodes if node.child_by_field_name("body") is not None)
    bodies = outer_spans((b.start_byte, b.end_byte) for n in functions if (b := n.child_by_field_name("body")))
    covered = _find_covered(tokens, hidden)
    marked, lost = _mark(nodes, tokens, covered)
    return SyntaxTree(text, tree.root_node, tokens, partners, functions, bodies, marked, lost)


def walk(root: Node) -> Iterator[Node]:
    """Yield all nodes by their starts, without recursion."""
    cursor = root.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def line_of(text: bytes, offset: int) -> int:
    """Return a byte's line, counted from 1."""
    return text.count(b"\n", 0, offset) + 1


def _find_hidden(tokens: Sequence[Token], partners: dict[int, int]) -> Iterator[tuple[int, int, bytes]]:
    for index, token in enumerate(tokens):
        if token.text in (b"__shared__", b"__constant__"):
            # rules out an expression, which `T *p;` alone could be
            yield index, index + 1, b"static"
        elif token.text in QUALIFIERS or token.text in _PLAIN:
            yield index, index + 1, b""
    for start, end in groups(tokens, partners, _CALLED):
        yield start, end, b""
    for start, end in asm(tokens, partners):
        yield start, end, b"0"


def asm(tokens: Sequence[Token], partners: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Yield index ranges of inline assembly, with qualifiers and operands."""
    for index, token in enumerate(tokens):
        if token.kind == "word" and token.text in ASM:
            at = index + 1
            while at < len(tokens) and tokens[at].kind == "word":
                at += 1
            end = partners.get(at) if at < len(tokens) and tokens[at].text == b"(" else None
            yield index, index + 1 if end is None else end + 1


def _mask(text: bytes, lexed: Lexed, hidden: Sequence[tuple[int, int, bytes]]) -> bytes:
    masked = bytearray(text)
    spans = [(d.start, d.end, b"") for d in lexed.directives]
    spans += [(lexed.tokens[a].start, lexed.tokens[b - 1].end, seen) for a, b, seen in hidden]
    spans += [(launch.left, launch.right, b"") for launch in launches.find(lexed.tokens, brackets(lexed.tokens))]
    for start, end, seen in spans:
        masked[start:end] = seen.ljust(end - start)
    # in a macro's body, line ends and pastes are no tokens of the grammar
    return bytes(masked).replace(b"\\\r\n", b"   ").replace(b"\\\n", b"  ").replace(b"##", b"__")


def _find_covered(tokens: Sequence[Token], hidden: Sequence[tuple[int, int, bytes]]) -> list[bool]:
    covered = [False] * len(tokens)
    for start, end, seen in hidden:
        if seen != b"0":
            covered[start:end] = [True] * (end - start)
    return covered


def _mark(
    nodes: Sequence[Node], tokens: Sequence[Token], covered: Sequence[bool]
) -> tuple[tuple[Qualified, ...], tuple[Token, ...]]:
    """Assign each qualifier to the innermost declaration with the next plain token in its head."""
    bearers: dict[int, tuple[Node, list[Token]]] = {}
    lost: list[Token] = []
    waiting: list[Token] = []
    open_nodes: list[Node] = []
    upcoming = iter(nodes)
    following = next(upcoming, None)
    for token, hidden in zip(tokens, covered, strict=True):
        if hidden:
            if token.text in QUALIFIERS:
                waiting.append(token)
            continue
        while following is not None and following.start_byte <= token.start:
            open_nodes.append(following)
            following = next(upcoming, None)
        while open_nodes and open_nodes[-1].end_byte <= token.start:
            open_nodes.pop()
        if waiting:
            node = open_nodes[-1] if open_nodes else None
            if node is None or not _is_in_head(node, token.start):
                lost += waiting
            else:
                bearers.setdefault(node.id, (node, []))[1].extend(waiting)
            waiting = []
    marked = tuple(Qualified(node, tuple(qualifiers)) for node, qualifiers in bearers.values())
    return marked, (*lost, *waiting)


def _is_in_head(node: Node, at: int) -> bool:
    body = node.child_by_field_name("body")
    return body is None or at < body.start_byte


def name_of(declarator: Node | None) -> Node | None:
    """Return the node of the declared name, or None."""
    node = declarator
    for _ in range(_FAR):
        if node is None or node.type in ("identifier", "field_identifier", "qualified_identifier", "template_function"):
            return node
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)
        node = inner
    return None


def outermost(node: Node) -> Node:
    """Return the declaration with its `template <...>` and `extern "C"`."""
    for _ in range(_FAR):
        parent = node.parent
        if parent is None or parent.type not in ("template_declaration", "linkage_specification"):
            return node
        body = parent.child_by_field_name("body")
        if body is not None and body.type == "declaration_list":
            return node
        node = parent
    return node
