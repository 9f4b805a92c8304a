"""One file of CUDA source to C++ for the emulated device, with the same lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tree_sitter import Node

from harness.cuda.rewriting import assembly, left_out, unsupported
from harness.cuda.rewriting.steps import (
    architecture,
    arithmetic,
    copies,
    heap,
    indices,
    internal,
    kernels,
    shared,
    untyped,
    variables,
)
from harness.cuda.rewriting.steps.shared import SharedVariable
from harness.cuda.rewriting.text import launches, lexer, syntax
from harness.cuda.rewriting.text.edits import Edits, blank_lines
from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Lexed, Macro
from harness.cuda.rewriting.unsupported import Lacking


@dataclass
class Rewritten:
    """A rewritten file.

    Attributes:
        shared: the file's `__shared__` variables, for later files.
        left_out: number of emptied functions.
    """

    text: bytes
    shared: Mapping[bytes, SharedVariable] = field(default_factory=dict)
    left_out: int = 0


def rewrite(
    text: bytes,
    known: Mapping[bytes, SharedVariable],
    edits: Edits,
    lacking: Lacking = MappingProxyType({}),
    *,
    own_unit: bool = False,
    counted: bool = False,
) -> Rewritten:
    """Rewrite a file.

    Args:
        known: shared variables of included files.
        edits: earlier edits, to its directives.
        lacking: lines whose functions are emptied.
    """
    lexed = lexer.lex(text)
    fragment = Fragment(syntax.parse(text, lexed), edits=edits)
    device = _find_device_spans(fragment)
    emptied = left_out.rewrite(fragment, _find_device_functions(fragment), lacking) if lacking else 0
    if own_unit:
        internal.rewrite(fragment)
    if counted:
        arithmetic.rewrite(fragment, _find_device_functions(fragment))
    asked = arithmetic.list_condition_names(lexed.directives) if counted else frozenset()
    found = _rewrite_fragment(fragment, known, device)
    for directive in lexed.directives:
        architecture.rewrite(directive, device, edits)
        macro = lexer.macro(directive)
        if macro is not None and macro.body:
            start, end = macro.body[0].start, macro.body[-1].end
            edits.replace(start, end, _rewrite_macro(text[start:end], macro, counted and macro.name not in asked))
    return Rewritten(edits.apply(text), found, emptied)


def _rewrite_macro(text: bytes, macro: Macro, counted: bool) -> bytes:
    lexed = Lexed(lexer.lex(text).tokens, [])
    fragment = Fragment(syntax.parse(text, lexed), macro.parameters or frozenset())
    if counted:
        arithmetic.rewrite_macro(fragment)
    _rewrite_fragment(fragment, {}, ((0, len(text)),))
    return fragment.edits.apply(text)


def _rewrite_fragment(
    fragment: Fragment, known: Mapping[bytes, SharedVariable], device: Sequence[tuple[int, int]]
) -> Mapping[bytes, SharedVariable]:
    tree = fragment.syntax
    _rewrite_assembly(fragment)
    found = dict(known)
    for marked in tree.marked:
        if marked.has(b"__shared__"):
            found |= {variable.name: variable for variable in shared.rewrite(fragment, marked)}
        elif marked.has(b"__global__"):
            kernels.rewrite(fragment, marked)
        elif marked.has(b"__device__", b"__constant__", b"__managed__"):
            variables.rewrite(fragment, marked)
    if not fragment.is_macro:
        shared.refer(fragment, _find_device_functions(fragment), found)
    for start, end in device:
        indices.rewrite(fragment, start, end)
        if not fragment.is_macro:
            heap.rewrite(fragment, start, end)
        architecture.rewrite_code(fragment, start, end)
    for launch in launches.find(tree.tokens, tree.partners):
        nested = not fragment.is_macro and syntax.within(device, launch.start)
        (launches.refuse if nested else launches.rewrite)(launch, tree.text, fragment.edits)
    copies.rewrite(fragment)
    untyped.rewrite(fragment)
    _mark_unread(fragment)
    return found


def _find_device_functions(fragment: Fragment) -> list[Node]:
    return [m.node for m in fragment.syntax.marked if m.has(b"__global__", b"__device__")]


def _find_device_spans(fragment: Fragment) -> tuple[tuple[int, int], ...]:
    nodes = [node for node in _find_device_functions(fragment) if node.child_by_field_name("body") is not None]
    return syntax.outer_spans((node.start_byte, node.end_byte) for node in nodes)


def _rewrite_assembly(fragment: Fragment) -> None:
    tree = fragment.syntax
    for start, end in syntax.asm(tree.tokens, tree.partners):
        first, last = tree.tokens[start], tree.tokens[end - 1]
        lines = blank_lines(fragment.text(first.start, last.end))
        if end - start == 1:
            replacement = b"EMU_UNREAD_ASSEMBLY"
        # at file scope there is no code to reach
        elif not (fragment.is_macro or tree.in_function(first.start)):
            replacement = b"static_assert(true)"
        elif (understood := assembly.translate(tree.tokens[start:end], tree.text)) is not None:
            replacement = understood
        else:
            what = assembly.mnemonic(tree.tokens[start:end]).encode()
            replacement = b'::emu::unsupported("%s", EMU_HERE)' % what
        fragment.edits.replace(first.start, last.end, replacement + lines)


def _mark_unread(fragment: Fragment) -> None:
    # an error of the compiler is better than code of another meaning
    tokens = list(fragment.syntax.lost)
    if fragment.is_macro and b"{" not in fragment.syntax.text:
        tokens += [token for token in fragment.syntax.tokens if token.text == b"__global__"]
    for token in tokens:
        if token.text in unsupported.UNREAD:
            fragment.edits.replace(token.start, token.end, unsupported.UNREAD[token.text][0])
