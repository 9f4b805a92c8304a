"""Mutation operators for CUDA."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from harness.cuda.rewriting.text.lexer import lex
from harness.cuda.rewriting.text.syntax import SyntaxTree, name_of, parse, walk
from harness.mutation.operators.changes import SourceChange

if TYPE_CHECKING:
    from tree_sitter import Node

_ARITHMETIC: Mapping[str, str] = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "&",
}
_COMPARISONS: Mapping[str, tuple[str, ...]] = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
}
_LOGICAL: Mapping[str, str] = {"&&": "||", "||": "&&"}
_OTHER_FUNCTION: Mapping[str, str] = {
    "min": "max",
    "max": "min",
    "fmaxf": "fminf",
    "fminf": "fmaxf",
    "expf": "exp2f",
    "__expf": "exp2f",
    "exp2f": "expf",
    "__shfl_xor_sync": "__shfl_down_sync",
    "__shfl_down_sync": "__shfl_xor_sync",
    "__syncthreads_or": "__syncthreads_and",
    "__any_sync": "__all_sync",
    "__all_sync": "__any_sync",
    "__ffs": "__clz",
    "__clz": "__ffs",
    "__popc": "__ffs",
    "atomicAdd": "atomicMax",
    "atomicMax": "atomicMin",
}
_EXPONENTIALS = frozenset({"expf", "__expf", "exp2f"})
_CONSTANT = frozenset(
    {
        "template_argument_list",
        "array_declarator",
        "static_assert_declaration",
        "case_statement",
        "sizeof_expression",
        "enumerator",
        "string_literal",
        "char_literal",
    }
)
"""Nodes inside which an expression must be constant, or has no value."""
_NARROWED = "__uint_as_float(__float_as_uint({}) & 0xffff0000u)"
"""Float rounded to the 8 significant bits of a bfloat16."""
Change = tuple[str, str]
"""Operator, and the text that replaces a node."""
Said = Callable[["Node | None"], str]
"""Function that returns the author's text of a node."""


def parse_source(source: str) -> SyntaxTree:
    """Return the tree of a source, whose offsets count bytes."""
    text = source.encode()
    return parse(text, lex(text))


def cuda_changes(source: str, spared: Collection[str]) -> list[SourceChange]:
    """Return all changes of a source in text order, except in `spared` functions."""
    text = source.encode()
    found: dict[tuple[int, int, str], SourceChange] = {}
    for function in parse_source(source).functions:
        body = function.child_by_field_name("body")
        name = name_of(function.child_by_field_name("declarator"))
        if body is None or (name is not None and text[name.start_byte : name.end_byte].decode() in spared):
            continue
        for node in _iter_variable(body):
            for operator, place, replacement in _change_node(node, text):
                start, end = (len(text[:offset].decode()) for offset in (place.start_byte, place.end_byte))
                statement = place.type.endswith("statement")
                change = SourceChange(operator, place.start_point[0] + 1, start, end, replacement, statement)
                if replacement != source[start:end]:
                    found.setdefault((start, end, replacement), change)
    return sorted(found.values(), key=lambda change: (change.start, change.end, change.text))


def _iter_variable(root: "Node") -> Iterator["Node"]:
    """Yield nodes whose expressions need not be constant."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _CONSTANT or (node.type == "declaration" and _is_constexpr(node)):
            continue
        yield node
        stack.extend(reversed(node.children))


def _is_constexpr(declaration: "Node") -> bool:
    return any(child.text in (b"constexpr", b"static") for child in declaration.children)


def _change_node(node: "Node", text: bytes) -> Iterator[tuple[str, "Node", str]]:
    def get_text(part: "Node | None") -> str:
        return text[part.start_byte : part.end_byte].decode() if part is not None else ""

    yield from ((operator, node, changed) for operator, changed in _change_in_place(node, get_text))
    match node.type:
        case "subscript_argument_list" if len(node.named_children) == 1:
            index = node.named_children[0]
            if index.type != "number_literal":
                yield from (("index", index, f"({get_text(index)} {sign} 1)") for sign in "+-")
        case "assignment_expression":
            yield from _change_assignment(node, get_text)
        case "if_statement":
            condition = node.child_by_field_name("condition")
            value = condition.child_by_field_name("value") if condition is not None else None
            if value is not None and value.type != "declaration":
                yield "condition", value, f"!({get_text(value)})"
        case "expression_statement" | "break_statement" | "continue_statement":
            if node.parent is not None and node.parent.type != "for_statement":
                yield "dropped statement", node, ";"


def _change_in_place(node: "Node", said: Said) -> Iterator[Change]:
    match node.type:
        case "number_literal":
            yield from _change_number(said(node))
        case "binary_expression":
            yield from _change_binary(*(said(node.child_by_field_name(part)) for part in ("left", "operator", "right")))
        case "unary_expression":
            yield "sign", f"({said(node.child_by_field_name('argument'))})"
        case "call_expression":
            yield from _change_call(node, said)
        case "conditional_expression":
            test, yes, no = (said(node.child_by_field_name(n)) for n in ("condition", "consequence", "alternative"))
            yield "condition", f"({test} ? {no} : {yes})"


def _change_number(number: str) -> Iterator[Change]:
    if number.isdigit():
        value = int(number)
        yield from (("constant", str(other)) for other in (value + 1, value - 1, 0, 2 * value) if other >= 0)
    elif number.rstrip("f").replace(".", "").isdigit():
        value_of = float(number.rstrip("f"))
        yield from (("constant", f"{other!r}f") for other in (2 * value_of or 1.0, 0.0))


def _change_binary(left: str, sign: str, right: str) -> Iterator[Change]:
    if other := _ARITHMETIC.get(sign):
        yield "arithmetic", f"({left} {other} {right})"
        yield "removed term", f"({left})"
        if sign in ("+", "*"):
            yield "removed term", f"({right})"
    yield from (("comparison", f"({left} {other} {right})") for other in _COMPARISONS.get(sign, ()))
    if sign in _LOGICAL:
        yield "condition", f"({left} {_LOGICAL[sign]} {right})"
        yield from (("removed term", f"({side})") for side in (left, right))


def _change_call(node: "Node", said: Said) -> Iterator[Change]:
    name, listed = said(node.child_by_field_name("function")), node.child_by_field_name("arguments")
    arguments = [said(child) for child in listed.named_children if child.type != "comment"] if listed else []
    if name in _OTHER_FUNCTION:
        yield "function", f"{_OTHER_FUNCTION[name]}({', '.join(arguments)})"
    for index in range(len(arguments) - 1):
        first, second = arguments[index : index + 2]
        if first != second:
            swapped = [*arguments[:index], second, first, *arguments[index + 2 :]]
            yield "swapped arguments", f"{name}({', '.join(swapped)})"
    if name in _EXPONENTIALS:
        yield "narrower accumulator", _NARROWED.format(said(node))


def _change_assignment(node: "Node", said: Said) -> Iterator[tuple[str, "Node", str]]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = said(node.child_by_field_name("operator"))
    statement = node.parent
    if right is None or statement is None or statement.type != "expression_statement" or sign == "=":
        return
    if other := _ARITHMETIC.get(sign[:-1]):
        yield "arithmetic", statement, f"{said(left)} {other}= {said(right)};"
    yield "narrower accumulator", right, _NARROWED.format(said(right))


def on_device(source: str, offset: int) -> bool:
    """Return whether the character at `offset` is in a device function."""
    tree, place = parse_source(source), len(source[:offset].encode())
    return any(
        mark.node.type == "function_definition" and mark.node.start_byte <= place < mark.node.end_byte
        for mark in tree.marked
        if mark.has(b"__device__", b"__global__")
    )


def find_exports(source: str, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield, for each function in `names`, the offset behind its opening brace and the name of its stream."""
    text = source.encode()
    for function in parse_source(source).functions:
        name, body = name_of(function.child_by_field_name("declarator")), function.child_by_field_name("body")
        if name is None or body is None or text[name.start_byte : name.end_byte].decode() not in names:
            continue
        streams = [
            text[declared.start_byte : declared.end_byte].decode()
            for parameter in walk(function)
            if parameter.type == "parameter_declaration" and b"cudaStream_t" in (parameter.text or b"")
            if (declared := name_of(parameter.child_by_field_name("declarator"))) is not None
        ]
        yield len(text[: body.start_byte + 1].decode()), (*streams, "0")[0]
