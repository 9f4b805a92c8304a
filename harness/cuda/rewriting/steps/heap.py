"""Device code's `malloc`, `free`, `new`, `delete` and `clock` become the device's."""

from collections.abc import Sequence

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Token

_CALLS = {b"malloc": b"::emu::kernel_malloc", b"free": b"::emu::kernel_free", b"clock": b"::emu::kernel_clock"}
_MEMBERS = (b".", b"->", b"::")


def rewrite(fragment: Fragment, start: int, end: int) -> None:
    """Rewrite device code between two offsets."""
    tokens = list(fragment.syntax.words(start, end))
    for index, (before, token, after) in enumerate(zip([None, *tokens], tokens, tokens[1:], strict=False)):
        if before is not None and before.text in _MEMBERS:
            continue
        if token.text in _CALLS and after.text == b"(":
            fragment.edits.replace(token.start, token.end, _CALLS[token.text])
        elif token.text == b"new" and after.text != b"(" and (before is None or before.text != b"operator"):
            fragment.edits.insert(token.end, b" (::emu::KernelHeap{EMU_HERE})")
        elif token.text == b"delete" and after.text != b";" and (before is None or before.text != b"operator"):
            _delete(fragment, index, tokens)


def _delete(fragment: Fragment, index: int, tokens: Sequence[Token]) -> None:
    array = [token.text for token in tokens[index + 1 : index + 3]] == [b"[", b"]"]
    end = tokens[index + 2].end if array else tokens[index].end
    # an operator that binds as loosely as `delete p`: `->*` takes what a unary operator would
    kind = b"true" if array else b"false"
    fragment.edits.replace(tokens[index].start, end, b"::emu::KernelDelete<%s>{} ->* " % kind)
