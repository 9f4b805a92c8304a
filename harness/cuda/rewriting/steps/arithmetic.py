"""Arithmetic of device code, rewritten to count itself: see counted.h."""

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from harness.cuda.rewriting.text import lexer, syntax
from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Directive, Lexed, Token

OPERATORS = {b"+": b"plus", b"-": b"minus", b"*": b"times", b"/": b"over"}
_PASSED_OVER = frozenset(
    b"template_argument_list template_parameter_list array_declarator abstract_array_declarator parameter_list "
    b"static_assert_declaration decltype sizeof_expression alignof_expression bitfield_clause enumerator "
    b"attribute_specifier string_literal raw_string_literal comment".decode().split()
)
"""Nodes without a kernel's arithmetic: constant sizes and arguments, and unevaluated operands."""
_INTEGERS_ONLY = frozenset(
    b"identifier number_literal binary_expression parenthesized_expression field_expression field_identifier "
    b"subscript_argument_list + - * / % . -> ( ) [ ] ,".decode().split()
)
"""Nodes of integer arithmetic, if an index consists of them alone."""
_BEFORE = b"auto emu = "
_ROUNDINGS = (b"rn", b"rz", b"ru", b"rd")


_FUNCTIONS = frozenset(
    b"exp exp2 exp10 expm1 log log2 log10 log1p pow sqrt rsqrt cbrt rcbrt hypot sin cos tan asin acos atan atan2 sinh "
    b"cosh tanh asinh acosh atanh sinpi cospi erf erfc erfinv erfcinv erfcx normcdf normcdfinv lgamma tgamma fmod "
    b"remainder rcp".decode().split()
)
"""Functions of mathematics; CUDA adds letters before or after them for other types."""


def _list_functions() -> dict[bytes, bytes]:
    found = {name: b"fused" for name in (b"fma", b"fmaf", b"__hfma", b"__hfma2", b"__hfma_relu", b"__hfma2_relu")}
    for stem, what in (("add", b"added"), ("sub", b"added"), ("mul", b"multiplied"), ("div", b"divided")):
        for name in (f"__h{stem}", f"__h{stem}2", f"__h{stem}_rn", f"__h{stem}2_rn", f"__h{stem}_sat"):
            found[name.encode()] = what
        for rounding in _ROUNDINGS:
            found[f"__f{stem}_".encode() + rounding] = found[f"__d{stem}_".encode() + rounding] = what
    found[b"__h2div"] = found[b"__fdividef"] = found[b"fdividef"] = b"divided"
    for rounding in _ROUNDINGS:
        found[b"__fmaf_" + rounding] = found[b"__fma_" + rounding] = b"fused"
    for stem in _FUNCTIONS:
        for name in (stem, f"{stem}f", f"__{stem}f", f"h{stem}", f"h2{stem}"):
            found.setdefault(name.encode(), b"function")
    for stem in ("__fsqrt_", "__frcp_", "__dsqrt_", "__drcp_"):
        for rounding in _ROUNDINGS:
            found[stem.encode() + rounding] = b"function"
    found[b"__frsqrt_rn"] = b"function"
    return found


FUNCTIONS = _list_functions()
_SCOPE = (b"::", b"std", b"cuda")


def rewrite(fragment: Fragment, functions: Sequence[Node]) -> None:
    """Rewrite the arithmetic of device functions."""
    _rewrite(fragment, list(_find_bodies(functions)))


def rewrite_macro(fragment: Fragment) -> None:
    """Rewrite a macro's body, which may be an expression without a terminator."""
    text = fragment.syntax.text
    if any(token.text in (b";", b"{", b"}") for token in fragment.syntax.tokens):
        _rewrite(fragment, [fragment.syntax.root])
        return
    whole = _BEFORE + text + b";"
    expression = Fragment(syntax.parse(whole, Lexed(lexer.lex(whole).tokens, [])), fragment.parameters)
    _rewrite(expression, [expression.syntax.root])
    for edit in expression.edits.edits:
        fragment.edits.replace(edit.start - len(_BEFORE), edit.end - len(_BEFORE), edit.text)


def _rewrite(fragment: Fragment, code: Sequence[Node]) -> None:
    names = _Names.of(fragment)
    done: set[int] = set()
    for node in code:
        for sign in _find_operators(node, names):
            if sign.start_byte not in done:
                done.add(sign.start_byte)
                spelled = fragment.text(sign.start_byte, sign.end_byte)
                word = b"::emu::counted::" + OPERATORS[spelled.rstrip(b"=")]
                fragment.edits.replace(sign.start_byte, sign.end_byte, b"%s %s %s " % (spelled, word, spelled))
        for index, token in _find_words(fragment, node):
            if token.text in FUNCTIONS and token.start not in done:
                done.add(token.start)
                _rewrite_call(fragment, index, FUNCTIONS[token.text])


def _rewrite_call(fragment: Fragment, index: int, what: bytes) -> None:
    tokens = fragment.syntax.tokens
    called = index + 1 < len(tokens) and tokens[index + 1].text == b"("
    end = fragment.syntax.partners.get(index + 1) if called else None
    first = _find_start(tokens, index)
    if end is not None and first is not None:
        fragment.edits.insert(tokens[first].start, b"::emu::counted::" + what + b"(")
        fragment.edits.insert(tokens[end].end, b")")


def list_condition_names(directives: Sequence[Directive]) -> frozenset[bytes]:
    """Return names in preprocessor conditions, whose macros must stay plain numbers."""
    conditions = (directive for directive in directives if directive.name in (b"if", b"elif"))
    return frozenset(token.text for directive in conditions for token in directive.tokens)


@dataclass(frozen=True)
class _Names:
    """Names of values and of types in a text: `(n) * x` may be a product, or a cast of `*x`."""

    values: frozenset[bytes]
    types: frozenset[bytes]

    @classmethod
    def of(cls, fragment: Fragment) -> "_Names":
        values, types = set(fragment.parameters or ()), set()
        for node in syntax.walk(fragment.syntax.root):
            if node.type == "identifier":
                values.add(node.text or b"")
            elif node.type == "type_identifier" and not _is_cast(node.parent and node.parent.parent):
                types.add(node.text or b"")
        return cls(frozenset(values), frozenset(types))


def _is_cast(node: Node | None) -> bool:
    # `(name) * x`, or with another sign that is both unary and binary
    value = node.child_by_field_name("value") if node is not None and node.type == "cast_expression" else None
    return value is not None and value.type in ("pointer_expression", "unary_expression")


def _is_computing(node: Node, names: _Names) -> bool:
    # the grammar cannot tell casts from products, so the names decide
    if _is_cast(node):
        named = node.child_by_field_name("type")
        text = (named.text or b"").strip() if named is not None else b""
        return text in names.values and text not in names.types
    left = node.child_by_field_name("left")
    if node.type == "binary_expression" and left is not None and left.type == "parenthesized_expression":
        text = (left.text or b"")[1:-1].strip()
        return text not in names.types
    return node.type in ("binary_expression", "assignment_expression")


def _find_bodies(functions: Sequence[Node]) -> Iterator[Node]:
    for function in functions:
        for child in function.children:
            if child.type == "field_initializer_list":
                yield child
        if (body := function.child_by_field_name("body")) is not None:
            yield body


def _find_operators(root: Node, names: _Names) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _PASSED_OVER or (node.type == "subscript_argument_list" and _is_of_integers(node)):
            continue
        if node.type == "declaration" and any(
            c.type == "type_qualifier" and c.text == b"constexpr" for c in node.children
        ):
            continue
        children = node.children
        if node.type == "case_statement":
            value = node.child_by_field_name("value")
            children = [child for child in children if child != value]
        if _is_computing(node, names):
            owner = node.child_by_field_name("value") if node.type == "cast_expression" else node
            sign = owner and owner.child_by_field_name("operator")
            if sign is not None and (sign.text or b"").rstrip(b"=") in OPERATORS:
                yield sign
        waiting += children


def _is_of_integers(node: Node) -> bool:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type not in _INTEGERS_ONLY:
            return False
        waiting += node.children
    return True


def _find_words(fragment: Fragment, node: Node) -> Iterator[tuple[int, Token]]:
    tokens = fragment.syntax.tokens
    index = bisect.bisect_left(tokens, node.start_byte, key=lambda token: token.start)
    while index < len(tokens) and tokens[index].start < node.end_byte:
        if tokens[index].kind == "word":
            yield index, tokens[index]
        index += 1


def _find_start(tokens: Sequence[Token], index: int) -> int | None:
    """Return the start of a called name; None for members and the author's own scopes."""
    while index > 0 and tokens[index - 1].text in _SCOPE:
        index -= 1
    before = tokens[index - 1] if index else None
    if before is None:
        return index
    scoped = tokens[index].text == b"::" and before.kind == "word" and before.text != b"return"
    return None if scoped or before.text in (b".", b"->") else index
