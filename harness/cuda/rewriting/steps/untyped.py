"""The cast in `cudaLaunchKernel((void*)kernel, ...)`, dropped because it hides the kernel's parameters."""

from collections.abc import Sequence

from harness.cuda.rewriting.text.fragment import Fragment
from harness.cuda.rewriting.text.lexer import Token

_CALLS = (b"cudaLaunchKernel", b"cudaLaunchCooperativeKernel")
_CASTS = (b"reinterpret_cast", b"static_cast")
_VOID = ([b"void", b"*"], [b"const", b"void", b"*"], [b"void", b"const", b"*"])


def rewrite(fragment: Fragment) -> None:
    """Rewrite every such call."""
    tokens = fragment.syntax.tokens
    for index, token in enumerate(tokens):
        if token.text in _CALLS and index + 1 < len(tokens) and tokens[index + 1].text == b"(":
            cast = _find_cast(tokens[index + 2 : index + 9])
            if cast:
                fragment.edits.replace(cast[0].start, cast[-1].end, b"")


def _find_cast(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the leading tokens that cast to `void*`; of a C++ cast, all but the operand's parentheses."""
    named = bool(tokens) and tokens[0].text in _CASTS
    opening, closing = (b"<", b">") if named else (b"(", b")")
    inside = tokens[1 if named else 0 :]
    for spelled in _VOID:
        length = len(spelled) + 2
        if [token.text for token in inside[:length]] == [opening, *spelled, closing]:
            return tokens[: length + named]
    return ()
