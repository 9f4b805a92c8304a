"""A kernel becomes a renamed body and a stub that launches it."""

from dataclasses import dataclass

from tree_sitter import Node

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import flat
from harness.cuda.rewriting.text.syntax import Qualified, line_of, name_of, outermost

_TYPES = ("type_parameter_declaration", "optional_type_parameter_declaration", "variadic_type_parameter_declaration")


@dataclass(frozen=True)
class Listed:
    """A parameter list for a stub, the arguments that pass it on, and their types."""

    declared: bytes
    passed: bytes
    types: bytes = b""


def rewrite(fragment: Fragment, marked: Qualified) -> None:
    """Rename the body of a kernel and put its stub behind it."""
    node = marked.node
    body, function = node.child_by_field_name("body"), _find_function(node.child_by_field_name("declarator"))
    # declarations and instantiations already name the stub
    if node.type != "function_definition" or body is None or function is None:
        return
    declarator, parameters = function.child_by_field_name("declarator"), function.child_by_field_name("parameters")
    if declarator is None or parameters is None:
        return
    outer = outermost(node)
    scope, name = _reopen_scopes(fragment, outer, declarator)
    plain = name if name.type == "identifier" else name.child_by_field_name("name") or name
    specialised = name.type == "template_function"
    suffix = b"body_%d" % line_of(fragment.syntax.text, node.start_byte) if specialised else b"body"
    renamed = fragment.derive_name(fragment.text(plain.start_byte, plain.end_byte), suffix)
    fragment.edits.replace(name.start_byte, name.end_byte, renamed)
    prefix, arguments = _make_prefix(fragment, outer, declarator.start_byte, specialised)
    if specialised:
        _drop_template(fragment, outer, node)
    listed = _list_parameters(fragment, parameters, b"emu_argument_")
    spelled, behind = fragment.text(name.start_byte, name.end_byte), fragment.text(parameters.end_byte, body.start_byte)
    stub = b" %s%s%s%s" % (prefix, spelled, listed.declared, flat(behind))
    stub += b" { static const ::emu::Kernel emu_kernel{__func__, %s};" % fragment.site(name.start_byte)
    called = b"%s%s(%s); }, ::emu::Parameters%s" % (renamed, arguments, listed.passed, listed.types)
    stub += b" ::emu::launch(emu_kernel, [=]() EMU_UNINSTRUMENTED { %s{}); }" % called
    fragment.edits.insert(body.end_byte, stub + b" }" * scope)


def _find_function(declarator: Node | None) -> Node | None:
    # a result that is a pointer puts declarators above the function's
    for _ in range(8):
        if declarator is None or declarator.type == "function_declarator":
            return declarator
        declarator = declarator.child_by_field_name("declarator")
    return None


def _reopen_scopes(fragment: Fragment, outer: Node, declarator: Node) -> tuple[int, Node]:
    """Reopen the namespaces of `a::b::k`; return their number and the last part of the name."""
    depth = 0
    while declarator.type == "qualified_identifier" and depth < 8:
        scope, name = declarator.child_by_field_name("scope"), declarator.child_by_field_name("name")
        if scope is None or name is None:
            break
        opened = b"namespace " + fragment.text(scope.start_byte, scope.end_byte) + b" { "
        fragment.edits.insert(outer.start_byte, opened)
        fragment.edits.replace(scope.start_byte, name.start_byte, b"")
        declarator = name
        depth += 1
    return depth, declarator


def _make_prefix(fragment: Fragment, outer: Node, end: int, specialised: bool) -> tuple[bytes, bytes]:
    template = outer
    while template.type == "linkage_specification" and (inner := template.child_by_field_name("body")) is not None:
        template = inner
    if template.type != "template_declaration" or specialised:
        return flat(fragment.text(outer.start_byte, end)) + b" ", b""
    parameters = template.child_by_field_name("parameters")
    if parameters is None:
        return flat(fragment.text(outer.start_byte, end)) + b" ", b""
    listed = _list_parameters(fragment, parameters, b"EmuParameter")
    before = flat(fragment.text(outer.start_byte, parameters.start_byte))
    after = flat(fragment.text(parameters.end_byte, end))
    return before + b" " + listed.declared + b" " + after + b" ", b"<" + listed.passed + b">"


def _drop_template(fragment: Fragment, outer: Node, node: Node) -> None:
    # the body of an explicit specialisation is a plain function
    parameters = outer.child_by_field_name("parameters")
    if outer.type == "template_declaration" and parameters is not None and parameters.end_byte <= node.start_byte:
        fragment.edits.replace(outer.start_byte, parameters.end_byte, b"")


def _list_parameters(fragment: Fragment, parameters: Node, stem: bytes) -> Listed:
    pieces: list[bytes] = []
    passed: list[bytes] = []
    types: list[bytes] = []
    at = parameters.start_byte
    for index, parameter in enumerate(p for p in parameters.named_children if p.type != "comment"):
        if parameter.type == "parameter_declaration" and parameter.text == b"void":
            continue
        pack = parameter.type.startswith("variadic") or any(c.type == "..." for c in parameter.children)
        name = _find_parameter_name(parameter)
        if name is not None:
            spelled = fragment.text(name.start_byte, name.end_byte)
        else:
            # the stub must name a parameter to pass it on
            spelled = stem + b"%d" % index
            place = _find_unnamed_place(parameter)
            pieces += [fragment.text(at, place), b" ", spelled]
            at = place
        passed.append(spelled + b"..." if pack else spelled)
        types.append(b"decltype(%s)" % spelled + (b"..." if pack else b""))
    pieces.append(fragment.text(at, parameters.end_byte))
    return Listed(flat(b"".join(pieces)), b", ".join(passed), b"<" + b", ".join(types) + b">")


def _find_parameter_name(parameter: Node) -> Node | None:
    if parameter.type == "template_template_parameter_declaration":
        inner = next((c for c in parameter.named_children if c.type in _TYPES), None)
        return None if inner is None else _find_parameter_name(inner)
    if parameter.type in _TYPES:
        name = parameter.child_by_field_name("name")
        return name or next((c for c in parameter.named_children if c.type == "type_identifier"), None)
    return name_of(parameter.child_by_field_name("declarator"))


def _find_unnamed_place(parameter: Node) -> int:
    if parameter.type == "template_template_parameter_declaration":
        return parameter.end_byte
    if parameter.type in _TYPES:
        return next((c.start_byte for c in parameter.children if c.type == "="), parameter.end_byte)
    node = parameter.child_by_field_name("declarator")
    place = next((c.start_byte for c in parameter.children if c.type == "="), parameter.end_byte)
    for _ in range(8):
        if node is None:
            break
        inner = node.child_by_field_name("declarator")
        inner = inner or next((c for c in node.named_children if "declarator" in c.type), None)
        place = node.end_byte
        if inner is None and node.type in ("abstract_array_declarator", "abstract_function_declarator"):
            place = node.start_byte
        node = inner
    return place
