"""Integers in C, C++ or CUDA source: literals, and constant expressions of them."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

# the grammar is loaded when C source is read
if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LARGEST = 2**31
"""Largest integer that may be a size."""
_WIDEST = 2**63
_NUMBER = re.compile(r"(?i)(?P<digits>0x[0-9a-f]+|0b[01]+|[0-9]+)[ulz]{0,3}")
_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": lambda a, b: a << b if 0 <= b < 63 else _WIDEST,
    ">>": lambda a, b: a >> b if 0 <= b < 63 else 0,
}
_UNARY: Mapping[str, Callable[[int], int]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_SIZES = {
    1: ("char", "int8_t", "uint8_t"),
    2: ("short", "int16_t", "uint16_t", "half", "__half", "__nv_bfloat16"),
    4: ("int", "unsigned", "unsigned int", "int32_t", "uint32_t", "float", "half2"),
    8: ("long", "long long", "unsigned long long", "int64_t", "uint64_t", "size_t", "double", "float2", "int2"),
    16: ("float4", "int4", "uint4"),
}
_BYTES = {name: size for size, names in _SIZES.items() for name in names}
_CONSTANT = frozenset({"const", "constexpr"})
_WRAPPERS = frozenset({"parenthesized_expression", "initializer_list", "argument_list"})


def integer_literals(text: str) -> frozenset[int]:
    """Return all integers of 0..2^31 in C, C++ or CUDA source.

    Besides literals these are expressions of them, of named constants (`const`, `constexpr`, enumerators, macros
    without parameters, defined above their use) and of `sizeof` of plain types. Text that does not parse is read as far
    as possible.
    """
    constants: dict[str, int] = {}
    found = set(_iter_values(text.encode(), constants))
    return frozenset(value for value in found if 0 <= value <= LARGEST)


def _iter_values(text: bytes, constants: dict[str, int]) -> Iterator[int]:
    known: dict[int, int] = {}
    for node in _walk_children_first(_make_parser().parse(text).root_node):
        if node.type == "preproc_def":
            yield from _read_macro(node, constants)
            continue
        value = _evaluate(node, known, constants)
        if value is not None and abs(value) < _WIDEST:
            known[node.id] = value
            yield value
        elif (named := _find_constant(node, known)) is not None:
            constants[named[0]] = named[1]


@cache
def _make_parser() -> "Parser":
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def _walk_children_first(root: "Node") -> Iterator["Node"]:
    # without recursion, which deep nesting would exhaust
    cursor = root.walk()
    while True:
        if cursor.goto_first_child():
            continue
        while True:
            if (node := cursor.node) is not None and node.is_named:
                yield node
            if cursor.goto_next_sibling():
                break
            if not cursor.goto_parent():
                return


def _evaluate(node: "Node", known: Mapping[int, int], constants: Mapping[str, int]) -> int | None:
    match node.type:
        case "number_literal":
            return _parse_number(_get_text(node))
        case "identifier":
            return constants.get(_get_text(node))
        case "binary_expression":
            return _apply(_BINARY, node, [_get_part(node, "left", known), _get_part(node, "right", known)])
        case "unary_expression":
            return _apply(_UNARY, node, [_get_part(node, "argument", known)])
        case "cast_expression" | "compound_literal_expression":
            return _get_part(node, "value", known)
        case "call_expression":
            function = node.child_by_field_name("function")
            cast = function is not None and _get_text(function).startswith("static_cast")
            return _get_part(node, "arguments", known) if cast else None
        case "sizeof_expression":
            return _BYTES.get(_get_text(node).removeprefix("sizeof").strip("() \t"))
        case kind if kind in _WRAPPERS and node.named_child_count == 1:
            return known.get(node.named_children[0].id)
    return None


def _apply(table: Mapping[str, Callable[..., int]], node: "Node", parts: list[int | None]) -> int | None:
    sign = node.child_by_field_name("operator")
    function = None if sign is None else table.get(_get_text(sign))
    if function is None or any(part is None for part in parts):
        return None
    try:
        return function(*parts)
    except ZeroDivisionError:
        return None


def _get_part(node: "Node", field: str, known: Mapping[int, int]) -> int | None:
    child = node.child_by_field_name(field)
    return None if child is None else known.get(child.id)


def _find_constant(node: "Node", known: Mapping[int, int]) -> tuple[str, int] | None:
    value = _get_part(node, "value", known) if node.type in ("enumerator", "init_declarator") else None
    name = node.child_by_field_name("name" if node.type == "enumerator" else "declarator")
    if node.type == "field_declaration":
        value = _get_part(node, "default_value", known)
    holder = node.parent if node.type == "init_declarator" else node
    if value is None or name is None or holder is None:
        return None
    if node.type != "enumerator" and not any(_get_text(child) in _CONSTANT for child in holder.named_children):
        return None
    return _get_text(name), value


def _read_macro(node: "Node", constants: dict[str, int]) -> Iterator[int]:
    """Yield the values in a macro without parameters; add it to `constants` if it is one."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or body is None:
        return
    wrapped = b"const int a = " + (body.text or b"").replace(b"\\\n", b"  ") + b";"
    own = dict(constants)
    own.pop("a", None)
    yield from _iter_values(wrapped, own)
    if "a" in own:
        constants[_get_text(name)] = own["a"]


def _parse_number(text: str) -> int | None:
    whole = _NUMBER.fullmatch(text.replace("'", ""))
    if whole is None or len(text) > 66:
        return None
    digits = whole["digits"].lower()
    if digits[:2] in ("0x", "0b"):
        return int(digits, 0)
    octal = len(digits) > 1 and digits[0] == "0"
    return int(digits, 8) if octal and not set(digits) & set("89") else int(digits)


def _get_text(node: "Node") -> str:
    return (node.text or b"").decode(errors="replace")
